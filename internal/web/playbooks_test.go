package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/web"
)

// shelf is a site with a runbook of the bot's own, and a playbook of somebody else without one.
func shelf(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	s.playbooks = []web.Playbook{
		{
			Name: "ttft", Title: "High TTFT", Runbook: "high-ttft", Doc: "docs/playbooks/high-ttft.md",
			Alerts: []string{"HighTTFT"}, Diagnoses: []string{"queueing"},
		},
		{Name: "our own", Title: "Our <own>", Alerts: []string{evil}, Diagnoses: []string{evil}},
	}
	s.runbooks = map[string]string{
		"high-ttft": "# High TTFT\n\n## What it means\n\nSee [queue](queue.md#why), [tests](../testing.md), " +
			"[here](#what-it-means), [out](https://example.com/x), [bad](javascript:alert(1)).\n\n" +
			"| a | b |\n|---|---|\n| `x` | y |\n\n<script>alert(1)</script>\n\n" +
			"A ![picture of *it*](https://example.com/p.png) and <b onclick=x>bold</b>.\n",
		"queue": "# Queue\n",
	}
	return s
}

func TestARunbookIsAPageOfTheBot(t *testing.T) {
	t.Parallel()
	s := shelf(t)
	rec := s.ask(get, "/playbooks/high-ttft", "viewer-token", "")
	page := rec.Body.String()
	mustHold(t, page, "<title>High TTFT · vllm-medic</title>", `<h1 id="high-ttft">High TTFT</h1>`,
		`<h2 id="what-it-means">`, `<a href="/playbooks/queue#why">queue</a>`,
		`<a href="https://docs.example.com/docs/testing.md">tests</a>`, `<a href="#what-it-means">here</a>`,
		`<a href="https://example.com/x">out</a>`, "<td><code>x</code></td>", "A picture of <em>it</em> and ")
	mustLack(t, page, "<script>", "javascript:", "<img", "example.com/p.png", "onclick")
	mustBeStrict(t, "a runbook", rec.Header(), page)
}

func TestAPlaybookWithoutARunbookSaysWhatItAnswers(t *testing.T) {
	t.Parallel()
	s := shelf(t)
	page := s.look("/playbooks/our%20own")
	mustHold(t, page, "<h1>Our &lt;own&gt;</h1>", "&lt;script&gt;")
	mustLack(t, page, "<script", "<img")
	index := s.look("/playbooks")
	mustHold(t, index, `<a href="/playbooks/high-ttft">High TTFT</a>`,
		`<a href="/playbooks/our%20own">Our &lt;own&gt;</a>`)
	if strings.Index(index, "High TTFT") > strings.Index(index, "Our &lt;own&gt;") {
		t.Error("the playbooks are not in order")
	}
	for _, path := range []string{"/playbooks/nope", "/playbooks/..%2Fdocs", "/playbooks/%ff"} {
		s.refused(s.ask(get, path, "viewer-token", ""), http.StatusNotFound)
	}
	for _, path := range []string{"/playbooks", "/playbooks/high-ttft"} {
		s.refused(s.ask(get, path, "", ""), http.StatusUnauthorized)
	}
}
