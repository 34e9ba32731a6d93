package docs

import (
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// What the comparison says that the actions can't touch is counted in the catalog: diagnoses with no step but manual
// ones, and those without any.
func TestTheComparisonCountsWhatNoActionTouches(t *testing.T) {
	t.Parallel()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	all, untouched := 0, 0
	for _, f := range files {
		var playbook struct {
			Diagnoses []struct {
				Steps []map[string]any `yaml:"steps"`
			} `yaml:"diagnoses"`
		}
		if err := yaml.Unmarshal(f.Data, &playbook); err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for _, d := range playbook.Diagnoses {
			all++
			acts := false
			for _, step := range d.Steps {
				_, manual := step["manual"]
				acts = acts || !manual
			}
			if !acts {
				untouched++
			}
		}
	}
	if untouched == 0 || untouched == all {
		t.Fatalf("no action touches %d of %d diagnoses: the catalog was not read", untouched, all)
	}
	want := fmt.Sprintf("%d of its %d diagnoses have only manual steps, or need no change", untouched, all)
	if text := strings.Join(strings.Fields(read(t, "docs/comparison.md")), " "); !strings.Contains(text, want) {
		t.Errorf("docs/comparison.md does not say %q, which is what the catalog has", want)
	}
}
