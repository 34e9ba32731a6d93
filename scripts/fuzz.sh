#!/usr/bin/env bash
# Runs every fuzz test for a moment: scripts/fuzz.sh 3s. What was found before is in testdata and runs with the unit tests.
set -euo pipefail
cd "$(dirname "$0")/.."
for package in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
  for name in $(grep -ho '^func Fuzz[A-Za-z0-9_]*' "$package"/*_test.go | sed 's/func //' | sort -u); do
    echo "$package $name"
    go test -run '^$' -fuzz "^$name\$" -fuzztime "${1:-3s}" -fuzzminimizetime 1s "$package" >/tmp/fuzz.$$ 2>&1 || { cat /tmp/fuzz.$$; rm -f /tmp/fuzz.$$; exit 1; }
  done
done
rm -f /tmp/fuzz.$$
