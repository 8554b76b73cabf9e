#!/usr/bin/env bash
# Builds, tests and checks types on this machine's own Node. Runs on Linux, macOS and Windows.
set -euo pipefail
cd "$(dirname "$0")/../.."
export TURBO_TELEMETRY_DISABLED=1 DO_NOT_TRACK=1

npx -y pnpm@12 install --frozen-lockfile
# On Linux the root package brings a Node of its own, which must not hide this machine's Node.
rm -f node_modules/.bin/node
node --version
npx -y pnpm@12 build
npx -y pnpm@12 test
npx -y pnpm@12 check
