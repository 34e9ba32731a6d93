package chart

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/helm"
)

var update = flag.Bool("update", false, "write deploy/kubernetes/vllm-medic.yaml anew")

// plainHead says what the manifests are.
const plainHead = `# vllm-medic without Helm: the chart with its defaults, in the namespace vllm-medic. Made from it:
#
#   go test ./test/chart -run PlainManifests -update
#
# It changes nothing: mode dry-run, no pools, no permission to write. Before applying it, write your configuration into
# the ConfigMap, and create the Secret vllm-medic with the keys that the volume secrets names. Apply with it what
# vllm-medic rbac --config medic.yaml prints, and the same command with --admission. After a change of the ConfigMap,
# restart the pods: kubectl rollout restart deployment/vllm-medic --namespace vllm-medic
apiVersion: v1
kind: Namespace
metadata:
  name: vllm-medic
`

// What Helm alone reads has no place in plain manifests.
var helms = regexp.MustCompile(
	`(?m)^ *(# Source: .*|helm\.sh/chart: .*|app\.kubernetes\.io/managed-by: Helm|# A changed configuration restarts .*` +
		`|checksum/config: .*|annotations:)\n`)

func TestThePlainManifestsAreTheChart(t *testing.T) {
	t.Parallel()
	const path = "../../deploy/kubernetes/vllm-medic.yaml"
	out, errs, err := helm.Run(t, "template", "vllm-medic", folder, "--namespace", "vllm-medic",
		"--set", "persistence.keep=false",
		"--set", "rbac.admission=false") // rbac --admission prints them for the configuration that is written into it
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, errs)
	}
	want := plainHead + regexp.MustCompile(`\n+---`).ReplaceAllString(helms.ReplaceAllString(out, ""), "\n---")
	if *update {
		must(t, os.WriteFile(path, []byte(want), 0o600))
	}
	got, err := os.ReadFile(filepath.Clean(path))
	must(t, err)
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run the test with -update (-want +got):\n%s", diff)
	}
	if strings.Contains(strings.ToLower(strings.TrimPrefix(want, plainHead)), "helm") {
		t.Error("something of Helm's is left")
	}
	c := cluster.Cluster(t)
	all := objects(t, got)
	if len(all) < 8 {
		t.Errorf("there are only %d objects", len(all))
	}
	ns := c.Namespace(t)
	for _, o := range all {
		switch o.GetNamespace() {
		case "vllm-medic":
			o.SetNamespace(ns) // which is there
		case "":
			o.SetName(o.GetName() + "-" + ns) // the page that is followed has made those of the name
		}
	}
	tried(t, c, all[1:]) // without the namespace, which other tests make
}
