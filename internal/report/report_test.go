package report_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
)

var (
	day    = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	week   = report.Period{Since: day, Until: day.AddDate(0, 0, 7)}
	alice  = reporttest.Alice
	policy = reporttest.Policy
)

// open begins an incident of the pool llama in the period.
func open(t *testing.T, alerts ...string) *reporttest.Life {
	t.Helper()
	if len(alerts) == 0 {
		alerts = []string{"vLLMHighTTFT"}
	}
	return reporttest.Open(t, "inc-"+t.Name(), "llama", incident.ModeApprove, day.Add(time.Hour), alerts...)
}

func scale() incident.Step    { return reporttest.Replicas("llama", "2", "3") }
func throttle() incident.Step { return reporttest.Throttle("llama", "256", "128") }
func tokens() incident.Step   { return reporttest.Tokens("llama", "8192", "4096") }

// asked is an incident in which people were asked two minutes after it opened.
func asked(t *testing.T, steps ...incident.Step) *reporttest.Life {
	t.Helper()
	if len(steps) == 0 {
		steps = []incident.Step{scale()}
	}
	return open(t).Wait(2*time.Minute).Find("queueing", steps...).Ask()
}

// written is one whose first step was approved after three minutes and written at once.
func written(t *testing.T, steps ...incident.Step) *reporttest.Life {
	t.Helper()
	return asked(t, steps...).Wait(3*time.Minute).Approve("p1-s1", alice).Write()
}

// of is the report of some lives, made a day after the period.
func of(lives ...*reporttest.Life) report.Report {
	b := report.New(week, week.Until.AddDate(0, 0, 1))
	for _, l := range lives {
		b.Add(l.Incident, time.Time{})
	}
	return b.Report()
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func minutes(n int) *report.Seconds {
	return new(report.Seconds(time.Duration(n) * time.Minute))
}

func TestIncidentsAreCountedAndTimed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name             string
		life             func(t *testing.T) *reporttest.Life
		open             int
		byItself         report.Share
		trouble          int
		decided, recover *report.Seconds
		of               [2]int
	}{
		{
			"recovered by itself", func(t *testing.T) *reporttest.Life {
				return open(t).Wait(4 * time.Minute).Healthy().Wait(10 * time.Minute).Close()
			},
			0,
			report.Share{N: 1, Of: 1},
			4, nil, minutes(4),
			[2]int{1, 1},
		},
		{
			"recovered after a step", func(t *testing.T) *reporttest.Life {
				return written(t).Wait(5 * time.Minute).Judge(incident.VerdictRecovered).Wait(10 * time.Minute).Close()
			},
			0,
			report.Share{Of: 1},
			10, minutes(5), minutes(10),
			[2]int{1, 1},
		},
		{
			"after a write of which nobody knows what came", func(t *testing.T) *reporttest.Life {
				l := asked(t).Approve("p1-s1", alice)
				l.Do(incident.WriteClaimed{Step: "p1-s1", Op: incident.OpApply, WriteID: "w"},
					incident.Written{Result: incident.ResultUnknown})
				return l.Wait(8 * time.Minute).Healthy().Close()
			},
			0,
			report.Share{Of: 1},
			10, minutes(2), minutes(10),
			[2]int{1, 1},
		},
		{
			"closed without a recovery", func(t *testing.T) *reporttest.Life {
				return open(t).Wait(30 * time.Minute).Find("").Close()
			},
			0,
			report.Share{Of: 1},
			30, nil, nil,
			[2]int{1, 1},
		},
		{
			"still open", func(t *testing.T) *reporttest.Life { return asked(t) },
			1,
			report.Share{},
			(7*24 + 23) * 60, nil, nil,
			[2]int{1, 0},
		},
		{
			"open, and healthy by now", func(t *testing.T) *reporttest.Life { return open(t).Wait(6 * time.Minute).Healthy() },
			1,
			report.Share{},
			6, nil, nil,
			[2]int{1, 0},
		},
		{
			"a mitigation was taken back after recovery", func(t *testing.T) *reporttest.Life {
				return written(t, throttle()).Wait(5 * time.Minute).Judge(incident.VerdictRecovered).Wait(10 * time.Minute).
					Lift("p1-s1").Wait(time.Minute).Healthy().Wait(10 * time.Minute).Close()
			},
			0,
			report.Share{Of: 1},
			10, minutes(5), minutes(10),
			[2]int{1, 1},
		},
		{
			"it was taken back and the trouble came again", func(t *testing.T) *reporttest.Life {
				return written(t, throttle()).Wait(5*time.Minute).Judge(incident.VerdictRecovered).Wait(10*time.Minute).
					Lift("p1-s1").Wait(time.Minute).Find("overload", scale()).Ask().Wait(9 * time.Minute).Healthy().Close()
			},
			0,
			report.Share{Of: 1},
			30, minutes(5), minutes(30),
			[2]int{1, 1},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := of(tc.life(t)).Total
			same(t, "incidents", []int{got.Incidents, got.Open}, []int{1, tc.open})
			same(t, "by itself", got.ByItself, tc.byItself)
			same(t, "trouble", got.Trouble, *minutes(tc.trouble))
			same(t, "to decision", got.ToDecision.Longest, tc.decided)
			same(t, "to recover", got.ToRecover.Longest, tc.recover)
			same(t, "seen of", [2]int{got.ToDecision.Of, got.ToRecover.Of}, tc.of)
		})
	}
}

// A median of a sample or two, and a p90 of nine, would be made up.
func TestAFigureNeedsSamplesEnough(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		posted, silent       int
		median, p90, longest *report.Seconds
	}{
		{0, 2, nil, nil, nil},
		{1, 0, nil, nil, minutes(1)},
		{2, 1, nil, nil, minutes(2)},
		{3, 0, minutes(2), nil, minutes(3)},
		{9, 0, minutes(5), nil, minutes(9)},
		{10, 5, minutes(5), minutes(9), minutes(10)},
	} {
		t.Run(fmt.Sprint(tc.posted), func(t *testing.T) {
			t.Parallel()
			b := report.New(week, week.Until)
			for n := range tc.posted + tc.silent {
				l := open(t)
				posted := time.Time{}
				if n < tc.posted {
					posted = l.Now.Add(time.Duration(n+1) * time.Minute)
				}
				b.Add(l.Incident, posted)
			}
			same(t, "to message", b.Report().Total.ToMessage, report.Spread{
				Samples: tc.posted, Of: tc.posted + tc.silent, Median: tc.median, P90: tc.p90, Longest: tc.longest,
			})
		})
	}
}

func TestOnlyWhatWasOpenedInThePeriodCounts(t *testing.T) {
	t.Parallel()
	at := func(pool string, when time.Time) *reporttest.Life {
		return reporttest.Open(t, "inc-"+pool, pool, incident.ModeApprove, when, "A")
	}
	lives := []*reporttest.Life{
		at("before", week.Since.Add(-time.Nanosecond)), at("first", week.Since), at("old-name", week.Since.Add(time.Hour)),
		at("new-name", week.Since.Add(2*time.Hour)), at("after", week.Until), at("", week.Since.Add(time.Hour)),
	}
	got := of(lives...)
	var names []string
	for _, p := range got.Pools {
		names = append(names, p.Name)
	}
	// A pool that was renamed is two pools: nothing says that they are one.
	same(t, "pools", names, []string{"first", "old-name", "new-name"})
	same(t, "without a pool", got.Unrouted, []string{"A"})
	one := week
	one.Pool = "old-name"
	b := report.New(one, week.Until)
	for _, l := range lives {
		b.Add(l.Incident, time.Time{})
	}
	if r := b.Report(); r.Total.Incidents != 1 || len(r.Unrouted) != 0 || len(r.Rules) != 1 {
		t.Errorf("of one pool: %+v", r)
	}
}

// Whoever tries out the way of alerts makes no incident, with a pool or without; what joins a real one is no rule.
func TestTestAlertsCountNowhere(t *testing.T) {
	t.Parallel()
	at := func(pool string, alerts ...string) *reporttest.Life {
		return reporttest.Open(t, "inc-"+pool, pool, incident.ModeDryRun, week.Since.Add(time.Hour), alerts...)
	}
	if got := of(at("llama", incident.TestAlertName), at("", incident.TestAlertName)); !got.Empty() || len(got.Rules) > 0 {
		t.Errorf("test alerts are counted: %+v", got)
	}
	got := of(at("llama", "A", incident.TestAlertName))
	if len(got.Rules) != 1 || got.Rules[0].Name != "A" || got.Rules[0].Alone != 1 {
		t.Errorf("the rules are %+v", got.Rules)
	}
}

func TestJSONIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	want := of(written(t).Wait(5*time.Minute).Judge(incident.VerdictRecovered).Close(),
		open(t).Wait(time.Minute).Healthy().Close())
	raw, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got report.Report
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	same(t, "the report", got, want)
	same(t, "its Markdown", got.Markdown(), want.Markdown())
}
