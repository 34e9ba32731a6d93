package playbooktest

import (
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/size"
)

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

func TestCatalogPlaybooksDoWhatTheirTestsSay(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
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

// A test where a diagnosis must not be made names it in others, as false or undecided. A test where data is missing
// expects a reading of its rule to have none.
func TestCatalogTestsShowEachDiagnosisAndEachPlaybook(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	files := builtinTests(t)
	var all []test
	for _, f := range files {
		all = append(all, f.tests...)
	}
	for _, p := range ownDiagnoses(t, files[0].catalog) {
		var fires []test
		missing := false
		for _, d := range p.diagnoses {
			mine := slices.DeleteFunc(slices.Clone(all), func(x test) bool { return x.expect.Diagnosis != d.name })
			fires = append(fires, mine...)
			if len(mine) == 0 {
				t.Errorf("%s has no test where it fires (expect.diagnosis)", d.name)
			}
			silent := func(x test) bool {
				v, named := x.expect.Others[d.name]
				return named && v != string(incident.True)
			}
			if !slices.ContainsFunc(all, silent) {
				t.Errorf("%s has no test where it must not fire (expect.others)", d.name)
			}
			missing = missing || slices.ContainsFunc(all, func(x test) bool { return silent(x) && withoutDataFor(x, d.signals) })
		}
		if !missing && len(p.diagnoses) > 0 {
			t.Errorf("playbook %s has no test where a reading of one of its rules has no data and its diagnosis is not made",
				p.name)
		}
		for _, name := range dialectsLeft(fires) {
			if p.name == "kv-cache-full" && strings.HasPrefix(name, "nim ") {
				continue // NIM exports no preemptions, and without them nothing is said about a full cache
			}
			t.Errorf("playbook %s fires in no test in the dialect %s, although the series of one exist there", p.name, name)
		}
	}
}

// playbookUnderTest is a playbook with its own diagnoses, without those of others that it weighs too.
type playbookUnderTest struct {
	name      string
	diagnoses []diagnosisUnderTest
}

type diagnosisUnderTest struct {
	name    string
	signals []string // in its rule
}

func ownDiagnoses(t *testing.T, c *playbooks.Catalog) []playbookUnderTest {
	t.Helper()
	known := c.SignalNames()
	var out []playbookUnderTest
	for _, file := range builtin(t) {
		var doc struct {
			Name      string
			Diagnoses []struct{ Name, When string }
		}
		if err := yaml.Load(file.Data, &doc); err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		p := playbookUnderTest{name: doc.Name}
		for _, d := range doc.Diagnoses {
			words := regexp.MustCompile(`[a-z0-9_]+`).FindAllString(d.When, -1)
			p.diagnoses = append(p.diagnoses, diagnosisUnderTest{d.Name, slices.DeleteFunc(words,
				func(w string) bool { return !slices.Contains(known, w) })})
		}
		out = append(out, p)
	}
	return out
}

// withoutDataFor says whether a test expects one of these signals to have no data, or an error.
func withoutDataFor(x test, signals []string) bool {
	return slices.ContainsFunc(signals, func(name string) bool {
		r, expected := x.expect.Readings[name]
		return expected && (r.text == "no data" || strings.HasPrefix(r.text, "error"))
	})
}

// dialectsLeft are those in which some test could run whole and none does.
func dialectsLeft(tests []test) []string {
	var out []string
	for _, s := range vllm.Spellings() {
		could := slices.ContainsFunc(tests, func(x test) bool { _, without := spelled(x.input, s); return len(without) == 0 })
		does := slices.ContainsFunc(tests, func(x test) bool {
			return slices.ContainsFunc(x.spellings, func(o vllm.Spelling) bool { return o.Name == s.Name })
		})
		if could && !does {
			i := slices.IndexFunc(tests, func(x test) bool { _, without := spelled(x.input, s); return len(without) == 0 })
			out = append(out, s.Name+" (like "+strconv.Quote(tests[i].name)+")")
		}
	}
	return out
}
