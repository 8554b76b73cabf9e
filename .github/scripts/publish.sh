#!/usr/bin/env bash
# Publishes the tarballs in packed/ with provenance. Usage: publish.sh TAG [npm publish flags, such as --dry-run]
set -euo pipefail
cd "$(dirname "$0")/../.."
tag=$1
shift
for tarball in packed/*.tgz; do
  version=$(tar -xOf "$tarball" package/package.json | node -p 'JSON.parse(require("fs").readFileSync(0, "utf8")).version')
  if [ "v$version" != "$tag" ]; then
    echo "$tarball has version $version, but the tag is $tag" >&2
    exit 1
  fi
done
for tarball in packed/*.tgz; do
  npm publish "./$tarball" --access public --provenance "$@"
done
