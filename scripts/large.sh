#!/usr/bin/env bash
# Runs the large tests, part by part, as test/large.md has them. What was green on this tree is not run again, so a run that
# was ended goes on where it was.
#
#   scripts/large.sh [PART...]       all parts, or those that are named
#   scripts/large.sh --touched BASE  those that are run after a change that a commit since BASE has made
#   scripts/large.sh --slice         one, chosen by the commit, for at most six minutes
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/prepare.sh
scripts/tools.sh prom kube kwok helm crds slack grafana gotestsum
tree=$(git rev-parse 'HEAD^{tree}')
done=${XDG_CACHE_HOME:-$HOME/.cache}/vllm-medic/large/$tree
# A tree with changes has no name, so what it has run is not remembered.
[ -z "$(git status --porcelain)" ] || done=$(mktemp -d)
mkdir -p "$done"
slice=
case "${1:-}" in
--touched)
  mapfile -t changed < <(git diff --name-only "$2...HEAD")
  set -- -touched "${changed[@]}"
  ;;
--slice) slice=yes && shift ;;
esac
parts=$(go run ./test/gate/cmd/parts -page test/large.md "$@")
[ -n "$parts" ] || { echo "no part is touched"; exit 0; }
limit=()
if [ -n "$slice" ]; then
  mapfile -t all <<<"$parts"
  commit=$(git rev-parse HEAD)
  parts=${all[$((16#${commit:0:6} % ${#all[@]}))]}
  limit=(timeout -k 10 360)
fi
red=()
while read -r name package pattern; do
  if [ -e "$done/$name" ]; then
    echo "$name: green before, in $(cat "$done/$name") s"
    continue
  fi
  begin=$SECONDS code=0
  PACKAGES=./$package TESTS=$pattern TEST_EVENTS='' "${limit[@]}" scripts/test.sh large </dev/null || code=$?
  case $code in
  0) echo $((SECONDS - begin)) >"$done/$name" && echo "$name: green in $((SECONDS - begin)) s" ;;
  124) echo "$name: not at its end after six minutes" ;;
  *) red+=("$name") && echo "$name: RED in $((SECONDS - begin)) s" ;;
  esac
done <<<"$parts"
[ ${#red[@]} = 0 ] || { echo "RED: ${red[*]}" >&2; exit 1; }
