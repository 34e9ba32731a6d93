#!/usr/bin/env bash
# Formatting, vet, linters, dead code. Needs the tools: scripts/tools.sh.
set -euo pipefail
cd "$(dirname "$0")/.."
eval "$(scripts/tools.sh --env)"
bin=$VLLM_MEDIC_TOOLS/bin

unformatted=$(git ls-files -co --exclude-standard '*.go' | xargs -r "$bin/gofumpt" -l)
if [ -n "$unformatted" ]; then
  echo "not formatted; run make fmt:" >&2
  echo "$unformatted" >&2
  exit 1
fi
go mod verify >/dev/null
go vet ./...
"$bin/golangci-lint" run ./...
dead=$("$bin/deadcode" -test ./...)
if [ -n "$dead" ]; then
  echo "dead code:" >&2
  echo "$dead" >&2
  exit 1
fi
