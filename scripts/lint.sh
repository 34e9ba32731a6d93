#!/usr/bin/env bash
# Formatting, vet, linters, dead code, pins. Every check runs, so that one run shows all there is to mend.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/tools.sh lint
bin=$(scripts/tools.sh --print)/bin
module=$(go list -m)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
names=()
# As the tests without the race detector are built, and the tools: what one has compiled the others find.
export CGO_ENABLED=0 GOFLAGS="$(go env GOFLAGS) -trimpath"
# The linters and deadcode hold the whole program in memory; to collect half as often costs them little of it.
export GOGC=200

# check NAME COMMAND...: begins the check. Some wait for the disk and some for one core, so they run beside each other.
check() {
  local name=$1
  shift
  names+=("$name")
  {
    start=$SECONDS
    "$@" || touch "$tmp/$name.failed"
    echo "lint: $name took $((SECONDS - start)) s"
  } >"$tmp/$name" 2>&1 </dev/null &
}

# told shows what each check said, in their order, and fails when one of them did.
told() {
  local name failed=()
  wait
  for name in "${names[@]}"; do
    cat "$tmp/$name"
    [ ! -e "$tmp/$name.failed" ] || failed+=("$name")
  done
  nothing "lint failed:" "${failed[*]}"
}

# nothing TITLE TEXT: fails with the title and the text when there is a text.
nothing() {
  [ -z "$2" ] || { printf '%s\n%s\n' "$1" "$2" >&2; return 1; }
}

formatted() {
  nothing "not formatted (make fmt):" "$({ "$bin/gofumpt" -l .; "$bin/goimports" -local "$module" -l .; } 2>&1 | sort -u)"
}

# A test that fails now and then costs everybody's work: it is mended or taken out of the gate within 14 days.
mended() {
  local day
  day=$(date -d '-14 days' +%F 2>/dev/null || date -v-14d +%F)
  nothing "open in test/flaky.md for more than 14 days:" \
    "$(awk -F ' *[|] *' -v day="$day" '$3 ~ /^20/ && $3 < day && $6 == "open" { print $2 }' test/flaky.md)"
}

linted() { "$bin/golangci-lint" config verify && "$bin/golangci-lint" run ./...; }

# What makes a release is in modules of its own. The others below the tree hold no code but the main function of kubectl,
# all of which would have to be compiled for it.
nested() {
  local module config=$PWD/.golangci.yml failed=()
  for module in tools/release/*/; do
    (cd "$module" && "$bin/golangci-lint" run --config "$config" ./...) || failed+=("$module")
  done
  nothing "lint failed in these modules:" "${failed[*]}"
}

# In a synctest bubble Sleep is how time passes; elsewhere it is a wait by the clock.
unslept() {
  nothing "tests that wait by the clock instead of for a condition:" \
    "$(grep -rl --include='*_test.go' 'time\.Sleep(' . | xargs -r grep -L '"testing/synctest"')"
}

# Two looks. With the tests: nobody at all calls it. Without them: only tests call it, which is right for
# - what is there for tests: test/ and the packages whose name ends in test;
# - what keeps a secret out of every format, and is called through fmt, slog and encoding/json if at all;
# - the lists of the domain's words, which tests and pages are held against;
# - one pass of the dispatcher, which tests step through by hand.
dead() {
  local all production
  "$bin/deadcode" ./... >"$tmp/production" &
  all=$("$bin/deadcode" -test ./...) || return 1
  wait $! || return 1
  production=$(cat "$tmp/production")
  all=$(grep -vE "$secrets" <<<"$all" || true)
  production=$(grep -vE "^test/|/[a-z]+test/|$secrets|^internal/incident/.*: (States|StepStates|EventKinds|Transitions|NamedSignals)$|^notify/.*: Dispatcher.Deliver$" <<<"$production" || true)
  nothing "nobody calls these:" "$all" && nothing "only tests call these:" "$production"
}
secrets='unreachable func: [A-Za-z]+\.(String|GoString|LogValue|MarshalText|MarshalJSON)$'

# go.sum holds what is downloaded to its pins; to hash all of it again each time (go mod verify) would show a disk at fault and no more.
pinned() {
  go mod tidy -diff || { echo "go.mod or go.sum is not tidy: go mod tidy" >&2; return 1; }
}

scripts() { local f; for f in scripts/*.sh .ci/run; do bash -n "$f" || return 1; done; }

check format formatted
check scripts scripts
check sleep unslept
check pins pinned
check flaky mended
check linters linted
linters=$!
check modules nested
# Each of the two needs ten gigabytes.
wait "$linters"
check deadcode dead
told
