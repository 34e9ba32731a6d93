#!/usr/bin/env bash
# Everything that must hold: lint, then the tiers, each with its time. What is missing is installed on Debian as root, and named elsewhere.
#
#   scripts/test.sh           all of it
#   scripts/test.sh TIER...   only these: lint tools unit store rules diagnosis fuzz image scenarios crash e2e
#
# A failed tier does not hide what the next ones find. The exit code is 0 when every tier passed.
set -euo pipefail
cd "$(dirname "$0")/.."

# need PACKAGE PATTERN: Debian's package is missing when no file fits.
need() { compgen -G "$2" >/dev/null || missing+=("$1"); }

prepare() {
  missing=()
  local by_hand=
  # Debian's Go is older, so this one is for a person.
  command -v go >/dev/null && go list -m >/dev/null || by_hand='Go 1.26 or newer (https://go.dev/dl)'
  command -v git >/dev/null || missing+=(git) # go build asks it for the commit
  command -v make >/dev/null || missing+=(make)
  need ca-certificates '/etc/ssl/certs/ca-certificates.crt'
  command -v gcc >/dev/null || missing+=(gcc) # for the race detector
  need libc6-dev '/usr/include/stdlib.h'
  need postgresql '/usr/lib/postgresql/*/bin/initdb'
  [ -n "$by_hand" ] || [ ${#missing[@]} -gt 0 ] || return 0
  local installs=yes
  [ "$(id -u)" = 0 ] && [ -f /etc/debian_version ] || installs=
  # Everything at once: who has to ask somebody for it asks once.
  if [ -n "$by_hand" ]; then
    echo "missing, to be installed by hand: $by_hand" >&2
    [ -z "$installs" ] || [ ${#missing[@]} = 0 ] || echo "missing, installed by this script once that is there: ${missing[*]}" >&2
  fi
  if [ -z "$installs" ] && [ ${#missing[@]} -gt 0 ]; then
    echo "missing, and only root on Debian can have them installed by this script: ${missing[*]}" >&2
  fi
  [ -z "$by_hand" ] && [ -n "$installs" ] || return 1
  echo "installing ${missing[*]}"
  apt update
  if [[ " ${missing[*]} " = *" postgresql "* ]]; then
    # The package would start a server of its own at once; the tests start one that is theirs.
    apt install postgresql-common
    sed -i -E 's/^#? *create_main_cluster *=.*/create_main_cluster = false/' /etc/postgresql-common/createcluster.conf
  fi
  apt install "${missing[@]}"
}

# apt COMMAND PACKAGE...: apt-get, which says what it did only when it failed.
apt() {
  local log
  log=$(mktemp)
  DEBIAN_FRONTEND=noninteractive apt-get -y --no-install-recommends "$@" >"$log" 2>&1 || { cat "$log" >&2; rm "$log"; return 1; }
  rm "$log"
}

# gotest FOLDER [flags of go test]: a tier that is a folder must be there and have tests.
gotest() {
  local folder=$1
  shift
  [ -n "$(find "$folder" -name '*_test.go' 2>/dev/null | head -1)" ] || { echo "$folder has no tests" >&2; return 1; }
  scripts/tools.sh
  go test -vet=off -ldflags=-w -shuffle=on "$@" "./$folder/..."
}

tier_lint() { scripts/lint.sh; }

tier_tools() { scripts/tools.sh; }

# Tests that only work out a lot, on data of their own: the built-in playbooks in every spelling and for every pair of causes, and simulated hours of engines.
# The race detector makes them five to ten times slower and has nothing to find in them; tier diagnosis runs them without it. A name that is not here any more
# just runs in both.
arithmetic='^(TestCatalogPlaybooksDoWhatTheirTestsSay|TestCatalogTestsShowEachDiagnosisAndEachPlaybook|TestADiagnosisWithoutActionNeverHidesOneThatActs'
arithmetic+='|TestForOneAlertADiagnosisWithoutActionHidesNeitherWhatTurnsAKnobNorWhatTheAlertLeadsTo'
arithmetic+='|TestEveryScenarioShowsItsSignsAndFiresItsAlerts|TestAGoodChangeHealsTheMetrics|TestTheWorseSwitchMakesEachChangeHurtAndTheWayBackHeal'
arithmetic+='|TestCacheFullNeverPreemptsHoweverLongItLasts|TestTooSmallAChangeDoesNotHeal|TestWorseTurnedOffLetsChangesHealAgain|TestFewerReplicasMakeItWorse'
arithmetic+='|TestLabelValuesAreThoseOfVLLM|TestTheModelKeepsItsBooksUnderAnyLoad|TestEveryMetricInTheRulesIsExported|TestAFrontendThatCountsAbortsCountsThem)$'

# Everything that is not a tier of its own.
tier_unit() {
  local packages
  packages=$(go list ./...)
  scripts/tools.sh
  # shellcheck disable=SC2086 # one argument for each package
  # Lint has vetted it. Linked without what only a debugger reads, and more packages at a time than cores: some wait for a real API server.
  go test -race -vet=off -ldflags=-w -shuffle=on -p 4 -skip "$arithmetic" -timeout 30m $(grep -vE '/(internal/store|test/(image|e2e|crash|scenarios|demo|diagnosis))(/|$)' <<<"$packages")
}

# SQLite and PostgreSQL pass the same suite.
tier_store() { gotest internal/store -race; }

tier_rules() {
  scripts/tools.sh prom
  local promtool
  promtool=$(scripts/tools.sh --print)/bin/promtool
  cd deploy/prometheus
  "$promtool" check rules --lint-fatal rules/*.yaml
  "$promtool" test rules tests/*/*.yaml
}

# The labelled incidents and the tests of the built-in playbooks through Prometheus' engine and diagnose. Without the race detector: it is arithmetic over some
# hundred million samples.
tier_diagnosis() {
  make -s accuracy # is what TestAccuracyDoesNotFall does, and shows it
  go test -vet=off -ldflags=-w -shuffle=on -timeout 15m -skip '^TestAccuracyDoesNotFall$' ./test/diagnosis/...
  go test -vet=off -ldflags=-w -shuffle=on -timeout 15m -run "$arithmetic" ./playbooks ./internal/playbooktest ./test/fakevllm
}

tier_fuzz() { scripts/fuzz.sh 60; }

tier_image() { gotest test/image; }

tier_scenarios() { gotest test/scenarios -race -parallel 4 -timeout 10m; }

# Without the race detector: the child is the test binary itself, and it starts some nine hundred times. It waits more than it computes.
tier_crash() { gotest test/crash -parallel 14 -timeout 15m; }

tier_e2e() {
  # More of them at once than this, and on two cores Prometheus misses its scrapes: no data is no recovery, and the bot says so.
  gotest test/e2e -race -parallel 6 -timeout 20m
  gotest test/demo -race -timeout 10m
}

all=(lint tools unit store fuzz image scenarios crash e2e)
beside=(rules diagnosis) # in a run of all, while crash and e2e run
tiers=("$@")
[ ${#tiers[@]} -gt 0 ] || tiers=("${all[@]}")
for t in "${tiers[@]}"; do
  declare -F "tier_$t" >/dev/null || { echo "there is no tier $t; there are: ${all[*]} ${beside[*]}" >&2; exit 2; }
done

# strict COMMAND: its exit code in code. In a condition set -e would not stop it at its first failure.
strict() {
  set +e
  (set -e; trap - EXIT; "$@")
  code=$?
  set -e
}

idlers=
report=()
passed=0
failed=0

# run TIER: its output, then how it ended. Its result is in code, its line for the summary in line.
run() {
  echo "== $1"
  local start=$SECONDS word=ok
  strict "tier_$1"
  [ $code = 0 ] || word=FAILED
  echo "== $1: $word after $((SECONDS - start)) s"
  line=$(printf '%-10s %-6s %5d s' "$1" "$word" $((SECONDS - start)))
}

# told CODE LINE: a tier has ended.
told() {
  if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  report+=("$2")
}

# Two tiers only compute and two mostly wait. In a run of all of them the computing is done beside the waiting, by what time of the processors nobody
# else wants: what waits for a scrape or a rollout must not come late because of it.
begin_idlers() {
  idlers_out=$(mktemp -d)
  : >"$idlers_out/ends"
  set -m # a process group of its own, so that all of it can be ended
  {
    chrt --idle --pid 0 $BASHPID || renice -n 19 -p $BASHPID >/dev/null
    local t
    for t in "${beside[@]}"; do
      run $t
      echo "$code $line" >>"$idlers_out/ends"
    done
  } >"$idlers_out/log" 2>&1 </dev/null &
  idlers=$!
  set +m
}

await_idlers() {
  wait "$idlers" || true # what matters is written down
  idlers=
  cat "$idlers_out/log"
  local code line n=0
  while read -r code line; do
    told "$code" "$line"
    n=$((n + 1))
  done <"$idlers_out/ends"
  [ $n = ${#beside[@]} ] || { echo "the tiers beside crash and e2e did not come to their end" >&2; failed=$((failed + 1)); }
  rm -rf "$idlers_out"
}

end_idlers() {
  [ -z "$idlers" ] || { kill -- "-$idlers" || true; rm -rf "$idlers_out"; }
}

trap 'end_idlers' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
begin=$SECONDS
strict prepare
[ $code = 0 ] || { echo "0 passed, ${#tiers[@]} failed"; exit 1; }
# What is built does not depend on where the tree is, so that a new clone finds it in Go's cache.
export GOFLAGS="$(go env GOFLAGS) -trimpath"
# A program with the race detector sleeps a second before it ends, to let races show; a tenth does for a test.
export GORACE="${GORACE:-} atexit_sleep_ms=100"

for t in "${tiers[@]}"; do
  [ "$t" != crash ] || [ $# -gt 0 ] || begin_idlers
  run "$t"
  told $code "$line"
done
[ -z "$idlers" ] || await_idlers
echo "== summary"
printf '%s\n' "${report[@]}"
printf '%-10s %-6s %5d s\n' all "" $((SECONDS - begin))
echo "$passed passed, $failed failed"
[ $failed = 0 ]
