package present

import (
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestARunbookIsAmongTheDocumentsOrTheBotsOwnPages(t *testing.T) {
	t.Parallel()
	builtIn := incident.Cause{Playbook: "ttft", Doc: "docs/playbooks/high-ttft.md"}
	own := incident.Cause{Playbook: "our own", Doc: "docs/ours.md"}
	for _, c := range []struct {
		docs, pages string
		d           incident.Cause
		want        string
	}{
		{"https://d/", "", builtIn, "https://d/docs/playbooks/high-ttft.md"},
		{"https://d", "https://m", own, "https://d/docs/ours.md"},
		{"", "https://m/", builtIn, "https://m/playbooks/high-ttft"},
		{"", "https://m", own, "https://m/playbooks/our%20own"},
		{"", "", builtIn, ""},
		{"https://d", "", incident.Cause{Playbook: "x"}, ""},
		{"", "https://m", incident.Cause{}, ""},
	} {
		if got := RunbookURL(c.docs, c.pages, c.d); got != c.want {
			t.Errorf("%q, %q, %v: %q, want %q", c.docs, c.pages, c.d, got, c.want)
		}
	}
	if got := QueryURL("https://p/", "up > 0"); got != "https://p/graph?g0.expr=up+%3E+0&g0.range_input=1h&g0.tab=0" {
		t.Errorf("the query is at %s", got)
	}
	open := incident.Incident{State: incident.StateWatching, OpenedAt: firstAlert}
	over := incident.Incident{State: incident.StateClosed, OpenedAt: firstAlert, ClosedAt: firstAlert.Add(time.Hour)}
	if got := QueryURLOf(open, "https://p", "up"); got != QueryURL("https://p", "up") {
		t.Errorf("the query of an open incident is at %s", got)
	}
	if got := QueryURLOf(over, "https://p", "up"); got !=
		"https://p/graph?g0.end_input=2026-11-18+11%3A45%3A00&g0.expr=up&g0.range_input=91m&g0.tab=0" {
		t.Errorf("the query of a closed incident is at %s", got)
	}
	if QueryURL("", "up") != "" || QueryURL("https://p", "") != "" {
		t.Error("there is a link to nothing")
	}
}
