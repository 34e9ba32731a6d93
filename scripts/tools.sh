#!/usr/bin/env bash
# Builds everything that the tests run beside our own code, once, into a folder outside the tree.
#
#   scripts/tools.sh [SET...]  builds what is missing of lint, gotestsum, prom, kube, kwok, helm, crds, slack, grafana (all when
#                              none is named);
#                              says first what that is and how long it takes, and nothing when all is there
#                              with "tests" it also says how long compiling the tests takes, the first time
#   scripts/tools.sh --compiled  notes that this was done
#   scripts/tools.sh --print   prints the folder
#   scripts/tools.sh --env     prints "export VLLM_MEDIC_TOOLS=..." for eval
#   scripts/tools.sh --prune   removes the folders that other versions of the tools left
#
# The folder is named after a hash of everything that goes into it, so a changed pin makes a new one. A program whose own
# module and flags are those of an older folder is linked from there and not built again. Each file is built aside and
# renamed: an interrupted run leaves nothing half-built, and goes on where it was. VLLM_MEDIC_CACHE moves the folder.
set -euo pipefail
cd "$(dirname "$0")/.."

command -v go >/dev/null || { echo "Go is missing: https://go.dev/dl" >&2; exit 1; }

cache=${VLLM_MEDIC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vllm-medic}
recipes=$(sed -n '/^# --- recipes/,/^# --- end/p' scripts/tools.sh)
key=$({ go env GOVERSION GOOS GOARCH; echo "$recipes"; cat tools/*/go.mod tools/*/go.sum tools/helm/kubectl/*.go; } | sha256sum | cut -c1-12)
out=$cache/tools-$key

# todo NAME FILE SECONDS: in a run that only counts, notes what is missing and how long two free cores take to build it.
plan=
planned=()
seconds=0
todo() {
  [ ! -s "$2" ] || return 1
  [ -n "$plan" ] || return 0
  planned+=("$1")
  seconds=$((seconds + $3))
  return 1
}

# kept NAME RECIPE: the program in another folder that was built in the same way; nothing when there is none.
kept() {
  local stamp
  for stamp in "$cache"/tools-*/stamp/"$1"; do
    if [ -s "$stamp" ] && [ "$(cat "$stamp")" = "$2" ] && [ -x "${stamp%/stamp/*}/bin/$1" ]; then
      echo "${stamp%/stamp/*}/bin/$1"
      return
    fi
  done
}

# reuse NAME RECIPE: links the program that another folder has; false when none has it.
links=0
reuse() {
  local from
  [ ! -s "$out/bin/$1" ] || return 0
  from=$(kept "$1" "$2")
  [ -n "$from" ] || return 1
  links=$((links + 1))
  [ -z "$plan" ] || return 0
  ln -f "$from" "$out/bin/$1"
  echo "$2" >"$out/stamp/$1"
}

# --- recipes: what decides over the content of the folder, and so its name

# Without C, as our own program is built: what these have in common with it is compiled once.
export CGO_ENABLED=0

# version MODULE PATH: the version that tools/MODULE/go.mod pins.
version() { awk -v path="$2" '$1 == path && $2 ~ /^v/ { print $2; exit }' "tools/$1/go.mod"; }

# build MODULE NAME PACKAGE [flags of go build]: one program of tools/MODULE.
build() {
  local module=$1 name=$2 package=$3 start=$SECONDS recipe
  shift 3
  recipe=$({ go env GOVERSION GOOS GOARCH; echo "$package" "$@"; cat tools/"$module"/go.mod tools/"$module"/go.sum; } | sha256sum)
  ! reuse "$name" "$recipe" || return 0
  todo "$name" "$out/bin/$name" "${takes[$name]:-60}" || return 0
  if ! (cd "tools/$module" && GOWORK=off go build -mod=readonly -trimpath "$@" -o "$out/bin/.$name.new" "$package") 2>"$out/log/$name" 9>&-; then
    { echo "cannot build $name:"; tail -30 "$out/log/$name"; } >&2
    return 1
  fi
  echo "$recipe" >"$out/stamp/$name"
  mv "$out/bin/.$name.new" "$out/bin/$name"
  echo "built $name in $((SECONDS - start)) s"
}

# copy MODULE PATH NAME FILE...: the files of a module, one after the other, as one file.
copy() {
  local module=$1 path=$2 name=$3 v dir f
  shift 3
  todo "$name" "$out/$name" 5 || return 0
  v=$(version "$module" "$path")
  dir=$(cd "tools/$module" && GOWORK=off go mod download -json "$path@$v" | sed -n 's/^\t"Dir": "\(.*\)",*$/\1/p')
  for f in "$@"; do
    [ $# = 1 ] || echo "---"
    cat "$dir/$f"
  done >"$out/$name.new"
  mv "$out/$name.new" "$out/$name"
  echo "copied $name of $path $v"
}

strip="-s -w"

set_lint() {
  build lint golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint -ldflags "$strip"
  build lint gofumpt mvdan.cc/gofumpt -ldflags "$strip"
  build lint goimports golang.org/x/tools/cmd/goimports -ldflags "$strip"
  build lint deadcode golang.org/x/tools/cmd/deadcode -ldflags "$strip"
}

set_gotestsum() {
  build gotestsum gotestsum gotest.tools/gotestsum -ldflags "$strip"
}

# The versions are linked in because the programs say them: Alertmanager in its User-Agent, Prometheus in its build information.
set_prom() {
  local v="$strip -X github.com/prometheus/common/version.Version" prom am
  prom=$(version prom github.com/prometheus/prometheus) # v0.315.0 is release 3.15.0
  am=$(version alertmanager github.com/prometheus/alertmanager)
  prom=$(sed -E 's/^v0\.([0-9])([0-9]+)\./\1.\2./' <<<"$prom")
  # Without service discovery of clouds, which no test uses: half the size, and five minutes less.
  build prom promtool github.com/prometheus/prometheus/cmd/promtool -tags remove_all_sd -ldflags "$v=$prom"
  build prom prometheus github.com/prometheus/prometheus/cmd/prometheus -tags remove_all_sd -ldflags "$v=$prom"
  build alertmanager alertmanager github.com/prometheus/alertmanager/cmd/alertmanager -ldflags "$v=${am#v}"
  build alertmanager amtool github.com/prometheus/alertmanager/cmd/amtool -ldflags "$v=${am#v}"
}

set_kube() {
  local v=k8s.io/component-base/version release minor
  release=$(version kube k8s.io/kubernetes)
  minor=${release#v1.}
  local flags="$strip -X $v.gitVersion=$release -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*}"
  build kube etcd go.etcd.io/etcd/server/v3 -ldflags "$strip"
  build kube kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver -ldflags "$flags"
  build kube kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager -ldflags "$flags"
}

# The "fast" stages: pods become ready at once, and end when they are deleted.
set_kwok() {
  build kwok kwok sigs.k8s.io/kwok/cmd/kwok -ldflags "$strip"
  local s=kustomize/stage
  copy kwok sigs.k8s.io/kwok kwok/stages.yaml \
    $s/pod/fast/pod-{complete,delete,ready}.yaml $s/node/fast/node-initialize.yaml $s/node/heartbeat/node-heartbeat.yaml
}

set_helm() {
  build helm helm helm.sh/helm/v4/cmd/helm -ldflags "$strip"
  build helm kubectl ./kubectl -ldflags "$strip"
}

set_crds() {
  copy crds github.com/kedacore/keda/v2 crds/scaledobjects.yaml config/crd/bases/keda.sh_scaledobjects.yaml
  copy crds github.com/envoyproxy/gateway crds/backendtrafficpolicies.yaml \
    charts/gateway-helm/charts/crds/crds/generated/gateway.envoyproxy.io_backendtrafficpolicies.yaml
  local kind
  for kind in prometheuses podmonitors servicemonitors prometheusrules alertmanagerconfigs alertmanagers; do
    copy crds github.com/prometheus-operator/prometheus-operator "crds/$kind.yaml" \
      "example/prometheus-operator-crd/monitoring.coreos.com_$kind.yaml"
  done
}

# --- end of the recipes

# modules NAME WHAT: what test/NAME pins for Node. Its folder is named after the lock file, so that a new one leaves the
# other tools alone.
modules() {
  local from=test/$1 name
  name=$1-$(sha256sum <"$from/package-lock.json" | cut -c1-12)
  todo "$2" "$out/$name/node_modules/.package-lock.json" 20 || return 0
  rm -rf "$out/$name.new"
  local old
  for old in "$cache"/tools-*/"$name"; do
    [ -s "$old/node_modules/.package-lock.json" ] || continue
    cp -al "$old" "$out/$name.new"
    mv "$out/$name.new" "$out/$name"
    return
  done
  mkdir "$out/$name.new"
  cp "$from/package.json" "$from/package-lock.json" "$from/.npmrc" "$out/$name.new"
  if ! (cd "$out/$name.new" && npm ci --ignore-scripts --no-audit --no-fund) >"$out/log/$1" 2>&1 9>&-; then
    { echo "cannot install $2:"; tail -30 "$out/log/$1"; } >&2
    return 1
  fi
  rm -rf "${out:?}/$name"
  mv "$out/$name.new" "$out/$name"
  echo "installed $2"
}

set_slack() { modules slacksdk "Slack's SDKs"; }
set_grafana() { modules grafana "Grafana's types of dashboards"; }

# What go test compiles is no tool, and make test brings it about; but who waits for both wants to know it at once. The
# file is where go clean -cache removes it with the rest.
compiled=$(go env GOCACHE)/00/vllm-medic-tests
set_tests() { [ -z "$plan" ] || todo "the tests with all that they import" "$compiled" 480 || true; }

case "${1:-}" in
--print) echo "$out"; exit 0 ;;
--compiled) mkdir -p "${compiled%/*}"; go env GOVERSION >"$compiled"; exit 0 ;;
--env) printf 'export VLLM_MEDIC_TOOLS=%q\n' "$out"; exit 0 ;;
--prune) find "$cache" -mindepth 1 -maxdepth 1 -name 'tools-*' ! -name "tools-$key" -exec rm -rf {} +; exit 0 ;;
esac
[ $# -gt 0 ] || set -- lint gotestsum prom kube kwok helm crds slack grafana
for s in "$@"; do
  declare -F "set_$s" >/dev/null || { echo "usage: scripts/tools.sh [--print|--env|--prune|--compiled|lint|gotestsum|prom|kube|kwok|helm|crds|slack|grafana|tests...]" >&2; exit 2; }
done

# About how many seconds each takes after those before it, on two cores that have nothing else to do.
declare -A takes=(
  [golangci-lint]=150 [gofumpt]=5 [goimports]=5 [deadcode]=5 [gotestsum]=10 [promtool]=150 [prometheus]=60 [alertmanager]=60 [amtool]=10
  [etcd]=40 [kube-apiserver]=180 [kube-controller-manager]=90 [kwok]=90 [helm]=60 [kubectl]=20
)
plan=yes
for s in "$@"; do "set_$s"; done
[ $((${#planned[@]} + links)) -gt 0 ] || exit 0
plan=
if [ ${#planned[@]} -gt 0 ]; then
  printf -v list '%s, ' "${planned[@]}"
  echo "to be built once, in about $(((seconds + 59) / 60)) min on two free cores: ${list%, }"
fi

mkdir -p "$out"/{bin,crds,kwok,log,stamp}
exec 9>"$out/.lock"
flock -n 9 || { echo "waiting for another run that builds them"; flock 9; }
for s in "$@"; do "set_$s"; done
