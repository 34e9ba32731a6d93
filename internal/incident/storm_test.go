package incident

import (
	"fmt"
	"slices"
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

func TestAChangeThatWentWrongIsShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		step Step
		fold bool
	}{
		"nothing was changed":   {Step{State: StepProposed}, true},
		"it is being written":   {Step{State: StepApplying}, true},
		"it is in effect":       {Step{State: StepApplied}, true},
		"it was refused before": {Step{State: StepRefused, Cause: Reason{Kind: ReasonExpired}}, true},
		"the write failed":      {Step{State: StepFailed}, false},
		"nobody knows of it":    {Step{State: StepFailed, Unsure: true}, false},
		"it was stopped":        {Step{State: StepApplied, Cause: Reason{Kind: ReasonWriteUnknown}}, false},
		"the undo was refused":  {Step{State: StepApplied, UndoTries: 1}, false},
		"nobody knows the undo": {Step{State: StepApplied, UndoUnsure: true}, false},
	} {
		now, before := stormy("warning"), stormy("warning")
		now.Plan = &Plan{Steps: []Step{{State: StepDenied}, c.step}}
		before.AppliedEarlier = []Step{c.step}
		if now.MayFold() != c.fold || before.MayFold() != c.fold {
			t.Errorf("%s: folds %v, of an earlier plan %v; want %v", name, now.MayFold(), before.MayFold(), c.fold)
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
		p := c.d.Pending(c.after, c.called, night)
		if len(p.Calls) != c.want || p.Last != c.last || p.Held != c.held || p.More {
			t.Errorf("%s: %+v; want %d up to %d, held %v", name, p, c.want, c.last, c.held)
		}
	}
}

// A plan that follows the live values is proposed and asked about in two commits, and what is still asked is not called
// for again. An incident that only a newer replica can read is called for by that one.
func TestACallThatCannotBeToldYetIsNotPassedOver(t *testing.T) {
	t.Parallel()
	late := night.Add(time.Hour)
	replanned := func(at time.Time) Incident {
		inc := asked("inc-b", late)
		inc.State, inc.Plan.CreatedAt = StateProposed, at
		return inc
	}
	denied := replanned(night)
	denied.State, denied.Request = StateWatching, nil
	calls := []Call{
		{Seq: 1, Incident: "inc-a", Entry: Entry{At: night}},
		{Seq: 2, Incident: "inc-b", Entry: Entry{At: night}},
		{Seq: 3, Incident: "inc-a", Entry: Entry{At: night}},
	}
	for name, c := range map[string]struct {
		b          *Incident
		unreadable []string
		now        time.Time
		want       int
		last       int64
	}{
		"it is being replanned":             {new(replanned(night)), nil, night, 1, 1},
		"a replica's clock is behind":       {new(replanned(night)), nil, night.Add(-time.Second), 1, 1},
		"nobody gets on with it":            {new(replanned(night)), nil, night.Add(callHeld), 2, 3},
		"it is no longer asked":             {&denied, nil, night, 2, 3},
		"a newer replica writes it":         {nil, []string{"inc-b"}, night, 1, 1},
		"no newer replica is there":         {nil, []string{"inc-b"}, night.Add(callHeld), 2, 3},
		"another one cannot be read":        {nil, []string{"inc-c"}, night, 2, 3},
		"it has a message of its own":       {nil, nil, night, 2, 3},
		"what was told before holds nobody": {new(asked("inc-b", late)), []string{"inc-c"}, night, 3, 3},
	} {
		d := Digest{Folded: []Incident{asked("inc-a", late)}, Unreadable: c.unreadable, Calls: calls, LastCall: 3}
		if c.b != nil {
			d.Folded = append(d.Folded, *c.b)
		}
		if p := d.Pending(0, time.Time{}, c.now); len(p.Calls) != c.want || p.Last != c.last || p.Held || p.More {
			t.Errorf("%s: %+v; want %d up to %d", name, p, c.want, c.last)
		}
	}
	d := Digest{Folded: []Incident{replanned(night)}, Calls: calls[1:2], LastCall: 2}
	if p := d.Pending(1, time.Time{}, night); len(p.Calls) != 0 || p.Last != 1 {
		t.Errorf("it is the first: %+v", p)
	}
}

// A reply names and mentions only so many; the others get the next one.
func TestACallThatIsTooLargeIsParted(t *testing.T) {
	t.Parallel()
	people := func(from, n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("U", from+i))
		}
		return out
	}
	for name, c := range map[string]struct {
		mentions [][]string
		want     []int // calls of each part
	}{
		"all fit":                    {[][]string{people(0, 20), people(20, 20)}, []int{2}},
		"one person more":            {[][]string{people(0, 20), people(20, 21)}, []int{1, 1}},
		"the same people":            {[][]string{people(0, 30), people(10, 30), people(0, 40)}, []int{3}},
		"too many for a single one":  {[][]string{people(0, CallPeople+5), people(90, 1)}, []int{1, 1}},
		"as many incidents as allow": {slices.Repeat([][]string{people(0, 1)}, CallIncidents), []int{CallIncidents}},
		"one incident more":          {slices.Repeat([][]string{people(0, 1)}, CallIncidents+1), []int{CallIncidents, 1}},
	} {
		d := Digest{LastCall: int64(len(c.mentions))}
		for n, m := range c.mentions {
			id := fmt.Sprint("inc-", n)
			d.Folded = append(d.Folded, asked(id, night.Add(time.Hour)))
			d.Calls = append(d.Calls, Call{Seq: int64(n + 1), Incident: id, Entry: Entry{Mention: m}})
		}
		after := int64(0)
		for n, want := range c.want {
			p := d.Pending(after, time.Time{}, night)
			if last := n == len(c.want)-1; len(p.Calls) != want || p.Last != after+int64(want) || p.More == last {
				t.Errorf("%s, part %d: %d calls up to %d, more %v", name, n+1, len(p.Calls), p.Last, p.More)
			}
			after = p.Last
		}
		if after != d.LastCall {
			t.Errorf("%s: told up to %d of %d", name, after, d.LastCall)
		}
	}
}

// Somebody is asked twice about an incident whose line is not repeated: that counts once.
func TestRemindersOfOneIncidentAreOneLine(t *testing.T) {
	t.Parallel()
	d := Digest{Folded: []Incident{asked("inc-a", night.Add(time.Hour))}, LastCall: CallIncidents + 5}
	for n := range d.LastCall {
		d.Calls = append(d.Calls, Call{Seq: n + 1, Incident: "inc-a", Entry: Entry{Mention: []string{"U1"}}})
	}
	if p := d.Pending(0, time.Time{}, night); len(p.Calls) != CallIncidents+5 || p.More {
		t.Errorf("%+v", p)
	}
}
