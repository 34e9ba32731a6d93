#!/usr/bin/env bash
# Runs the tests in stages, and then what failed once or twice again, alone.
#
#   scripts/test.sh [STAGE...]  all stages, or those that are named: loops, minute, units, plain, arithmetic
#
# The run is green when each test has passed, if only when it ran again; what did is named. A build that breaks, a panic, a
# data race and more than 20 failures are red at once: nobody knows what they hide.
# In the environment: VLLM_MEDIC_TESTS is the largest size of the tests that run, as test/size says; FRESH=1 also runs what
# Go keeps results of; SHUFFLE=SEED is the order of the tests, random without; PACKAGES are tested in place of a stage's own;
# TEST_EVENTS is a folder that keeps what go test told, all of it in all.json.
set -euo pipefail
cd "$(dirname "$0")/.."
self=scripts/test.sh

# Whole scenarios with processes of their own. They wait more than they compute, so they run beside each other, as far
# as test/machine lets them, and beside what computes. The end-to-end tests run the whole bot with the race detector,
# which what it talks to does without; the others start it many hundred times, which takes three times as long with it.
loops="./test/e2e"
plain="./test/chart ./test/crash ./test/docs ./test/flood ./test/image ./test/messages ./test/sandbox ./test/scenarios"

# What only computes has nothing for the race detector to find, which makes it take five times as long: the rules, and
# what compares files. (Playbooks are used by many goroutines in the packages that run with it.) Behind them are packages
# of which some tests are too slow for the detector. All of it gives way to whoever waits for a scrape or a rollout.
single="./deploy/... ./playbooks/... ./test/arch ./test/diagnosis/... ./test/efficacy ./test/grafana ./test/pages"
arithmetic="$single ./internal/cluster ./internal/playbooktest ./test/fleet ./test/fleet/trial"

# listed STAGE: its packages.
listed() {
  case $1 in
  loops) echo "$loops" ;;
  minute) echo ./test/sandbox ;;
  plain) echo "$plain" ;;
  arithmetic) echo "$arithmetic" ;;
  # shellcheck disable=SC2086 # one argument for each package
  units) go list ./... | grep -vxF "$(go list $loops $plain $single)" ;;
  *) echo "there is no stage $1: they are loops, minute, units, plain and arithmetic" >&2; return 2 ;;
  esac
}

# tested STAGE [-test.run=TEST PACKAGE]: runs a stage, or one test in the way of the stage, and prints go test's events.
tested() {
  local stage=$1 packages first=()
  shift
  packages=${PACKAGES:-$(listed "$stage")}
  # Lint has vetted it; linked without what only a debugger reads. A program with the race detector sleeps a second before
  # it ends, to let races show; a tenth does for a test. What is compiled does not depend on where the tree is, so that a
  # new clone finds it in Go's cache.
  local go=(go test -json -vet=off -ldflags=-w -timeout 30m)
  GOFLAGS="$(go env GOFLAGS) -trimpath"
  export GOFLAGS GORACE=atexit_sleep_ms=100
  # None of these processes lives long enough to need its garbage collected that often.
  export GOGC="${GOGC:-400}"
  # Go keeps the results of packages whose code, files and variables have not changed. It does not see what programs read
  # that a test starts: who starts ours is always run, and shuffled. FRESH=1, as in .ci/run, does that with everything.
  local always=-shuffle=${SHUFFLE:-on} changed=
  [ -z "${FRESH:-}" ] || changed=$always
  case $stage in
  loops) export VLLM_MEDIC_TEST_RACE=1 CGO_ENABLED=0 && go+=("$always") ;;
  minute) export VLLM_MEDIC_TEST_RACE=1 CGO_ENABLED=0 && go+=("$always") first=(-run '^TestTheFirstMinuteIsPlayedByClicking$') ;;
  # SQLite is C that was translated: nothing of ours is in its memory, and under the detector it takes four times as long.
  units) export CGO_ENABLED=1 && go=(nice -n 10 "${go[@]}" $changed -race -gcflags=modernc.org/...=-race=false -p 5) ;;
  plain) export CGO_ENABLED=0 && go+=("$always" -p 3) ;;
  arithmetic) export CGO_ENABLED=0 && go=(nice -n 19 "${go[@]}" $changed) ;;
  esac
  [ $# = 0 ] || { first=() && packages=; }
  # shellcheck disable=SC2086 # one argument for each package
  "${go[@]}" "${first[@]}" "$@" $packages
}

# told STAGE: runs a stage, shows it as it goes, and keeps its events and its exit code for what comes after all stages.
told() {
  local code=0
  gotestsum --format pkgname-and-test-fails --format-hide-empty-pkg --hide-summary=all --jsonfile "$TEST_EVENTS/$1.json" \
    --raw-command -- "$self" --tested "$1" || code=$?
  [ "$1 $code" != "units 0" ] || scripts/tools.sh --compiled
  echo "$code" >"$TEST_EVENTS/$1.code"
}

# again [-test.run=TEST PACKAGE]: all that the stages have told, with the highest of their exit codes; of a test, runs it once
# more in each stage in which something of its package failed. A package that failed without a test that did stays red: there
# is no test to run.
again() {
  local stage code worst=0
  [ "${1:-}" != '-test.run=^$' ] || return 1
  for stage in $STAGES; do
    if [ $# = 0 ]; then
      # A stage that was ended leaves no code: what it did not tell would pass for what needs no second run.
      code=$(cat "$TEST_EVENTS/$stage.code") || code=2
      cat "$TEST_EVENTS/$stage.json" || code=2
    elif grep -qF "\"Action\":\"fail\",\"Package\":\"$2\"" "$TEST_EVENTS/$stage.json"; then
      code=0
      tested "$stage" -count=1 "$@" || code=$?
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
--told) told "$2"; exit ;;
--again) shift && again "$@"; exit ;;
esac

scripts/tools.sh gotestsum
if [ -z "${TEST_EVENTS:-}" ]; then
  TEST_EVENTS=$(mktemp -d)
  trap 'rm -rf "$TEST_EVENTS"' EXIT
fi
mkdir -p "$TEST_EVENTS"
rm -f "$TEST_EVENTS"/*.json "$TEST_EVENTS"/*.code
for stage in "$@"; do listed "$stage" >"$TEST_EVENTS/packages"; done
STAGES=${*:-loops minute units plain arithmetic}
export TEST_EVENTS STAGES
begin=$SECONDS

# beside STAGE...: those of them that are wanted, two at a time.
beside() {
  local stage wanted=()
  for stage in "$@"; do [[ " $STAGES " != *" $stage "* ]] || wanted+=("$stage"); done
  [ ${#wanted[@]} = 0 ] || printf '%s\n' "${wanted[@]}" | xargs -P 2 -n 1 "$self" --told || true
}

beside loops units minute
beside plain arithmetic
echo "all together, and what failed again:"
code=0
gotestsum --format none --hide-summary=skipped --rerun-fails=2 --rerun-fails-max-failures=20 --rerun-fails-abort-on-data-race \
  --jsonfile "$TEST_EVENTS/all.json" --raw-command -- "$self" --again || code=$?
echo "the tests took $((SECONDS - begin)) s"
exit $code
