package remediation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// How the pools of alerts without one are looked for. Each question is a query and some reads of Kubernetes, and
// anybody who can post to the webhook can name any number of places. So one turn asks about so many places only, those
// that were never asked about first, then those that have waited the longest; while some wait for their first time, the
// next turn follows after Timing.Sweep. An answer that leads nowhere holds for Timing.Watch, no answer for
// Timing.Retry.
const placesPerTurn = 50

// An incident without a pool is shown when every alert has been looked for, so that people don't read of one that is
// moved to its pool a moment later. It is shown before when that takes longer than showWithin. When nobody answers, it
// is asked askTries times before: a late incident is worse than an unroutable one that people see.
const (
	showWithin = 30 * time.Second
	askTries   = 5
	// askShare is the part of a lease that the questions of one turn get, so that what they found is still moved.
	askShare = 3
)

// strays remembers when places may be asked about again. It is this process' own: another one asks anew.
type strays struct {
	mu   sync.Mutex
	next map[string]time.Time
}

// waiting are the places that may be asked about now, those that were never asked about first. Other places than these
// are forgotten.
func (s *strays) waiting(places []string, now time.Time) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make(map[string]time.Time, len(places))
	var out []string
	for _, p := range places {
		next, asked := s.next[p]
		if asked {
			kept[p] = next
		}
		if !next.After(now) {
			out = append(out, p)
		}
	}
	s.next = kept
	slices.SortStableFunc(out, func(a, b string) int { return kept[a].Compare(kept[b]) })
	return out
}

func (s *strays) answered(place string, next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next[place] = next
}

// watchUnrouted finds out whether alerts without a pool have one by now, and ends their incident when none of them
// fires any more, or none has been heard of for long.
func (e *Engine) watchUnrouted(ctx context.Context, t *turn) error {
	found := e.seek(ctx, t)
	for _, pool := range slices.Sorted(maps.Keys(found.byPool)) {
		if err := e.move(ctx, t, pool, found.byPool[pool], found.said.of(pool, incident.Delivery{})); err != nil {
			return err
		}
	}
	var why incident.Note
	switch {
	case t.inc.FiringCount() == 0:
		why = incident.Note{Kind: incident.NoteNoneFires}
	case e.unheard(t):
		why = incident.Note{Kind: incident.NoteUnheard, Silent: e.cfg.Timing.Stale}
	default:
		return e.advise(ctx, t, found)
	}
	return e.closeIncident(ctx, t, why)
}

// sought is what one turn has found of the pools of alerts.
type sought struct {
	byPool map[string][]string
	said   routes
	// nowhere are alerts that lead to no pool, as far as is known now.
	nowhere map[string]bool
	// silent says that somebody did not answer, and is asked again before that counts.
	silent bool
}

// seek looks for the pools of alerts that no label leads to one: by their labels first, which is enough when the pool
// is configured now, then by their pods. An alert whose pool is known goes there although the owners above it were not
// answered for; one about which nothing is known waits.
func (e *Engine) seek(ctx context.Context, t *turn) sought {
	found := sought{byPool: map[string][]string{}, said: routes{}, nowhere: map[string]bool{}}
	at := map[string][]incident.Alert{}
	var places []string
	for _, a := range t.inc.Firing() {
		if pool, route := e.router.byLabels(a.Labels); pool != "" {
			found.leads(a, pool, route)
			continue
		}
		place := placeOf(a.Labels)
		if at[place] == nil {
			places = append(places, place)
		}
		at[place] = append(at[place], a)
	}
	asked := &owners{}
	limit := e.cfg.Timing.Lease / askShare
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	patient := t.inc.Unshown && t.now.Sub(t.inc.OpenedAt) < (askTries-1)*e.cfg.Timing.Retry
	for _, place := range e.strays.waiting(places, t.now) {
		if asked.many() >= placesPerTurn || e.deps.Now().Sub(t.now) >= limit || limited.Err() != nil {
			break
		}
		next := t.now.Add(e.cfg.Timing.Watch)
		for _, a := range at[place] {
			pool, route, err := e.poolOf(limited, a, asked)
			switch {
			case pool == "" && limited.Err() != nil:
				route = unansweredRoute(a, "", fmt.Errorf("no answer within %s", limit))
			case err != nil && patient:
				next, found.silent = t.now.Add(e.cfg.Timing.Retry), true
				continue
			case err != nil:
				next, route = t.now.Add(e.cfg.Timing.Retry), unansweredRoute(a, pool, err)
			}
			found.leads(a, pool, route)
		}
		e.strays.answered(place, next)
	}
	return found
}

// leads notes where an alert leads. What leads nowhere is said once.
func (s sought) leads(a incident.Alert, pool string, route incident.Route) {
	switch {
	case pool != "":
		s.byPool[pool] = append(s.byPool[pool], a.Fingerprint)
	case a.Sought:
		return
	default:
		s.nowhere[a.Fingerprint] = true
	}
	s.said.add(pool, route)
}

// poolOf is router.poolOf; what panics over one alert leaves the others alone.
func (e *Engine) poolOf(
	ctx context.Context, a incident.Alert, asked *owners,
) (pool string, route incident.Route, err error) {
	var silent error
	err = e.deps.Panics.Do(ctx, PartIncidents, func() error {
		pool, route, silent = e.router.poolOf(ctx, a.Labels, asked)
		return nil
	}, slog.String("alert", a.Fingerprint))
	if err != nil {
		unknown := incident.Route{Kind: incident.RouteUnknown, Alert: a.Name(), Why: "an internal error"}
		return "", unknown, nil //nolint:nilerr // it is logged
	}
	return pool, route, silent
}

// unsought says whether the pool of an alert is still to be looked for the first time.
func (t *turn) unsought(found sought) bool {
	return slices.ContainsFunc(t.inc.Firing(), func(a incident.Alert) bool {
		return !a.Sought && !found.nowhere[a.Fingerprint]
	})
}

// move hands alerts over to the incident of their pool. One commit does both, so that it happens once, and the version
// of the incident that lets them go names the episode that begins: a pool may be found again and again while that one
// is open.
func (e *Engine) move(ctx context.Context, t *turn, pool string, fingerprints []string, note incident.Note) error {
	for range staleTries {
		alerts := slices.DeleteFunc(t.inc.Firing(),
			func(a incident.Alert) bool { return !slices.Contains(fingerprints, a.Fingerprint) })
		if len(alerts) == 0 {
			return nil // their end came meanwhile
		}
		left, err := applied(t.inc, t.now, incident.Rerouted{Pool: pool, Fingerprints: fingerprints})
		if err != nil {
			return err
		}
		origin := fmt.Sprintf("%s/%d", t.inc.ID, t.inc.Version)
		taken, err := e.outcomeOf(ctx, pool, []news{{
			origin: origin, event: incident.AlertsReceived{
				Alerts: alerts, Note: note, Mode: e.modeOf(pool), Reopen: e.cfg.Timing.Reopen,
			},
		}})
		if err != nil || len(taken.changes) == 0 {
			return err
		}
		letGo := incident.Change{
			Incident: left.Incident, Expect: t.inc.Version, Fence: t.fence, Entries: left.Entries, Render: left.Render,
			DueAt: e.cfg.Timing.Due(left.Incident, t.now),
		}
		err = e.deps.Incidents.Commit(ctx, letGo, taken.changes[0])
		if err == nil {
			e.reportIgnored(ctx, taken.ignored)
			t.inc = left.Incident
			t.inc.Version = letGo.Expect + 1
			return nil
		}
		if !errors.Is(err, incident.ErrStale) && !errors.Is(err, incident.ErrPoolOpen) {
			return fmt.Errorf("move alerts to pool %s: %w", pool, err)
		}
		if t.inc, err = e.deps.Incidents.Incident(ctx, t.inc.ID); err != nil {
			return fmt.Errorf("read incident again: %w", err)
		}
	}
	return fmt.Errorf("move alerts to pool %s: %w, too often", pool, incident.ErrStale)
}
