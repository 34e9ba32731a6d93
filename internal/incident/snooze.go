package incident

import (
	"slices"
	"time"
)

// MaxSnooze is the longest snooze: a week without a question is a decision for the configuration.
const MaxSnooze = 7 * 24 * time.Hour

// Snooze says that a diagnosis of a pool is not asked about for a time. The next incident of the pool takes it over.
type Snooze struct {
	Diagnosis string    `json:"diagnosis"`
	Until     time.Time `json:"until"`
	By        Actor     `json:"by"`
	Reason    string    `json:"reason,omitempty"`
}

// SnoozesAt are the snoozes in force at a time.
func (i Incident) SnoozesAt(now time.Time) []Snooze {
	return slices.DeleteFunc(slices.Clone(i.Snoozes), func(s Snooze) bool { return !now.Before(s.Until) })
}

// snoozed is the snooze of a diagnosis that is in force.
func (a *applier) snoozed(diagnosis string) (Snooze, bool) {
	all := a.inc.SnoozesAt(a.now)
	if n := slices.IndexFunc(all, func(s Snooze) bool { return s.Diagnosis == diagnosis }); n >= 0 {
		return all[n], true
	}
	return Snooze{}, false
}

// mayNotSnooze says why a decision that asks for a snooze is refused: only a denial of everything has one, of a
// positive and bounded length.
func mayNotSnooze(d Decision) bool {
	return d.Snooze != 0 && (!d.all() || d.Snooze < 0 || d.Snooze > MaxSnooze)
}

// snooze keeps the present diagnosis from being asked about.
func (a *applier) snooze(d Decision) {
	a.wake(a.inc.Plan.Diagnosis)
	s := Snooze{Diagnosis: a.inc.Plan.Diagnosis, Until: a.now.Add(d.Snooze), By: d.By, Reason: d.Reason}
	a.inc.Snoozes = append(a.inc.SnoozesAt(a.now), s)
	a.mute(MutedSnoozed, s.note())
}

// wake ends the snooze of a diagnosis.
func (a *applier) wake(diagnosis string) {
	a.inc.Snoozes = slices.DeleteFunc(a.inc.Snoozes, func(s Snooze) bool { return s.Diagnosis == diagnosis })
}

// endSnooze asks again about what was snoozed until now. Who snoozed it said no: policy does not say yes in their
// place.
func (a *applier) endSnooze() {
	if a.inc.MuteReason != MutedSnoozed || a.inc.Diagnosis == nil {
		return
	}
	if _, still := a.snoozed(a.inc.Diagnosis.Name); still {
		return
	}
	a.inc.MuteReason = NotMuted
	for _, s := range a.inc.Snoozes {
		if s.Diagnosis == a.inc.Diagnosis.Name {
			a.inc.AskedBy = &s.By
		}
	}
}

func (s Snooze) note() Note { return Note{Kind: NoteSnoozed, By: s.By, At: s.Until, Why: s.Reason} }

// MuteReason says why an open incident asks nothing.
type MuteReason string

// The reasons why an open incident asks nothing.
const (
	NotMuted     MuteReason = ""
	MutedDenied  MuteReason = "denied"
	MutedExpired MuteReason = "expired"
	MutedDryRun  MuteReason = "dry-run"
	MutedSnoozed MuteReason = "snoozed"
)
