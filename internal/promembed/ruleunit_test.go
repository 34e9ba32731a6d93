package promembed_test

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// ruleTests is a file of tests as promtool takes it, as far as those of the shipped rules go.
type ruleTests struct {
	RuleFiles []string       `yaml:"rule_files"`
	Evaluate  model.Duration `yaml:"evaluation_interval"`
	Tests     []ruleTest     `yaml:"tests"`
}

type ruleTest struct {
	Name     string             `yaml:"name"`
	Interval model.Duration     `yaml:"interval"`
	Input    []promembed.Series `yaml:"input_series"`
	Samples  []struct {
		Expr string         `yaml:"expr"`
		At   model.Duration `yaml:"eval_time"`
		Want []struct {
			Labels string  `yaml:"labels"`
			Value  float64 `yaml:"value"`
		} `yaml:"exp_samples"`
	} `yaml:"promql_expr_test"`
	Alerts []struct {
		Name string         `yaml:"alertname"`
		At   model.Duration `yaml:"eval_time"`
		Want []struct {
			Labels      map[string]string `yaml:"exp_labels"`
			Annotations map[string]string `yaml:"exp_annotations"`
		} `yaml:"exp_alerts"`
	} `yaml:"alert_rule_test"`
}

// The tests of the shipped rules pass with promtool, which runs them through Prometheus' own rules. Here they must too.
func TestShippedRulesFireAsInPrometheus(t *testing.T) {
	t.Parallel()
	const folder = "../../deploy/prometheus/tests"
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var tests ruleTests
		if err := yaml.Unmarshal(text, &tests); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		rules, err := os.ReadFile(filepath.Join(folder, tests.RuleFiles[0]))
		if err != nil || len(tests.RuleFiles) != 1 {
			t.Fatalf("%s: its one file of rules: %v", file, err)
		}
		for _, c := range tests.Tests {
			t.Run(filepath.Base(file)+"/"+c.Name, func(t *testing.T) {
				t.Parallel()
				c.run(t, rules, time.Duration(tests.Evaluate))
			})
		}
	}
}

func (c ruleTest) run(t *testing.T, rules []byte, every time.Duration) {
	t.Helper()
	p, err := promembed.New(promembed.Options{EvaluationInterval: every})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.LoadRules("rules.yml", rules); err != nil {
		t.Fatal(err)
	}
	if err := p.Load(time.Unix(0, 0), time.Duration(c.Interval), c.Input); err != nil {
		t.Fatal(err)
	}
	end := model.Duration(0)
	for _, s := range c.Samples {
		end = max(end, s.At)
	}
	for _, a := range c.Alerts {
		end = max(end, a.At)
	}
	if end == 0 {
		t.Fatal("the test asserts nothing")
	}
	for after := time.Duration(0); after <= time.Duration(end); after += every {
		if _, err := p.EvaluateRules(t.Context(), time.Unix(0, 0).Add(after)); err != nil {
			t.Fatal(err)
		}
		for _, a := range c.Alerts {
			if at := time.Duration(a.At); after <= at && at < after+every {
				want := []told{}
				for _, w := range a.Want {
					w.Labels["alertname"] = a.Name
					want = append(want, told{w.Labels, w.Annotations})
				}
				same(t, "alert "+a.Name+" at "+a.At.String(), want, firing(t, p, a.Name))
			}
		}
	}
	for _, s := range c.Samples {
		got := vector(t, p, s.Expr, time.Unix(0, 0).Add(time.Duration(s.At)))
		if len(got) != len(s.Want) {
			t.Errorf("%s at %s: %v, want %v", s.Expr, s.At, got, s.Want)
		}
	}
}

// told is an alert that fires.
type told struct{ Labels, Annotations map[string]string }

func firing(t *testing.T, p *promembed.Prometheus, name string) []told {
	t.Helper()
	out := []told{}
	for _, a := range listed(t, p) {
		if a.Labels["alertname"] == name && a.State == "firing" {
			out = append(out, told{a.Labels, a.Annotations})
		}
	}
	return out
}

func same(t *testing.T, what string, want, got []told) {
	t.Helper()
	for _, list := range [][]told{want, got} {
		slices.SortFunc(list, func(a, b told) int {
			return cmp.Compare(model.LabelSet(labelSet(a.Labels)).String(), model.LabelSet(labelSet(b.Labels)).String())
		})
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func labelSet(in map[string]string) model.LabelSet {
	out := model.LabelSet{}
	for name, v := range in {
		out[model.LabelName(name)] = model.LabelValue(v)
	}
	return out
}
