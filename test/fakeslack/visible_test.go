package fakeslack

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEveryKindIsRead(t *testing.T) {
	t.Parallel()
	s, _ := start(t, Options{})
	m, _ := s.Message(room, postBlocks(t, s, everyKind))
	for _, want := range []string{
		"title a &amp; b", "see the runbook of @U0BOB", "field *one*", "field two", "ask", "small", "print", "press",
		"inside", "snooze", "chart title", "ttft", "ratio", "head", "7.5", "eight",
		"11 checks passed", "at *03:11*", "quota left", "folded", "always open",
		"*as* it <@U0BOB> is &amp; @U0CAROL22:13 UTC", "• :fire: _one_", "• pod=*two*", "a: |\n  *b*",
	} {
		if !strings.Contains(m.VisibleText(), want) {
			t.Errorf("visible text lacks %q: %s", want, m.VisibleText())
		}
	}
	chart := []Chart{{
		Title: "chart title", Type: "line", Labels: []string{"t1", "t2"}, XLabel: "time", YLabel: "ratio",
		Series: []ChartSeries{{Name: "ttft", Values: []float64{1, 2.5}}, {Name: "limit", Values: []float64{2, 2}}},
	}}
	if diff := cmp.Diff(chart, m.Charts()); diff != "" {
		t.Errorf("charts in the order of their categories: %s", diff)
	}
	if _, ok := m.Button("approve"); ok || len(m.Buttons()) != 3 {
		t.Errorf("buttons = %+v, want three", m.Buttons())
	}
}
