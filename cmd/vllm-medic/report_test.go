package main

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// keeps is a configuration whose store keeps a month of incidents, as a bot left them.
func keeps(t *testing.T, until time.Time) string {
	t.Helper()
	dir := t.TempDir()
	url := "sqlite://" + filepath.Join(dir, "medic.db")
	s, err := store.Open(t.Context(), url, store.Options{
		ChannelFor: func(pool string) string { return map[bool]string{true: "C1"}[pool != ""] },
		Logger:     slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range reporttest.Month(t, until) {
		whole := incident.Change{Incident: l.Incident, Entries: l.Incident.Journal, Render: true}
		if err := s.Commit(t.Context(), whole); err != nil {
			t.Fatal(err)
		}
		ms, err := s.ClaimMessages(t.Context(), incident.SinkSlack, "me", s.Now().Add(time.Minute), time.Minute, 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range ms {
			m.TS, m.Sent, m.ThreadSent = fmt.Sprintf("%d.000100", l.At.Unix()), m.Wanted, int64(len(l.Incident.Journal))
			if err := s.SaveMessage(t.Context(), m, true); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "medic.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "store: {url: %q}\n", url), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The example in the documents is what the command prints, but for the line with the times.
func TestTheReportInTheDocumentsIsThatOfTheCommand(t *testing.T) {
	t.Parallel()
	// What is still open lasts until now, in whole minutes: the command has half a minute before and after that moment.
	until := time.Now().UTC().Truncate(time.Second).Add(25 * time.Second)
	file := keeps(t, until)
	c := call{args: []string{"report", "--since", "30d", "--until", until.Format(time.RFC3339), "--config", file}}
	code, out, errs := c.run(t)
	if code != exitDone || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	page, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```markdown\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/report.md has no example")
	}
	if d := cmp.Diff(timeless(example), timeless(out)); d != "" {
		t.Errorf("-docs +command:\n%s\nthe command prints:\n%s", d, out)
	}
}

// timeless is a report without its third line, which has the times.
func timeless(text string) []string {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || !strings.Contains(lines[2], "(30 days). Made ") {
		return lines
	}
	return append(lines[:2], lines[3:]...)
}

func TestAReportOfOnePoolOfAnotherPeriodAsJSON(t *testing.T) {
	t.Parallel()
	until := time.Now().UTC().Truncate(24 * time.Hour)
	file := keeps(t, until)
	day := until.AddDate(0, 0, -1)
	c := call{args: []string{
		"report", "--until", day.Format(time.DateOnly), "--pool", "qwen-32b", "-o", "json", "--config", file,
	}}
	code, out, errs := c.run(t)
	if code != exitDone {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var got report.Report
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	want := report.Period{Since: until.AddDate(0, 0, -7), Until: until, Pool: "qwen-32b"}
	if d := cmp.Diff(want, got.Period); d != "" {
		t.Errorf("a day ends when the next one begins, and without --since it is a week (-want +got):\n%s", d)
	}
	if got.Total.Incidents == 0 || len(got.Pools) != 1 || got.Pools[0].Name != "qwen-32b" {
		t.Errorf("the pools are %+v", got.Pools)
	}
	c.args = []string{"report", "--pool", "mixtral", "--config", file}
	if code, out, _ := c.run(t); code != exitDone || !strings.Contains(out, "No incidents of pool mixtral were opened") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// A bot is asked for the very period, and what it answers is printed as it would be here.
func TestABotIsAskedForThePeriod(t *testing.T) {
	t.Parallel()
	p := report.Period{
		Since: time.Date(2026, 11, 20, 9, 30, 0, 0, time.UTC), Until: time.Date(2026, 11, 23, 9, 30, 0, 0, time.UTC),
		Pool: "a b",
	}
	answer := report.New(p, p.Until).Report()
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const want = "/api/v1/report?pool=a+b&since=2026-11-20T09%3A30%3A00Z&until=2026-11-23T09%3A30%3A00Z"
		if got := r.URL.RequestURI(); got != want {
			t.Errorf("asked for %s", got)
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(bot.Close)
	c := call{args: []string{
		"report", "--since", "3d", "--until", "2026-11-23T10:30:00+01:00", "--pool", "a b", "--server", bot.URL,
	}, env: holder()}
	if code, out, errs := c.run(t); code != exitDone || out != answer.Markdown() {
		t.Errorf("exit code %d: %s%s", code, out, errs)
	}
}

func TestAReportOfNonsenseIsWrongUsage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ args, want string }{
		{"--since 0s", "--since is a duration above 0 and of at most 400d"},
		{"--since 500d", "--since is a duration above 0 and of at most 400d"},
		{"--since yesterday", "report: "},
		{"--until tomorrow", `--until "tomorrow" is not a time such as 2026-11-23 or 2026-11-23T09:00:00Z`},
		{"-o table", "must be markdown, json or yaml"},
		{"--config x.yaml --server http://127.0.0.1:1", "give --config to read the store or --server"},
	} {
		c := call{args: append([]string{"report"}, strings.Fields(tc.args)...), env: holder()}
		if code, _, errs := c.run(t); code != exitUsage || !strings.Contains(errs, tc.want) {
			t.Errorf("%s: exit code %d: %s", tc.args, code, errs)
		}
	}
}
