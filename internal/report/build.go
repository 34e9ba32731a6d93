package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Builder takes incidents, one after the other, and makes a report of them. It keeps lengths of time and counts. Use
// New.
type Builder struct {
	period   Period
	at       time.Time
	total    *figures
	pools    map[string]*figures
	causes   map[string]*figures
	steps    map[[3]string]*Step
	stopped  map[Stopped]int
	rules    map[string]*ruleCount
	dryRuns  map[[3]string]*DryRun
	unrouted map[string]bool
}

// figures are Figures in the making.
type figures struct {
	Figures

	toMessage, toDecision, toRecover, wait samples
	by                                     map[string]*Surface
}

// New begins a report. at is now: what is still going on counts until then.
func New(p Period, at time.Time) *Builder {
	return &Builder{
		period: p, at: at, total: newFigures(), pools: map[string]*figures{}, causes: map[string]*figures{},
		steps: map[[3]string]*Step{}, stopped: map[Stopped]int{}, rules: map[string]*ruleCount{},
		dryRuns: map[[3]string]*DryRun{}, unrouted: map[string]bool{},
	}
}

func newFigures() *figures { return &figures{by: map[string]*Surface{}} }

// Add counts an incident with its journal. posted is when its message was posted; zero: it was not, or is not known. An
// incident that was not opened in the period, or is of another pool, is not counted.
func (b *Builder) Add(inc incident.Incident, posted time.Time) {
	switch {
	case inc.OpenedAt.Before(b.period.Since) || !inc.OpenedAt.Before(b.period.Until):
		return
	case b.period.Pool != "" && inc.Pool != b.period.Pool:
		return
	case inc.OnlyTest():
		return // somebody tried out the way of alerts
	case inc.Pool == "":
		for _, name := range inc.AlertNames() {
			b.unrouted[name] = true
		}
		return
	}
	e := read(inc)
	b.addRules(e)
	if inc.DryRun && !present.Changed(inc) {
		b.addDryRun(e)
		return
	}
	for _, f := range []*figures{b.total, of(b.pools, inc.Pool, newFigures), of(b.causes, e.cause, newFigures)} {
		f.add(e, posted, b.at)
	}
	b.addSteps(e)
}

// of is the value of a key, made when there is none.
func of[K comparable, V any](all map[K]*V, key K, fresh func() *V) *V {
	v, ok := all[key]
	if !ok {
		v = fresh()
		all[key] = v
	}
	return v
}

// add counts one incident.
func (f *figures) add(e episode, posted, now time.Time) {
	inc := e.inc
	f.Incidents++
	f.Trouble += Seconds(e.trouble(now))
	f.toMessage.add(inc.OpenedAt, posted)
	f.toDecision.add(inc.OpenedAt, e.decided)
	if inc.Open() {
		f.Open++
	} else {
		f.ByItself.Of++
		f.toRecover.add(inc.OpenedAt, e.recovered)
	}
	if e.byItself() {
		f.ByItself.N++
	}
	for _, q := range e.questions {
		f.ask(q)
	}
	for _, d := range e.verdicts {
		by := of(f.by, d.by, func() *Surface { return &Surface{Name: d.by} })
		if d.approved {
			by.Approved++
		} else {
			by.Denied++
		}
	}
	for _, m := range present.History(inc) {
		if !m.DryRun {
			f.Changes.add(m)
		}
	}
}

// ask counts one request.
func (f *figures) ask(q question) {
	if q.rollback {
		r := &f.Rollbacks
		r.Requests++
		switch q.end {
		case endRolledBack:
			r.RolledBack++
		case endDenied:
			r.Kept++
		case endExpired:
			r.Unanswered++
		case endOpen, endApproved, endWithdrawn:
			r.Other++
		}
		return
	}
	a := &f.Approvals
	a.Requests++
	switch q.end {
	case endApproved:
		a.Approved++
		f.wait.add(q.at, q.answered)
	case endDenied:
		a.Denied++
		f.wait.add(q.at, q.answered)
	case endExpired:
		if q.partly {
			a.Partly++
		} else {
			a.Unanswered++
		}
		f.wait.missed()
	case endOpen:
		a.Open++
	case endWithdrawn, endRolledBack:
		a.Withdrawn++
	}
}

// add counts one change.
func (c *Changes) add(m incident.Made) {
	c.Made++
	if m.Helped() {
		c.Helped++
	}
	switch {
	case m.Unsure:
		c.Unsure++
	case m.State == incident.StepReverted:
		c.Reverted++
	case m.Lifted():
		c.Lifted++
	case !m.UndoneAt.IsZero() || m.State == incident.StepUndone:
		c.Undone++
	}
}

// addSteps counts what was changed, and what was approved and not written.
func (b *Builder) addSteps(e episode) {
	pool := e.inc.Pool
	for _, m := range present.History(e.inc) {
		if m.DryRun {
			continue
		}
		key := [3]string{pool, e.causeOf(m.Step), present.ActionMade(m)}
		s := of(b.steps, key, func() *Step { return &Step{Pool: key[0], Cause: key[1], Action: key[2]} })
		s.add(m)
		if m.Verdict == incident.VerdictUnchanged || m.Verdict == incident.VerdictWorse {
			s.Failed++
		}
	}
	for _, s := range e.stopped {
		if !s.dryRun {
			b.stopped[Stopped{Pool: pool, Cause: e.causeOf(s.step), Action: s.action, Why: s.why}]++
		}
	}
}

// addDryRun counts what would have been done: what was approved and tried out, else the first step that was proposed.
func (b *Builder) addDryRun(e episode) {
	action, passed := "", false
	for _, m := range present.History(e.inc) {
		action, passed = present.ActionMade(m), true
	}
	if action == "" {
		for _, s := range slices.Backward(present.Planned(e.inc)) {
			if s.Executable() {
				action = present.Action(s)
			}
		}
	}
	key := [3]string{e.inc.Pool, e.cause, action}
	d := of(b.dryRuns, key, func() *DryRun { return &DryRun{Pool: key[0], Cause: key[1], Action: key[2]} })
	d.Incidents++
	if passed {
		d.Passed++
	}
	if !e.inc.Open() {
		d.ByItself.Of++
		if e.byItself() {
			d.ByItself.N++
		}
	}
}

// Report is what has come together. The builder may take more after it.
func (b *Builder) Report() Report {
	r := Report{
		Period: b.period, At: b.at, Total: b.total.done(), Pools: groups(b.pools), Causes: groups(b.causes),
		Steps: []Step{}, Stopped: []Stopped{}, Rules: b.ruleList(), DryRuns: []DryRun{}, Pauses: []incident.Pause{},
		Unrouted: append([]string{}, slices.Sorted(maps.Keys(b.unrouted))...),
	}
	for _, s := range b.steps {
		r.Steps = append(r.Steps, *s)
	}
	slices.SortFunc(r.Steps, func(x, y Step) int {
		return cmp.Or(cmp.Compare(y.Made, x.Made), cmp.Compare(y.Helped, x.Helped), cmp.Compare(x.Pool, y.Pool),
			cmp.Compare(x.Cause, y.Cause), cmp.Compare(x.Action, y.Action))
	})
	for s, n := range b.stopped {
		s.Count = n
		r.Stopped = append(r.Stopped, s)
	}
	slices.SortFunc(r.Stopped, func(x, y Stopped) int {
		return cmp.Or(cmp.Compare(y.Count, x.Count), cmp.Compare(x.Pool, y.Pool), cmp.Compare(x.Cause, y.Cause),
			cmp.Compare(x.Action, y.Action), cmp.Compare(x.Why, y.Why))
	})
	for _, d := range b.dryRuns {
		r.DryRuns = append(r.DryRuns, *d)
	}
	slices.SortFunc(r.DryRuns, func(x, y DryRun) int {
		return cmp.Or(cmp.Compare(x.Pool, y.Pool), cmp.Compare(y.Incidents, x.Incidents), cmp.Compare(x.Cause, y.Cause),
			cmp.Compare(x.Action, y.Action))
	})
	return r
}

// groups are the figures by name, the longest in trouble first.
func groups(all map[string]*figures) []Group {
	out := make([]Group, 0, len(all))
	for name, f := range all {
		out = append(out, Group{name, f.done()})
	}
	slices.SortFunc(out, func(x, y Group) int {
		return cmp.Or(cmp.Compare(y.Trouble, x.Trouble), cmp.Compare(y.Incidents, x.Incidents),
			strings.Compare(x.Name, y.Name))
	})
	return out
}

func (f *figures) done() Figures {
	out := f.Figures
	out.ToMessage, out.ToDecision, out.ToRecover = f.toMessage.spread(), f.toDecision.spread(), f.toRecover.spread()
	out.Approvals.Wait = f.wait.spread()
	out.Approvals.By = []Surface{}
	for _, name := range slices.Sorted(maps.Keys(f.by)) {
		out.Approvals.By = append(out.Approvals.By, *f.by[name])
	}
	return out
}
