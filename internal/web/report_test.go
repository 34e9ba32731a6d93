package web_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// aMonth is the report of thirty days until now.
func aMonth(t *testing.T) report.Report {
	t.Helper()
	b := report.New(report.Period{Since: now.AddDate(0, 0, -30), Until: now}, now)
	for _, l := range reporttest.Month(t, now) {
		b.Add(l.Incident, l.At)
	}
	return b.Report()
}

func TestTheReportPageShowsWhatTheMarkdownSays(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.pools = []incident.Pool{{Name: "llama-70b"}, {Name: "qwen 32b"}}
	r := aMonth(t)
	s.expect("report", r.Period, r, nil)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	page := s.look("/report?days=30")
	for _, want := range []string{
		`<a href="/report" aria-current="page">Report</a>`,
		"2026-01-30 03:00 to 2026-03-01 03:00 UTC (30 days)",
		`<option value="30" selected>30 days</option>`,
		"31 incidents on 2 pools, 12 h 29 min in trouble. 1 still open.",
		"vLLMQueueBacklog: of 22 closed incidents, 12 recovered on their own within 5 min.",
		`<a href="/pools/llama-70b">llama-70b</a>`,
		`href="/report.md?since=2026-01-30T03%3A00%3A00Z&amp;until=2026-03-01T03%3A00%3A00Z" download`,
		`href="/api/v1/report?since=`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, `href="/pools/qwen`) || strings.Contains(page, "http-equiv") {
		t.Error("a pool that isn't configured is linked, or the page reloads itself")
	}
	for _, section := range r.Sections() {
		if !strings.Contains(page, `id="`+section.ID+`"`) {
			t.Errorf("the page lacks %s", section.Title)
		}
	}
	for _, f := range voice.Page(page) {
		t.Errorf("%+v", f)
	}
}

func TestTheReportIsThereAsAFileAndAsJSON(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := aMonth(t)
	s.expect("report", r.Period, r, nil)
	rec := s.ask(get, "/report.md?days=30", "viewer-token", "")
	if rec.Code != http.StatusOK || rec.Body.String() != r.Markdown() {
		t.Errorf("%d: %.300s", rec.Code, rec.Body)
	}
	if got := rec.Header().Get("Content-Disposition"); got != `attachment; filename="vllm-medic-report-2026-03-01.md"` {
		t.Error(got)
	}
	one := report.Period{Since: now.Add(-time.Hour), Until: now.Add(-time.Minute), Pool: "llama"}
	s.expect("report", one, r, nil)
	rec = s.ask(get, "/api/v1/report?since=2026-03-01T02:00:00Z&until=2026-03-01T02:59:00Z&pool=llama", "viewer-token", "")
	var got report.Report
	if err := json.Unmarshal(rec.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(r, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
}

func TestAReportWithoutAPeriodIsOfAWeek(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := report.Period{Since: now.AddDate(0, 0, -7), Until: now}
	s.expect("report", p, report.New(p, now).Report(), nil)
	s.expect("pauses", nil, []incident.Pause{}, nil)
	if page := s.look("/report"); !strings.Contains(page, "No incidents were opened in this period.") {
		t.Errorf("an empty report:\n%s", page)
	}
}

func TestAReportOfNonsenseIsRefused(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"days=0": "days must be a whole number from 1 to 400", "days=x": "days must be", "days=401": "days must be",
		"since=yesterday":                   "since must be a time",
		"until=2026-13-01T00:00:00Z":        "until must be a time",
		"since=2026-03-01T03:00:00Z":        "since must be before until",
		"since=2024-03-01T03:00:00Z":        "by at most 400 days",
		"since=2026-02-01T03:00:00Z&days=7": "days or since",
	} {
		for _, path := range []string{"/api/v1/report?", "/report.md?"} {
			s := newSite(t)
			got := s.refused(s.ask(get, path+query, "viewer-token", ""), http.StatusBadRequest)
			if !strings.Contains(got, want) {
				t.Errorf("%s%s: %q", path, query, got)
			}
		}
	}
	s := newSite(t)
	for _, path := range []string{"/api/v1/report", "/report.md", "/report"} {
		s.refused(s.ask(get, path, "wrong-token", ""), http.StatusUnauthorized)
	}
}
