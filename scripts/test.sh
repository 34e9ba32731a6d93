#!/usr/bin/env bash
# Everything that must hold: lint, then the tiers, each with its time. What is missing is installed on Debian as root, and named elsewhere.
#
#   scripts/test.sh          all of it
#   scripts/test.sh TIER...  only these: lint unit rules fuzz e2e
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/postgres.sh

need() { # COMMAND-OR-PATH PACKAGE
  if [ "${1#/}" != "$1" ]; then compgen -G "$1" >/dev/null; else command -v "$1" >/dev/null; fi && return
  missing+=("$2")
}
missing=()
need '/usr/lib/postgresql/*/bin/pg_ctl' postgresql
need gcc gcc
need flock util-linux
command -v go >/dev/null || { echo "Go 1.26 is missing: https://go.dev/dl" >&2; exit 1; }
if [ ${#missing[@]} -gt 0 ]; then
  if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
    echo "These are missing, and only root on Debian can have them installed here: ${missing[*]}" >&2
    exit 1
  fi
  echo "installing ${missing[*]}"
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

start=$SECONDS
scripts/tools.sh
eval "$(scripts/tools.sh --env)"
echo "tools ready after $((SECONDS - start)) s in $VLLM_MEDIC_TOOLS"

packages() { go list ./... | grep -v '/test/e2e$'; }

tier_lint() { scripts/lint.sh; }

tier_unit() {
  start_postgres
  VLLM_MEDIC_REQUIRE_POSTGRES=1 go test -race -shuffle=on $(packages)
}

tier_rules() {
  local bin=$VLLM_MEDIC_TOOLS/bin
  "$bin/promtool" check rules deploy/prometheus/rules/*.yaml
  "$bin/promtool" test rules $(find deploy/prometheus/tests -name '*.yaml' | sort)
}

tier_fuzz() { scripts/fuzz.sh 3s; }

tier_e2e() { go test -race -count=1 -timeout 20m ./test/e2e; }

tiers=("$@")
[ ${#tiers[@]} -gt 0 ] || tiers=(lint unit rules fuzz e2e)
trap stop_postgres EXIT
report=()
passed=0
failed=0
for t in "${tiers[@]}"; do
  declare -F "tier_$t" >/dev/null || { echo "there is no tier $t" >&2; exit 2; }
  echo "== $t"
  start=$SECONDS
  # Not in a condition: inside one, set -e would not stop a tier at its first failure.
  set +e
  (set -e; trap stop_postgres EXIT; "tier_$t")
  code=$?
  set -e
  word=ok
  if [ $code = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); word=FAILED; fi
  report+=("$(printf '%-6s %-6s %4d s' "$t" "$word" $((SECONDS - start)))")
done
echo "== times"
printf '%s\n' "${report[@]}"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
