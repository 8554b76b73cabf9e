#!/usr/bin/env bash
# Builds the published packages, packs them into packed/, and checks the tarballs with publint and arethetypeswrong.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TURBO_TELEMETRY_DISABLED=1 DO_NOT_TRACK=1
packages=(apps/cli apps/pi-mirror)

npx -y pnpm@12 install --frozen-lockfile
npx -y pnpm@12 turbo run build "${packages[@]/#/--filter=./}"
rm -rf packed
mkdir packed
for package in "${packages[@]}"; do
  npx -y pnpm@12 --dir "$package" pack --pack-destination "$PWD/packed"
done
for tarball in packed/*.tgz; do
  npx -y publint@0.3 --strict "$tarball"
  npx -y @arethetypeswrong/cli@0.18 "$tarball" --profile esm-only
done
