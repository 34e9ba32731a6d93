package incident

import (
	"testing"
	"time"
)

func stormy(severities ...string) Incident {
	inc := New("inc-1", "llama", ModeApprove, false, night)
	for _, s := range severities {
		inc.Alerts = append(inc.Alerts, Alert{Labels: map[string]string{"severity": s}, Firing: true})
	}
	return inc
}

var night = time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)

func ago(minutes ...int) []time.Time {
	var out []time.Time
	for _, m := range minutes {
		out = append(out, night.Add(-time.Duration(m)*time.Minute))
	}
	return out
}

func TestWhatFolds(t *testing.T) {
	t.Parallel()
	storm := Storm{Incidents: 3, Within: 10 * time.Minute}
	worse := stormy("warning")
	worse.WorstSeverity = "critical"
	unrouted := stormy("warning")
	unrouted.Pool = ""
	for name, c := range map[string]struct {
		storm   Storm
		inc     Incident
		counted []time.Time
		fold    bool
		reason  FoldReason
	}{
		"the first one":                        {storm, stormy("warning"), nil, false, FoldCalm},
		"the last with its own":                {storm, stormy("warning"), ago(0, 1), false, FoldCalm},
		"the first of the storm":               {storm, stormy("warning"), ago(0, 1, 2), true, FoldRate},
		"one that only informs":                {storm, stormy("info"), ago(0, 1, 2), true, FoldRate},
		"when they came slower":                {storm, stormy("warning"), ago(0, 1, 11), false, FoldCalm},
		"one just outside the window":          {storm, stormy("warning"), ago(0, 1, 10), false, FoldCalm},
		"a critical one":                       {storm, stormy("warning", "critical"), ago(0, 1, 2, 3), false, FoldSevere},
		"one that pages":                       {storm, stormy("page"), ago(0, 1, 2), false, FoldSevere},
		"one that was critical before":         {storm, worse, ago(0, 1, 2), false, FoldSevere},
		"a severity that nobody knows":         {storm, stormy("warning", "P1"), ago(0, 1, 2), false, FoldSevere},
		"an alert without a severity":          {storm, stormy("warning", ""), ago(0, 1, 2), false, FoldSevere},
		"an incident without an alert":         {storm, stormy(), ago(0, 1, 2), false, FoldSevere},
		"alerts that lead to no pool":          {storm, unrouted, ago(0, 1, 2), false, FoldSevere},
		"the clock of a replica that is ahead": {storm, stormy("warning"), ago(0, 1, -1), true, FoldRate},
		"times ahead of a clock set back":      {storm, stormy("warning"), ago(0, 1, -10), false, FoldCalm},
		"no rate":                              {Storm{}, stormy("warning"), ago(0, 1, 2), false, FoldOff},
		"a rate of none":                       {Storm{Within: time.Hour}, stormy("warning"), ago(0, 1, 2), false, FoldOff},
		"the rate unless it is set":            {DefaultStorm, stormy("warning"), ago(1, 2, 3, 4, 5), true, FoldRate},
	} {
		if fold, reason := c.storm.Fold(c.inc, c.counted, night); fold != c.fold || reason != c.reason {
			t.Errorf("%s: %v because of %s, want %v because of %s", name, fold, reason, c.fold, c.reason)
		}
	}
}

// asked is an incident that waits for a decision until a time.
func asked(id string, until time.Time) Incident {
	inc := stormy("warning")
	inc.ID, inc.State = id, StateDeciding
	inc.Plan = &Plan{ExpiresAt: until, Steps: []Step{{ID: "s", Kind: StepReplicas, State: StepProposed}}}
	inc.Request = &Request{At: night}
	return inc
}

func TestCallsOfADigestAreGathered(t *testing.T) {
	t.Parallel()
	soon, late := night.Add(time.Minute), night.Add(time.Hour)
	answered := asked("inc-c", late)
	answered.State = StateWatching
	d := Digest{
		Folded:   []Incident{asked("inc-a", late), asked("inc-b", soon), answered},
		Calls:    []Call{{Seq: 1, Incident: "inc-a"}, {Seq: 2, Incident: "inc-c"}, {Seq: 3, Incident: "inc-gone"}},
		LastCall: 3,
	}
	hurry := d
	hurry.Calls, hurry.LastCall = append(hurry.Calls[:3:3], Call{Seq: 4, Incident: "inc-b"}), 4
	for name, c := range map[string]struct {
		d      Digest
		after  int64
		called time.Time
		want   int
		last   int64
		held   bool
	}{
		"the first one is posted":           {d, 0, time.Time{}, 1, 3, false},
		"the next one waits for a minute":   {d, 0, night.Add(-59 * time.Second), 1, 3, true},
		"and no longer":                     {d, 0, night.Add(-time.Minute), 1, 3, false},
		"not when the clock was set back":   {d, 0, night.Add(time.Hour), 1, 3, false},
		"not when a request ends soon":      {hurry, 0, night.Add(-time.Second), 2, 4, false},
		"what was posted is not said again": {d, 1, time.Time{}, 0, 3, false},
		"what is over waits for nothing":    {d, 1, night, 0, 3, false},
		"what is gone is passed over":       {Digest{LastCall: 7}, 1, night, 0, 7, false},
	} {
		calls, last, held := c.d.Pending(c.after, c.called, night)
		if len(calls) != c.want || last != c.last || held != c.held {
			t.Errorf("%s: %d calls up to %d, held %v; want %d up to %d, held %v", name, len(calls), last, held, c.want, c.last,
				c.held)
		}
	}
}
