package rules_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

const root = "../../../"

type rule struct {
	Record, Alert, Expr string
	Labels, Annotations map[string]string
}

// own are the rules on the bot itself.
func own(t *testing.T) []rule {
	t.Helper()
	var doc struct{ Groups []struct{ Rules []rule } }
	if err := yaml.Unmarshal([]byte(read(t, "vllm-medic.yaml")), &doc); err != nil {
		t.Fatal(err)
	}
	var out []rule
	for _, g := range doc.Groups {
		out = append(out, g.Rules...)
	}
	if len(out) < 10 {
		t.Fatalf("only %d rules", len(out))
	}
	return out
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// metrics are the names in an expression, of histograms without their suffix.
func metrics(t *testing.T, expr string) []string {
	t.Helper()
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	var out []string
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			out = append(out, strings.TrimSuffix(s.Name, "_bucket"))
		}
		return nil
	})
	return out
}

// known are the bot's metrics, as docs/operations.md lists them (which is held against the listener), what the rules
// record, and those of others.
func known(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{
		"ALERTS": true, "ALERTS_FOR_STATE": true, "up": true, "alertmanager_notifications_failed_total": true,
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `(vllm_medic_[a-z_]+)[`{]").FindAllStringSubmatch(
		read(t, root+"docs/operations.md"), -1) {
		out[m[1]] = true
	}
	for _, r := range own(t) {
		out[r.Record] = true
	}
	return out
}

func TestRulesOnTheBotUseMetricsThatItHas(t *testing.T) {
	t.Parallel()
	names := known(t)
	for _, r := range own(t) {
		for _, name := range metrics(t, r.Expr) {
			if !names[name] {
				t.Errorf("%s%s: nothing exposes %s", r.Alert, r.Record, name)
			}
		}
	}
}

func TestEveryAlertOnTheBotHasItsRunbookAndATest(t *testing.T) {
	t.Parallel()
	tests, readme := read(t, "../tests/vllm-medic.yaml"), read(t, "../README.md")
	var linked []string
	for _, r := range own(t) {
		if r.Alert == "" {
			continue
		}
		path, ok := strings.CutPrefix(r.Annotations["runbook_url"], config.PublicDocs+"/")
		if !ok {
			t.Fatalf("%s: the runbook is %q", r.Alert, r.Annotations["runbook_url"])
		}
		linked = append(linked, path)
		if page := read(t, root+path); !strings.Contains(page, "`"+r.Alert+"`") {
			t.Errorf("%s doesn't name the alert %s", path, r.Alert)
		}
		if !strings.Contains(readme, "| "+r.Alert+" |") {
			t.Errorf("the README doesn't list %s", r.Alert)
		}
		checks := strings.Split(tests, `ALERTS{alertname="`+r.Alert+`", alertstate="firing"}'`)[1:]
		fires := slices.ContainsFunc(checks, func(c string) bool { return !strings.Contains(first(c, 3), "exp_samples: []") })
		silent := slices.ContainsFunc(checks, func(c string) bool { return strings.Contains(first(c, 3), "exp_samples: []") })
		if !fires || !silent {
			t.Errorf("%s: a test in which it fires: %t, and one in which it must not: %t", r.Alert, fires, silent)
		}
	}
	pages, err := filepath.Glob(root + "docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for n := range pages {
		pages[n] = strings.TrimPrefix(filepath.ToSlash(pages[n]), root)
	}
	slices.Sort(linked)
	if d := cmp.Diff(pages, slices.Compact(linked)); d != "" {
		t.Errorf("(-pages +linked):\n%s", d)
	}
}

// first are the first lines of a text.
func first(text string, lines int) string {
	all := strings.SplitN(text, "\n", lines+1)
	return strings.Join(all[:min(lines, len(all))], "\n")
}

func TestQueriesInRunbooksAskForMetricsThatThereAre(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob(root + "docs/runbooks/*.md")
	if err != nil {
		t.Fatal(err)
	}
	names, asked := known(t), 0
	for _, page := range append(pages, root+"docs/operations.md") {
		for _, m := range regexp.MustCompile("(?s)```promql\n(.*?)```").FindAllStringSubmatch(read(t, page), -1) {
			asked++
			for _, name := range metrics(t, m[1]) {
				if !names[name] {
					t.Errorf("%s: nothing exposes %s", page, name)
				}
			}
		}
	}
	if asked < 10 {
		t.Errorf("only %d queries were found", asked)
	}
}
