#!/usr/bin/env bash
# Runs the tests, the small ones first, and then what failed once or twice again, alone.
#
#   scripts/test.sh [SIZE...]  the tests of these sizes, in this order: small, medium, large; small and medium by default.
#                              Those of a size are what the size before it has left out; alone, it runs what is smaller, too
#
# The run is green when each test has passed, if only when it ran again; what did is named. A build that breaks, a panic, a
# data race and more than 20 failures are red at once: nobody knows what they hide.
# In the environment: PACKAGES are tested in place of all, and of them TESTS, an expression as go test -run has; FRESH=1 also
# runs small tests of which Go keeps results; SHUFFLE=SEED is the order of those that always run, random without; TEST_EVENTS is
# a folder that keeps what go test told, all of it in all.json, and in times the seconds of each size.
set -euo pipefail
cd "$(dirname "$0")/.."
self=scripts/test.sh

# Small tests have the race detector, but not where they only compute: it has nothing to find there, and makes them take five
# times as long. (Playbooks are used by many goroutines in the packages that run with it.)
single="./deploy/... ./playbooks/... ./test/arch ./test/diagnosis/... ./test/efficacy ./test/fleet/... ./test/grafana"
single+=" ./test/pages"

# tested SIZE [-test.run=TEST PACKAGE]: runs the tests of a size, or one of them in the same way, and prints go test's events.
tested() {
  local size=$1 packages=${PACKAGES:-./...} tests=${TESTS:-} code=0
  shift
  if [ $# -gt 0 ]; then
    tests=${1#-test.run=} packages=$2
  elif [ -s "$TEST_EVENTS/smaller.json" ]; then
    local left
    left=$("$TEST_EVENTS/larger" -size "$size" -events "$TEST_EVENTS/smaller.json")
    read -r tests packages <<<"$left"
    [ -n "$packages" ] || return 0
  fi
  # Lint has vetted it; linked without what only a debugger reads. A program with the race detector sleeps a second before
  # it ends, to let races show; a tenth does for a test. What is compiled does not depend on where the tree is, so that a
  # new clone finds it in Go's cache.
  local go=(go test -json -vet=off -ldflags=-w -timeout 30m -p 3)
  [ -z "$tests" ] || go+=("-run=$tests")
  GOFLAGS="$(go env GOFLAGS) -trimpath"
  export GOFLAGS GORACE=atexit_sleep_ms=100 VLLM_MEDIC_TESTS=$size CGO_ENABLED=0
  # None of these processes lives long enough to need its garbage collected that often.
  export GOGC="${GOGC:-400}"
  # Go keeps the results of packages whose code, files and variables have not changed. It does not see what programs read
  # that a test starts: whoever starts some is always run, and shuffled.
  [ "$size" = small ] && [ -z "${FRESH:-}" ] || go+=("-shuffle=${SHUFFLE:-on}")
  [ $# = 0 ] || go+=(-count=1)
  if [ "$size" != small ]; then
    # shellcheck disable=SC2086 # one argument for each package
    "${go[@]}" $packages
    return
  fi
  local raced=() plain=() pkg
  # shellcheck disable=SC2086 # as above
  while read -r pkg; do raced+=("$pkg"); done < <(go list -e $packages | grep -vxF "$(go list $single)")
  # shellcheck disable=SC2086 # as above
  while read -r pkg; do plain+=("$pkg"); done < <(go list -e $packages | grep -xF "$(go list $single)")
  # SQLite is C that was translated: nothing of ours is in its memory, and under the detector it takes four times as long.
  [ ${#raced[@]} = 0 ] || CGO_ENABLED=1 "${go[@]}" -race -gcflags=modernc.org/...=-race=false "${raced[@]}" || code=$?
  [ ${#plain[@]} = 0 ] || "${go[@]}" "${plain[@]}" || code=$?
  return $code
}

# again [-test.run=TEST PACKAGE]: all that the sizes have told, with the highest of their exit codes; of a test, runs it once
# more with each size in which something of its package failed. A package that failed without a test that did stays red: there
# is no test to run.
again() {
  local size code worst=0
  [ "${1:-}" != '-test.run=^$' ] || return 1
  for size in $SIZES; do
    if [ $# = 0 ]; then
      # A run that was ended leaves no code: what it did not tell would pass for what needs no second run.
      code=$(cat "$TEST_EVENTS/$size.code") || code=2
      cat "$TEST_EVENTS/$size.json" || code=2
    elif grep -qF "\"Action\":\"fail\",\"Package\":\"$2\"" "$TEST_EVENTS/$size.json"; then
      code=0
      tested "$size" "$@" || code=$?
    else
      continue
    fi
    [ "$code" -le "$worst" ] || worst=$code
  done
  return "$worst"
}

VLLM_MEDIC_TOOLS=${VLLM_MEDIC_TOOLS:-$(scripts/tools.sh --print)}
export VLLM_MEDIC_TOOLS
gotestsum() { "$VLLM_MEDIC_TOOLS/bin/gotestsum" "$@"; }

case "${1:-}" in
--tested) shift && tested "$@"; exit ;;
--again) shift && again "$@"; exit ;;
esac

SIZES=${*:-small medium}
for size in $SIZES; do
  case $size in
  small | medium | large) ;;
  *) echo "there is no size $size: they are small, medium and large" >&2 && exit 2 ;;
  esac
done
scripts/tools.sh gotestsum
if [ -z "${TEST_EVENTS:-}" ]; then
  TEST_EVENTS=$(mktemp -d)
  trap 'rm -rf "$TEST_EVENTS"' EXIT
fi
mkdir -p "$TEST_EVENTS"
rm -f "$TEST_EVENTS"/*.json "$TEST_EVENTS"/*.code
export TEST_EVENTS SIZES
begin=$SECONDS
go build -o "$TEST_EVENTS/larger" ./test/gate/cmd/larger

for size in $SIZES; do
  from=$SECONDS code=0
  gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=all --jsonfile "$TEST_EVENTS/$size.json" \
    --raw-command -- "$self" --tested "$size" || code=$?
  echo "$code" >"$TEST_EVENTS/$size.code"
  [ "$size $code" != "small 0" ] || scripts/tools.sh --compiled
  cp "$TEST_EVENTS/$size.json" "$TEST_EVENTS/smaller.json"
  echo "the $size tests took $((SECONDS - from)) s"
  echo "$size $((SECONDS - from))" >>"$TEST_EVENTS/times"
done
rm "$TEST_EVENTS/smaller.json"
echo "all together, and what failed again:"
from=$SECONDS code=0
gotestsum --format none --hide-summary=skipped --rerun-fails=2 --rerun-fails-max-failures=20 --rerun-fails-abort-on-data-race \
  --jsonfile "$TEST_EVENTS/all.json" --raw-command -- "$self" --again || code=$?
echo "again $((SECONDS - from))" >>"$TEST_EVENTS/times"
echo "the tests took $((SECONDS - begin)) s"
exit $code
