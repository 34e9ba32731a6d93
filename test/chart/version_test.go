package chart

import (
	"os"
	"path/filepath"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// The chart installs the release of its own version, with Helm and without. That make release gives the program and the
// image this version, and no other, is tested in tools/release/pack.
func TestTheChartInstallsTheReleaseOfItsVersion(t *testing.T) {
	t.Parallel()
	read := func(path string) []byte {
		b, err := os.ReadFile(filepath.Clean(path))
		must(t, err)
		return b
	}
	var chart struct {
		Version    string `json:"version"`
		AppVersion string `json:"appVersion"`
	}
	must(t, yaml.Unmarshal(read(folder+"/Chart.yaml"), &chart))
	if chart.AppVersion != "v"+chart.Version || chart.Version == "" {
		t.Errorf("the chart has the version %q, and the program %q", chart.Version, chart.AppVersion)
	}
	want := "ghcr.io/vllm-medic/vllm-medic:" + chart.AppVersion
	for name, all := range map[string][]unstructured.Unstructured{
		"the plain manifests": objects(t, read("../../deploy/kubernetes/vllm-medic.yaml")),
		"the chart":           rendered(t, "vllm-medic", "{}"),
	} {
		if got := podOf(t, all).Spec.Template.Spec.Containers[0].Image; got != want {
			t.Errorf("%s: the image is %s, want %s", name, got, want)
		}
	}
}
