package playbooktest

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

func builtin(t testing.TB) []playbooks.File {
	t.Helper()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// builtinTests are the files of tests of the built-in playbooks, read.
func builtinTests(t *testing.T) []*File {
	t.Helper()
	paths, err := filepath.Glob("../../playbooks/catalog/tests/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("the built-in playbooks have no tests: %v", err)
	}
	files := builtin(t)
	out := make([]*File, 0, len(paths))
	for _, path := range paths {
		f, err := Read(path, files)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, f)
	}
	return out
}

func TestBuiltInPlaybooksDoWhatTheirTestsSay(t *testing.T) {
	t.Parallel()
	for _, f := range builtinTests(t) {
		t.Run(filepath.Base(f.Name), func(t *testing.T) {
			t.Parallel()
			for _, r := range f.Run(t.Context(), nil) {
				if r.Error != "" {
					t.Errorf("%s:%d: %s (%s): %s", f.Name, r.Line, r.Test, r.Dialect, r.Error)
				}
				for _, d := range r.Differences {
					t.Errorf("%s:%d: %s (%s)\n%s", f.Name, r.Line, r.Test, r.Dialect, d.Text())
				}
			}
		})
	}
}

// A test where a diagnosis must not be made names it in others, as false or undecided.
func TestEveryBuiltInDiagnosisHasATestWhereItFiresAndOneWhereItMustNot(t *testing.T) {
	t.Parallel()
	fires, silent := map[string]bool{}, map[string]bool{}
	files := builtinTests(t)
	for _, f := range files {
		for _, one := range f.tests {
			fires[one.expect.Diagnosis] = true
			for name, verdict := range maps.All(one.expect.Others) {
				silent[name] = silent[name] || verdict != string(incident.True)
			}
		}
	}
	var missing []string
	for _, name := range diagnoses(files[0].catalog) {
		if !fires[name] {
			missing = append(missing, name+" has no test where it fires (expect.diagnosis)")
		}
		if !silent[name] {
			missing = append(missing, name+" has no test where it must not fire (expect.others)")
		}
	}
	slices.Sort(missing)
	for _, m := range missing {
		t.Error(m)
	}
}
