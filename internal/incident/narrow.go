package incident

import (
	"slices"
	"strconv"
)

// Narrowing is a person's choice of a smaller change than a step proposes. It decides nothing: the step is worked out
// again with it, checked and tried as a dry run, and has another digest then, on which people decide.
type Narrowing struct {
	Kind StepKind `json:"kind"`
	// Target is Target.Key() of the object.
	Target string `json:"target"`
	// From is the value that the step starts from, To the chosen one, Instead the one that was proposed.
	From    Value  `json:"from"`
	To      Value  `json:"to"`
	Instead Value  `json:"instead"`
	By      Actor  `json:"by"`
	Reason  string `json:"reason,omitempty"`
}

// Narrowed says that a person wants a smaller change than the one that is proposed; with the proposed value itself,
// that it should be as it was. Whether the person may is checked before. The engine works the step out again.
type Narrowed struct {
	Step string
	// Digest is the plan's, as the person saw it.
	Digest string
	To     Value
	By     Actor
	Reason string
	// Paused covers the pool at that moment; nil: nothing does.
	Paused *Pause
}

// Kind names the event.
func (Narrowed) Kind() EventKind { return KindNarrowed }

// Narrowing is what a person chose for a kind of step while the present diagnosis is asked about; false when nobody
// did.
func (i Incident) Narrowing(kind StepKind) (Narrowing, bool) {
	n := slices.IndexFunc(i.Narrowings, func(n Narrowing) bool { return n.Kind == kind })
	if n < 0 {
		return Narrowing{}, false
	}
	return i.Narrowings[n], true
}

// Holds says whether a step is the one that a person chose.
func (n Narrowing) Holds(s Step) bool {
	return s.Kind == n.Kind && s.Target.Key() == n.Target && s.From == n.From && s.To == n.To
}

// Chosen is the chosen value as a number, for a StepRequest.
func (n Narrowing) Chosen() int64 {
	v, _ := n.To.whole()
	return v
}

// AskedValue is the value of the step of a kind that people are asked about, as the bot proposed it; 0 when there is
// none.
func (i Incident) AskedValue(kind StepKind) int64 {
	if i.Plan == nil {
		return 0
	}
	n := slices.IndexFunc(i.Plan.Steps, func(s Step) bool { return s.Kind == kind && s.State == StepProposed })
	if n < 0 {
		return 0
	}
	return i.OfferedValue(i.Plan.Steps[n])
}

// OfferedValue is the value that the bot itself proposed for a step, where a person may have chosen a smaller change; 0
// when it is no whole number.
func (i Incident) OfferedValue(s Step) int64 {
	to := s.To
	if n, is := i.Narrowing(s.Kind); is && n.Holds(s) {
		to = n.Instead
	}
	v, _ := to.whole()
	return v
}

// Narrowable says between which values a person may choose one for a step instead of its own: more than From (or less,
// for a step that lowers), at most as far as To. ok is false when there is nothing between.
func (i Incident) Narrowable(s Step) (from, to int64, ok bool) {
	if n, is := i.Narrowing(s.Kind); is && n.Holds(s) {
		s.To = n.Instead
	}
	from, okFrom := s.start().whole()
	to, okTo := s.To.whole()
	if !okFrom || !okTo || !s.Executable() || max(from-to, to-from) < 2 {
		return 0, 0, false
	}
	return from, to, true
}

// start is the value that a step starts from: what an absent one is taken to mean, if that is known.
func (s Step) start() Value {
	if !s.From.Present {
		return s.Assumed
	}
	return s.From
}

func (v Value) whole() (int64, bool) {
	n, err := strconv.ParseInt(v.Text, 10, 64)
	return n, err == nil && v.Present
}

func (a *applier) narrowed(e Narrowed) error {
	s, ok := a.inc.Step(e.Step)
	switch {
	case a.inc.Plan == nil || e.Digest != a.inc.Plan.Digest:
		return refusal(Note{Kind: RefusedPlanChanged})
	case !ok:
		return refusal(Note{Kind: RefusedStepGone})
	case s.State != StepProposed:
		return stepNotOpen(a.inc, s)
	case !a.inc.Plan.ExpiresAt.IsZero() && !a.now.Before(a.inc.Plan.ExpiresAt):
		return refusal(Note{Kind: RefusedExpired})
	case e.Paused != nil:
		return paused(*e.Paused)
	}
	chosen, whole := e.To.whole()
	if whole { // "0160" is 160
		e.To = Set(strconv.FormatInt(chosen, 10))
	}
	if e.To == s.To {
		return refusal(Note{Kind: RefusedSameValue, Value: e.To})
	}
	from, to, ok := a.inc.Narrowable(s)
	further := to > from && (chosen <= from || chosen > to) || to < from && (chosen >= from || chosen < to)
	if !ok || !whole || further {
		return refusal(Note{Kind: RefusedNotNarrower, Value: e.To, Step: s.Title, From: s.start(), To: a.proposed(s)})
	}
	n := Narrowing{
		Kind: s.Kind, Target: s.Target.Key(), From: s.From, To: e.To, Instead: a.proposed(s), By: e.By, Reason: e.Reason,
	}
	a.dropNarrowing(s.Kind)
	a.inc.Plan.Rechosen = true
	if n.To != n.Instead {
		a.inc.Narrowings = append(a.inc.Narrowings, n)
	}
	a.by(e.By, s.ID, Note{Kind: NoteNarrowed, By: e.By, Step: s.Title, Value: e.To, Why: e.Reason})
	return nil
}

// proposed is the value that the bot itself proposes for a step.
func (a *applier) proposed(s Step) Value {
	if n, ok := a.inc.Narrowing(s.Kind); ok && n.Holds(s) {
		return n.Instead
	}
	return s.To
}

func (a *applier) dropNarrowing(kind StepKind) {
	a.inc.Narrowings = slices.DeleteFunc(a.inc.Narrowings, func(n Narrowing) bool { return n.Kind == kind })
}

// keepNarrowings drops what people chose for steps that an investigation does not propose that way, and says why. What
// has been done needs no word.
func (a *applier) keepNarrowings(e Investigated) {
	same := a.sameDiagnosis(e)
	for _, n := range slices.Clone(a.inc.Narrowings) {
		if same && slices.ContainsFunc(e.Steps, n.Holds) {
			continue
		}
		a.dropNarrowing(n.Kind)
		if slices.ContainsFunc(a.inc.Applied(), func(s Step) bool { return s.Kind == n.Kind && s.To == n.To }) {
			continue
		}
		a.step("", Note{Kind: NoteNotNarrowed, By: n.By, Value: n.To, Cause: a.whyNot(n, e)})
	}
}

// whyNot says why a choice is not proposed any more.
func (a *applier) whyNot(n Narrowing, e Investigated) Reason {
	if why := e.NotNarrowed[n.Kind]; why.Kind != "" {
		return why
	}
	if !a.sameDiagnosis(e) {
		other := Reason{Kind: ReasonDiagnosis}
		if e.Diagnosis != nil {
			other.Instead = e.Diagnosis.Summary
		}
		return other
	}
	for _, s := range e.Steps {
		if s.Kind == n.Kind && s.Target.Key() == n.Target && s.From != n.From {
			return Reason{Kind: ReasonDrift, Target: s.Target, Was: n.From, Value: s.From}
		}
	}
	return Reason{Kind: ReasonReplaced}
}
