package report_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
)

var update = flag.Bool("update", false, "write the golden files anew; read them")

func month(t *testing.T) report.Report {
	t.Helper()
	until := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	b := report.New(report.Period{Since: until.AddDate(0, 0, -30), Until: until}, until)
	for _, l := range reporttest.Month(t, until) {
		b.Add(l.Incident, l.At)
	}
	r := b.Report()
	r.Earlier, r.Unreadable = 1, []string{"inc-old"}
	r.Pauses = []incident.Pause{{Pool: "qwen-32b", Reason: "load test", By: reporttest.Bob, At: until.Add(-time.Hour)}}
	return r
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); d != "" {
		t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, d)
	}
}

func TestAMonth(t *testing.T) {
	t.Parallel()
	golden(t, "testdata/month.md", month(t).Markdown())
}

func TestAnEmptyPeriodSaysSo(t *testing.T) {
	t.Parallel()
	one := week
	one.Pool = "llama"
	const when = "\n\n2026-11-21 03:00 to 2026-11-28 03:00 UTC (7 days). Made 2026-11-28 03:00 UTC.\n\n"
	for _, tc := range []struct {
		period report.Period
		want   string
	}{
		{week, "# Incident report" + when + "No incidents were opened in this period.\n"},
		{one, "# Incident report of llama" + when +
			"No incidents of pool llama were opened in this period. If that's unexpected, check the name: " +
			"vllm-medic incidents list --state all shows every pool with incidents.\n"},
	} {
		r := report.New(tc.period, week.Until).Report()
		if !r.Empty() {
			t.Error("it is not empty")
		}
		same(t, "Markdown", r.Markdown(), tc.want)
	}
}

// What only policy decided has no table of requests; what has ended without words has no dash.
func TestWhatHasNothingToSayIsLeftOut(t *testing.T) {
	t.Parallel()
	r := of(open(t).Find("queueing", scale()).Approve("p1-s1", policy).Write().Judge(incident.VerdictRecovered).Close())
	var got []string
	for _, s := range r.Sections() {
		got = append(got, s.ID)
		if s.ID == "approvals" {
			same(t, "approvals", s, report.Section{
				ID: "approvals", Title: "Approvals", Text: []string{"By policy 1 approved and 0 denied."},
			})
		}
	}
	same(t, "sections", got, []string{"summary", "pools", "causes", "helped", "approvals", "rules", "definitions"})
}

// Names come from the labels of alerts. They stay text: no link, no mention, no column of their own, no HTML.
func TestNamesFromOutsideStayText(t *testing.T) {
	t.Parallel()
	name := "a|b <img src=x> [c](https://x.example) `d` *e* @here #1\n| f"
	l := reporttest.Open(t, "inc", name, incident.ModeApprove, day.Add(time.Hour), name)
	text := of(l.Find("queueing").Wait(time.Minute).Healthy().Close()).Markdown()
	const want = "a\\|b &lt;img src=x> \\[c\\](https://x.example) \\`d\\` \\*e\\* &#64;here &#35;1 \\| f"
	for line := range strings.Lines(text) {
		if strings.Contains(line, "src=x") && !strings.Contains(line, want) {
			t.Errorf("the name stands as %q", line)
		}
	}
	if strings.Count(text, want) < 2 {
		t.Errorf("the pool and the rule are missing:\n%s", text)
	}
}

// A review reads a table of some rows; whoever wants all of them has JSON.
func TestALongTableSaysWhatItLeavesOut(t *testing.T) {
	t.Parallel()
	var lives []*reporttest.Life
	for n := range 25 {
		lives = append(lives, reporttest.Open(t, "inc", "pool-"+string(rune('a'+n)), incident.ModeApprove, day, "A"))
	}
	r := of(lives...)
	if text := r.Markdown(); len(r.Pools) != 25 || !strings.Contains(text, "\n5 more in JSON.\n") ||
		strings.Contains(text, "pool-y") {
		t.Errorf("%d pools:\n%s", len(r.Pools), text)
	}
}
