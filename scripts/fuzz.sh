#!/usr/bin/env bash
# Runs every fuzz test for its share of SECONDS, one at the least; to build them takes longer the first time.
#
#   scripts/fuzz.sh [SECONDS [FOLDER]]   FOLDER keeps the inputs that reached something new, for the next run
#
# Two run at a time, each on one core: to begin takes longer than the share. Without a folder each run begins with the seeds of the tests alone, so that
# its share is not spent on running again what it knew.
# What fails is written to the package's testdata, and runs with the unit tests from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

packages=$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -r -n1 dirname | sort -u)
[ -n "$packages" ] || { echo "there are no fuzz tests" >&2; exit 1; }
count=$(grep -rh --include='*_test.go' '^func Fuzz' . | wc -l)
share=$((${1:-60} / count))
[ "$share" -ge 1 ] || share=1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
corpus=$(realpath -m "${2:-$tmp/corpus}")

# fuzz PACKAGE NAME: one test, in the package's folder as go test does it.
fuzz() {
  local code=0 log
  log=$(mktemp -p "$tmp")
  (cd "$1" && timeout $((share + 120)) "$(binary "$1")" -test.run '^$' -test.fuzz "^$2\$" -test.fuzztime "${share}s" -test.fuzzminimizetime 1s \
    -test.parallel 1 -test.fuzzcachedir "$corpus/$1") >"$log" 2>&1 </dev/null || code=$?
  # Up to Go 1.26 a run can fail with this text alone when its time is over, with nothing found: https://go.dev/issue/75804
  if [ $code != 0 ] && grep -q '^ *context deadline exceeded$' "$log" && ! grep -qE 'Failing input written|panic:|hung or terminated' "$log"; then
    code=0
  fi
  if [ $code != 0 ]; then
    echo "FAIL  $1 $2"
    cat "$log"
    return 1
  fi
  echo "ok    $1 $2, $(grep -o 'execs: [0-9]*' "$log" | tail -1 | grep . || echo "no more than its seeds")"
}

# built PACKAGE...: builds each one's fuzz tests and prints its name, so that one is built while another runs.
built() {
  local package
  for package in "$@"; do
    go test -c -fuzz=. -o "$(binary "$package")" "$package"
    echo "$package"
  done
}

binary() { echo "$tmp/${1//\//_}.test"; }

# shellcheck disable=SC2086 # one argument for each package
built $packages | {
  failed=0
  running=0
  ended() { wait -n || failed=$((failed + 1)); running=$((running - 1)); }
  while read -r package; do
    for name in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/^func //'); do
      [ $running -lt 2 ] || ended
      fuzz "$package" "$name" &
      running=$((running + 1))
    done
  done
  while [ $running -gt 0 ]; do ended; done
  [ $failed = 0 ]
}
