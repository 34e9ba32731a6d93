package actions_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Each knob has a page, with the same headings, and its rights there are those that it needs.
func TestEachKnobHasItsPage(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	want := []string{"What it changes", "Cost and speed", "When it is blocked", "How it is undone", "Permissions"}
	for _, kind := range incident.StepKinds() {
		if kind == incident.StepManual {
			continue
		}
		name := strings.ReplaceAll(string(kind), "_", "-") + ".md"
		page, err := os.ReadFile(filepath.Join("..", "docs", "actions", name))
		if err != nil {
			t.Error(err)
			continue
		}
		var headings []string
		for line := range strings.Lines(string(page)) {
			if h, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok {
				headings = append(headings, h)
			}
		}
		if d := cmp.Diff(want, headings); d != "" {
			t.Errorf("%s: headings (-want +got):\n%s", name, d)
		}
		pool := b.pool
		pool.Knobs = pool.Knobs.Only(kind)
		rules, err := b.bot.Rules(t.Context(), []incident.Pool{pool}, incident.ModeApprove)
		if err != nil || len(rules) != 1 {
			t.Fatalf("%+v, %v", rules, err)
		}
		_, table, _ := strings.Cut(string(page), "## Permissions")
		for _, r := range rules[0].Rules {
			if !told(table, r.Resources[0], strings.Join(r.Verbs, ", ")) {
				t.Errorf("%s lacks %s: %s", name, r.Resources[0], strings.Join(r.Verbs, ", "))
			}
		}
	}
}

// told says whether a row of a table names the resource with exactly these verbs.
func told(table, resource, verbs string) bool {
	for line := range strings.Lines(table) {
		if strings.Contains(line, "`"+resource+"`") && strings.HasSuffix(strings.TrimSpace(line), "| "+verbs+" |") {
			return true
		}
	}
	return false
}
