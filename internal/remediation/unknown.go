package remediation

import (
	"context"
	"log/slog"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// unknown are alerts of which the incident at hand does not know, as they have been heard of so far.
type unknown struct {
	known map[string]incident.Alert
	heard []string
	// here are those that the incident at hand knows.
	here map[string]bool
	// first is the first of the news in which an alert fires, -1 when none does. Ignored is what was ignored of those
	// before it: no incident has them.
	first   int
	ignored []incident.IgnoredWords
}

// heard is the news with what was known before of alerts that are not among these.
func (e *Engine) heard(ctx context.Context, all []news, here []incident.Alert) (*unknown, []news, error) {
	u := &unknown{known: map[string]incident.Alert{}, here: map[string]bool{}, first: -1}
	for _, a := range here {
		u.here[a.Fingerprint] = true
	}
	var fingerprints []string
	for _, x := range all {
		for _, a := range x.event.Alerts {
			if !u.here[a.Fingerprint] {
				fingerprints = append(fingerprints, a.Fingerprint)
			}
		}
	}
	if len(fingerprints) == 0 {
		return u, all, nil
	}
	slices.Sort(fingerprints)
	known, err := e.deps.Inbox.EndedAlerts(ctx, slices.Compact(fingerprints))
	if err != nil {
		return nil, nil, err
	}
	for _, a := range known {
		u.known[a.Fingerprint] = a
	}
	out := slices.Clone(all)
	for n := range out {
		fires, ignored := u.hear(&out[n].event)
		switch {
		case u.first >= 0: // an incident has it
		case fires:
			u.first = n
		default:
			u.ignored = append(u.ignored, ignored...)
		}
	}
	return u, out, nil
}

// hear tells an event what was known before of its alerts, and says whether one of them fires, and what says nothing
// new.
func (u *unknown) hear(ev *incident.AlertsReceived) (fires bool, ignored []incident.IgnoredWords) {
	before := map[string]incident.Alert{}
	for _, a := range ev.Alerts {
		old, ok := u.known[a.Fingerprint]
		if u.here[a.Fingerprint] || !ok && a.Firing {
			fires = fires || a.Firing
			continue
		}
		if _, twice := before[a.Fingerprint]; ok && !twice {
			before[a.Fingerprint] = old
		} else if !ok {
			old = incident.Alert{Fingerprint: a.Fingerprint, StartsAt: a.StartsAt}
		}
		now := old.Heard(a, ev.Source)
		u.known[a.Fingerprint] = now
		u.heard = append(u.heard, a.Fingerprint)
		fires = fires || now.Firing
		if why, is := incident.IgnoredOf(now, a); is {
			ignored = incident.Ignore(ignored, ev.Delivery, why, a)
		} else if !ok {
			ignored = incident.Ignore(ignored, ev.Delivery, incident.IgnoredUnknown, a)
		}
	}
	if len(before) > 0 {
		ev.Before = before
	}
	return fires, ignored
}

// ended are those that have ended.
func (u *unknown) ended() []incident.Alert {
	var out []incident.Alert
	slices.Sort(u.heard)
	for _, f := range slices.Compact(u.heard) {
		if a := u.known[f]; !a.Firing {
			out = append(out, a)
		}
	}
	return out
}

// nameLength bounds what the log says of an alert's name, in characters.
const nameLength = 80

// reportIgnored counts what changed nothing although it was accepted, and logs it, one line for each delivery and
// reason. That an alert fires is never passed over below the level of a warning.
func (e *Engine) reportIgnored(ctx context.Context, all []incident.IgnoredWords) {
	for _, x := range all {
		if e.deps.Ignored != nil {
			e.deps.Ignored(x.Why, x.Count)
		}
		level := slog.LevelInfo
		if x.Why.Firing() {
			level = slog.LevelWarn
		}
		var names []string
		for _, a := range x.First {
			names = append(names, present.Clip(present.Line(a.Name()), nameLength)+" "+a.Fingerprint)
		}
		e.deps.Logger.Log(ctx, level, "alerts of a delivery changed nothing", "delivery", x.Delivery, "alerts", x.Count,
			"reason", x.Why, "first", names)
	}
}
