#!/usr/bin/env bash
# Builds everything that the tests run beside our own code, once, into a folder outside the tree.
#
#   scripts/tools.sh          builds what is missing; quiet when nothing is
#   scripts/tools.sh --print  prints the folder
#   scripts/tools.sh --env    prints "export VLLM_MEDIC_TOOLS=..." for eval
#
# The folder is named after a hash of everything that goes into it, so a changed pin makes a new one. Each file is built aside and renamed, so an
# interrupted run leaves nothing half-built. VLLM_MEDIC_CACHE moves the folder.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

cache=${VLLM_MEDIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vllm-medic}
key=$(cat scripts/tools.sh tools/*/go.mod tools/*/go.sum | sha256sum | cut -c1-12)
out=$cache/tools-$key
case "${1:-}" in
--print) echo "$out"; exit 0 ;;
--env) echo "export VLLM_MEDIC_TOOLS=$out"; exit 0 ;;
"") ;;
*) echo "usage: scripts/tools.sh [--print|--env]" >&2; exit 2 ;;
esac

mkdir -p "$out/bin" "$out/crds" "$out/kwok"
exec 9>"$out/.lock"
flock 9

# build MODULE NAME PACKAGE [flags...]: one program of one tools module.
build() {
  local module=$1 name=$2 package=$3
  shift 3
  [ -x "$out/bin/$name" ] && return
  local start=$SECONDS
  (cd "tools/$module" && GOWORK=off go build -trimpath -ldflags "-s -w ${LDFLAGS:-}" "$@" -o "$out/bin/.$name.new" "$package")
  mv "$out/bin/.$name.new" "$out/bin/$name"
  echo "built $name in $((SECONDS - start)) s"
}

# module PATH@VERSION: the folder of a module that only gives files.
module() {
  (cd "$out" && GOWORK=off GOFLAGS=-mod=mod go mod download -json "$1") | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p'
}

# file SOURCE TARGET: one copied file.
file() {
  [ -s "$out/$2" ] && return
  cp "$1" "$out/$2.new"
  chmod u+w "$out/$2.new"
  mv "$out/$2.new" "$out/$2"
}

build lint golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint
build lint gofumpt mvdan.cc/gofumpt
build lint goimports golang.org/x/tools/cmd/goimports
build lint deadcode golang.org/x/tools/cmd/deadcode

build prom promtool github.com/prometheus/prometheus/cmd/promtool -tags remove_all_sd
build prom prometheus github.com/prometheus/prometheus/cmd/prometheus -tags remove_all_sd
build alertmanager alertmanager github.com/prometheus/alertmanager/cmd/alertmanager
build alertmanager amtool github.com/prometheus/alertmanager/cmd/amtool

k8s=$(sed -n 's#^\s*k8s.io/kubernetes \(v[0-9.]*\).*#\1#p' "$root/tools/kube/go.mod" | head -1)
minor=${k8s#v1.}
v=k8s.io/component-base/version
LDFLAGS="-X $v.gitVersion=$k8s -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*}"
build kube etcd go.etcd.io/etcd/server/v3
build kube kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
LDFLAGS=
build kwok kwok sigs.k8s.io/kwok/cmd/kwok

if [ ! -s "$out/crds/scaledobjects.yaml" ] || [ ! -s "$out/crds/backendtrafficpolicies.yaml" ]; then
  keda=$(module github.com/kedacore/keda/v2@v2.21.0)
  file "$keda/config/crd/bases/keda.sh_scaledobjects.yaml" crds/scaledobjects.yaml
  gateway=$(module github.com/envoyproxy/gateway@v1.9.1)
  file "$(find "$gateway" -name 'gateway.envoyproxy.io_backendtrafficpolicies.yaml' | head -1)" crds/backendtrafficpolicies.yaml
fi
if [ ! -s "$out/kwok/stages.yaml" ]; then
  stages=$(cd tools/kwok && GOWORK=off go list -m -f '{{.Dir}}' sigs.k8s.io/kwok)
  # The "fast" stages of kwok: pods become ready at once, and end when they are deleted.
  for f in "$stages"/kustomize/stage/pod/fast/*.yaml "$stages"/kustomize/stage/node/fast/*.yaml "$stages"/kustomize/stage/node/heartbeat/*.yaml; do
    case $f in */kustomization.yaml) continue ;; esac
    echo "---"
    cat "$f"
  done >"$out/kwok/stages.yaml.new"
  mv "$out/kwok/stages.yaml.new" "$out/kwok/stages.yaml"
fi
