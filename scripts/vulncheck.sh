#!/usr/bin/env bash
# Whether the program reaches code with a published vulnerability.
#
#   scripts/vulncheck.sh [FILE]  says it, and keeps it in the file
#
# The database is vuln.go.dev. VULNDB is another one, as govulncheck's -db takes it: where there is no way out, a clone
# of https://github.com/golang/vulndb made elsewhere will do (VULNDB=file:///path/to/vulndb/data/osv).
set -euo pipefail
cd "$(dirname "$0")/.."
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
(cd tools/release/pack && GOFLAGS= CGO_ENABLED=0 go build -o "$tmp/govulncheck" golang.org/x/vuln/cmd/govulncheck)
code=0
for arch in amd64 arm64; do
  echo "linux/$arch:"
  GOFLAGS= GOOS=linux GOARCH=$arch CGO_ENABLED=0 "$tmp/govulncheck" ${VULNDB:+-db "$VULNDB"} -show version ./cmd/vllm-medic || code=$?
done >"$tmp/said" 2>&1
cat "$tmp/said"
[ -z "${1:-}" ] || cp "$tmp/said" "$1"
case $code in
0) exit 0 ;;
3) echo "the program reaches code with a published vulnerability: upgrade the module, or don't release" >&2 ;;
*) echo "nothing was scanned; where vuln.go.dev is out of reach, name a copy with VULNDB (see scripts/vulncheck.sh)" >&2 ;;
esac
exit 1
