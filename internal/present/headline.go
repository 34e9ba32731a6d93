package present

import (
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Level is how bad it is. Each surface has its own sign for it; the headline says the same in words.
type Level string

// The levels. LevelEnded is over without having been seen to recover. LevelUnknown is that of a pool of which nothing
// is known; no incident has it.
const (
	LevelCritical Level = "critical"
	LevelWarning  Level = "warning"
	LevelHealthy  Level = "healthy"
	LevelResolved Level = "resolved"
	LevelEnded    Level = "ended"
	LevelUnknown  Level = "unknown"
)

// LevelOf is how bad an incident is.
func LevelOf(inc incident.Incident) Level {
	switch {
	case inc.State == incident.StateClosed && Resolved(inc):
		return LevelResolved
	case inc.State == incident.StateClosed:
		return LevelEnded
	case inc.Pool == "":
		return LevelWarning // nobody has looked how bad it is
	case FollowUp(inc):
		return LevelWarning // the cause needs a human, however the metrics are
	case !inc.HealthySince.IsZero(), justLifted(inc):
		if _, many := turnsAway(inc); many {
			return LevelWarning
		}
		return LevelHealthy
	case inc.Diagnosis != nil && inc.Diagnosis.Level == incident.LevelWarning:
		return LevelWarning
	case inc.Severity() == "critical", inc.Severity() == "page":
		return LevelCritical
	}
	return LevelWarning
}

// Headline says what happened and how bad it is; after a change, what is going on. It is one line of a phone where the
// names allow it.
func Headline(inc incident.Incident) string { return About(inc) + ": " + News(inc) }

// About is the pool, or the alerts that lead to none.
func About(inc incident.Incident) string {
	if inc.Pool == "" {
		return firstNamed(Leading(inc))
	}
	return Clip(Line(inc.Pool), 60)
}

// Leading are the names of the alerts that fire, or of those that did when none does any more.
func Leading(inc incident.Incident) []string {
	if names := inc.FiringNames(); len(names) > 0 {
		return names
	}
	return inc.AlertNames()
}

// firstNamed is the first name, and how many others there are. The order is by name, so that it is no news when one
// alert fires longer than another.
func firstNamed(names []string) string {
	if len(names) == 0 {
		return "alerts"
	}
	text := Clip(Line(slices.Min(names)), 60)
	if n := len(names) - 1; n > 0 {
		text += " and " + Counted(n, "other")
	}
	return text
}

// News is what the headline says of the pool.
func News(inc incident.Incident) string {
	switch {
	case inc.OnlyTest() && inc.State == incident.StateClosed:
		return "test alert ended"
	case inc.OnlyTest():
		return "test alert arrived, nothing to do"
	case inc.Drill != nil && inc.State == incident.StateClosed:
		return drillNews(inc)
	case inc.Pool == "" && inc.State == incident.StateClosed:
		return "resolved after " + incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt)) + " (no pool configured)"
	case inc.Pool == "":
		return "no pool configured"
	case Resolved(inc) && inc.State == incident.StateClosed:
		return "resolved in " + incident.FormatDuration(inc.HealthySince.Sub(inc.OpenedAt))
	case inc.State == incident.StateClosed:
		return "closed after " + incident.FormatDuration(inc.ClosedAt.Sub(inc.OpenedAt)) + unchangedText(inc)
	case inc.State.Running():
		return underway(inc)
	case !inc.HealthySince.IsZero():
		return healthyNews(inc)
	}
	if s, ok := Offered(inc); ok {
		var verdict incident.Verdict
		if v := s.Verification; v != nil {
			verdict = v.Verdict
		}
		return Change(s) + " " + failed(verdict)
	}
	switch s, ok := Latest(inc); {
	case !ok:
	case s.State == incident.StepFailed:
		return "couldn't " + Change(s)
	case s.State == incident.StepReverted:
		return Change(s) + " was reverted"
	case justLifted(inc):
		return Change(s) + " reverted as planned"
	case s.State == incident.StepUndone && Stale(inc):
		return Change(s) + " rolled back"
	case inc.OnlyDryRun(s) && s.State == incident.StepApplied:
		return "dry run passed"
	case s.State == incident.StepApplied && improved(s) && inc.State == incident.StateDeciding:
		return "better, not fixed" + beyondStill(inc)
	case s.State == incident.StepApplied && Stale(inc):
		return Change(s) + " is in place"
	}
	return trouble(inc)
}

// justLifted says that the latest change was reverted as promised, and that nothing was read since: it was healthy, and
// nothing says that it isn't.
func justLifted(inc incident.Incident) bool {
	s, ok := Latest(inc)
	return ok && s.Lifted() && Stale(inc)
}

// unchangedText says of a closed incident that nothing was done to it.
func unchangedText(inc incident.Incident) string {
	if !Changed(inc) {
		return ", no change made"
	}
	return ""
}

// trouble is what the playbook says of the diagnosis, else the worst reading with its limit, else the alerts: a cause
// without a number says less.
func trouble(inc incident.Incident) string {
	if text := diagnosed(inc); text != "" && !Outdated(inc) {
		return text
	}
	if text := worstText(inc); text != "" {
		return text
	}
	fires := " firing"
	if inc.FiringCount() == 0 && len(inc.Alerts) > 0 {
		fires = " resolved, not confirmed by metrics"
	}
	if unexplained(inc) {
		fires += ", no diagnosis"
	}
	return firstNamed(Leading(inc)) + fires
}

// diagnosed is what the playbook says of the diagnosis, with the readings of the moment.
func diagnosed(inc incident.Incident) string {
	if inc.Diagnosis == nil {
		return ""
	}
	return Line(inc.Diagnosis.Headline)
}

// unexplained says that somebody looked, and found neither a cause nor a reading that is out of its limits.
func unexplained(inc incident.Incident) bool {
	return inc.Diagnosis == nil && !inc.ReadAt.IsZero() && worstText(inc) == ""
}

// beyondStill is the worst reading after a change that helped; empty when none is out of its limits.
func beyondStill(inc incident.Incident) string {
	if text := worstText(inc); text != "" {
		return ". " + text
	}
	return ""
}

// worstText is the worst reading of now with its limit; empty when there is none.
func worstText(inc incident.Incident) string {
	r, ok := Worst(inc)
	if !ok || Stale(inc) {
		return ""
	}
	text := Clip(Line(r.Label()), 50) + " " + r.Text()
	if limit := Limit(r); limit != "" {
		text += " (" + limit + ")"
	}
	return text
}

func improved(s incident.Step) bool {
	return s.Verification != nil && s.Verification.Verdict == incident.VerdictImproved
}

// underway is what is being done, while readings of before would say nothing about now.
func underway(inc incident.Incident) string {
	a := inc.Active
	if a == nil {
		return string(inc.State)
	}
	s, ok := inc.Step(a.Step)
	switch {
	case !ok:
		return string(inc.State)
	case a.Op == incident.OpUndo && a.By.Kind == incident.ActorBot:
		return "reverting " + Change(s) + " as planned"
	case a.Op == incident.OpUndo:
		return "rolling back " + Change(s)
	case a.Phase == incident.PhaseRollout && s.Kind.RollsOut():
		return "rolling out " + Change(s)
	case a.Phase == incident.PhaseRollout:
		return Change(s) + " written, not live yet"
	case a.Phase == incident.PhaseSettle:
		return Change(s) + " is live"
	case a.Phase == incident.PhaseVerify && inc.DryRun:
		return "dry run of " + Change(s)
	case a.Phase == incident.PhaseVerify:
		return soFar(s, a) + Change(s)
	}
	return "applying " + Change(s)
}

// soFar is what the checks after a change say until now.
func soFar(s incident.Step, a *incident.Active) string {
	switch v := s.Verification; {
	case v == nil || a.Readings == 0:
		return "checking "
	case v.Verdict == incident.VerdictImproved, v.Verdict == incident.VerdictRecovered:
		return "improving after "
	case v.Verdict == incident.VerdictNotEnough:
		return "not enough yet after "
	case v.Verdict == incident.VerdictWorse:
		return "maybe worse after "
	}
	return "no effect yet of "
}

func healthyNews(inc incident.Incident) string {
	if r, many := turnsAway(inc); many {
		return "fast again, but " + r.Text() + " of requests are rejected"
	}
	if text := diagnosed(inc); text != "" && FollowUp(inc) {
		return text + ", healthy again"
	}
	if active := inc.Mitigations(); len(active) > 0 {
		return "recovered, temporary " + noun(active[len(active)-1]) + " in place"
	}
	if s, ok := Latest(inc); ok && s.State == incident.StepApplied && !inc.OnlyDryRun(s) {
		return "recovered after " + Change(s)
	}
	if inc.ClosesOnResolve() && inc.ChangedAt.IsZero() {
		return "healthy, but " + firstNamed(Leading(inc)) + stillFiring
	}
	return "healthy again"
}

// StillFiring says of an open incident that has recovered which alerts fire all the same, for where no alerts are
// listed: ", vLLMHighTTFT still firing". Empty where the news say it, or none does.
func StillFiring(inc incident.Incident) string {
	if !inc.Open() || inc.HealthySince.IsZero() || len(inc.FiringNames()) == 0 ||
		strings.HasSuffix(News(inc), stillFiring) {
		return ""
	}
	return ", " + firstNamed(Leading(inc)) + stillFiring
}

const stillFiring = " still firing"

// noun is what a step leaves behind.
func noun(s incident.Step) string {
	if s.Kind == incident.StepThrottle {
		return "throttle"
	}
	return "change"
}

// Cause is the first sentence of a summary: the main cause.
func Cause(summary string) string {
	first, rest, more := strings.Cut(Line(summary), ". ")
	if more && rest != "" {
		return first + "."
	}
	return Line(summary)
}
