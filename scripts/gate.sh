#!/usr/bin/env bash
# Runs .ci/run on a clean clone of HEAD: what is not committed is not in it.
#
#   scripts/gate.sh [FOLDER]   FOLDER keeps the clone and what the run printed; by default both go when it was green
set -euo pipefail
cd "$(dirname "$0")/.."
changed=$(git status --porcelain | wc -l)
[ "$changed" = 0 ] || echo "not committed, so not in this run: $changed files" >&2
out=${1:-$(mktemp -d)}
mkdir -p "$out"
rm -rf "$out/main" "$out/shared"
git clone --quiet . "$out/main"
git -C "$out/main" checkout --quiet --detach "$(git rev-parse HEAD)"
# A checkout may have a folder of this name beside it; the clone has it, too.
[ ! -d ../shared ] || cp -r ../shared "$out/shared"
code=0
CI=true bash "$out/main/.ci/run" </dev/null 2>&1 | tee "$out/log" || code=$?
if [ -z "${1:-}" ] && [ $code = 0 ]; then
  chmod -R u+w "$out"
  rm -rf "$out"
else
  echo "the run is kept in $out" >&2
fi
exit $code
