#!/usr/bin/env bash
# Builds the stores that test/stores compares with Prometheus, once, into a folder outside the tree, and prints it. They
# are apart from scripts/tools.sh because make test does without them.
#
# The folder is named after a hash of the pins, so a changed one makes a new one. Each file is built aside and renamed: an
# interrupted run leaves nothing half-built. VLLM_MEDIC_CACHE moves the folder.
set -euo pipefail
cd "$(dirname "$0")/../test/stores"

key=$({ go env GOVERSION GOOS GOARCH; cat ./*/go.mod ./*/go.sum; } | sha256sum | cut -c1-12)
out=${VLLM_MEDIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vllm-medic}/stores-$key
mkdir -p "$out/bin"
exec 9>"$out/.lock"
flock 9

# build MODULE NAME PACKAGE [flags of go build]
build() {
  local module=$1 name=$2 package=$3
  shift 3
  [ ! -s "$out/bin/$name" ] || return 0
  echo "building $name; this takes minutes the first time" >&2
  (cd "$module" && CGO_ENABLED=0 GOWORK=off go build -mod=readonly -trimpath -ldflags "-s -w" "$@" \
    -o "$out/bin/.$name.new" "$package" 9>&-) >&2
  mv "$out/bin/.$name.new" "$out/bin/$name"
}

build victoriametrics victoria-metrics github.com/VictoriaMetrics/VictoriaMetrics/app/victoria-metrics
# The tags are those of its own releases: without slicelabels it reads labels where there are none, and crashes.
build thanos thanos github.com/thanos-io/thanos/cmd/thanos -tags netgo,slicelabels
echo "$out"
