package remediation

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Scenarios are what drills can play. Their readings come from the Collector, by the scenario's name.
type Scenarios interface {
	Scenario(name string) (incident.Scenario, bool)
	Names() []string
}

// StartDrill asks for a drill and returns the ID of its incident when that is stored, so that the drill begins even if
// this process ends. *incident.RefusedError says why there can be none. What comes in between, such as a real alert,
// ends the drill before it begins, and its incident says so. An order with a Slot is refused only there, so that it is
// decided once: one drill begins, or none, however often and by however many replicas this is called.
func (e *Engine) StartDrill(ctx context.Context, o incident.DrillOrder) (string, error) {
	if o.Slot.IsZero() {
		why, err := e.againstDrill(ctx, o)
		switch {
		case err != nil:
			return "", err
		case why.Kind != "":
			return "", present.FillRefusal(&incident.RefusedError{Said: why})
		}
	}
	o.ID = drillID(o, rand.Text())
	if !o.Slot.IsZero() {
		if _, err := e.deps.Incidents.Incident(ctx, o.ID); err == nil || !errors.Is(err, incident.ErrNotFound) {
			return o.ID, err
		}
	}
	_, err := e.deps.Inbox.AddDelivery(ctx, incident.Delivery{
		ReceivedAt: e.deps.Now(), Receiver: "drill", GroupKey: o.Pool, Alerts: []incident.Alert{}, Drill: &o,
	})
	if err != nil {
		return "", fmt.Errorf("store the order of a drill: %w", err)
	}
	return o.ID, nil
}

// drillID is the same for the same scenario, pool and slot; for one that a person started, the seed makes it.
func drillID(o incident.DrillOrder, seed string) string {
	if !o.Slot.IsZero() {
		seed = fmt.Sprintf("%s/%s/%d", o.Scenario, o.Pool, o.Slot.Unix())
	}
	sum := sha256.Sum256([]byte(seed))
	return "drill-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// againstDrill is why no drill can begin on a pool now; the zero Note: one can.
func (e *Engine) againstDrill(ctx context.Context, o incident.DrillOrder) (incident.Note, error) {
	pool, known := e.router.pool(o.Pool)
	if !known {
		return incident.Note{
			Kind: incident.RefusedDrillPool, Pool: o.Pool, Names: strings.Join(e.router.names(), ", "),
		}, nil
	}
	if _, known := e.scenario(o.Scenario); !known {
		return incident.Note{
			Kind: incident.RefusedDrillScenario, Why: o.Scenario, Names: strings.Join(e.scenarioNames(), ", "),
		}, nil
	}
	if e.deps.DryRun == nil {
		return incident.Note{Kind: incident.RefusedDrillNoKubernetes}, nil
	}
	if pool.Mode == incident.ModeObserve {
		return incident.Note{Kind: incident.RefusedDrillMode, Pool: o.Pool, Mode: pool.Mode}, nil
	}
	pause, err := e.pauseOf(ctx, o.Pool)
	if err != nil {
		return incident.Note{}, err
	}
	if pause != nil {
		cause := (&incident.PausedError{Pause: *pause}).Reason()
		return incident.Note{Kind: incident.RefusedDrillPaused, Pool: o.Pool, By: pause.By, Cause: cause}, nil
	}
	for kind, open := range map[incident.NoteKind]func(context.Context, string) (incident.Incident, bool, error){
		incident.RefusedDrillOpen: e.deps.Inbox.OpenIncident, incident.RefusedDrillRunning: e.deps.Inbox.OpenDrill,
	} {
		inc, found, err := open(ctx, o.Pool)
		if err != nil {
			return incident.Note{}, fmt.Errorf("find what is open on pool %q: %w", o.Pool, err)
		}
		if found {
			return incident.Note{Kind: kind, Pool: o.Pool, Why: inc.ID}, nil
		}
	}
	return incident.Note{}, nil
}

func (e *Engine) scenario(name string) (incident.Scenario, bool) {
	if e.deps.Scenarios == nil {
		return incident.Scenario{}, false
	}
	return e.deps.Scenarios.Scenario(name)
}

func (e *Engine) scenarioNames() []string {
	if e.deps.Scenarios == nil {
		return nil
	}
	return e.deps.Scenarios.Names()
}

// drillChange is what an order of a drill does. One that was refused meanwhile leaves an incident that never began and
// that nobody is told of: whoever asked finds it there, and no other replica begins it after all.
func (e *Engine) drillChange(ctx context.Context, o incident.DrillOrder) (incident.Change, bool, error) {
	switch _, err := e.deps.Incidents.Incident(ctx, o.ID); {
	case err == nil:
		return incident.Change{}, false, nil // this order, or another replica's for the same slot
	case !errors.Is(err, incident.ErrNotFound):
		return incident.Change{}, false, err
	}
	why, err := e.againstDrill(ctx, o)
	if err != nil {
		return incident.Change{}, false, err
	}
	now, inc := e.deps.Now(), incident.NewDrill(o, e.deps.Now())
	if why.Kind != "" {
		res, err := applied(inc, now, incident.DrillEnded{Result: incident.DrillNotStarted, NotStarted: why})
		return incident.Change{Incident: res.Incident, Entries: res.Entries}, err == nil, err
	}
	s, _ := e.scenario(o.Scenario)
	inc.Drill.Plays, inc.Drill.Expected = s.Plays, s.Expected
	pool, _ := e.router.pool(o.Pool)
	res, err := applied(inc, now, incident.AlertsReceived{Alerts: drillAlerts(s, o, pool, now)}, incident.DrillStarted{})
	if err != nil {
		return incident.Change{}, false, err
	}
	return e.alertsOutcome(res, 0, now).changes[0], true, nil
}

// drillAlerts are the marked alerts of a drill. Their fingerprints are none that Alertmanager makes.
func drillAlerts(s incident.Scenario, o incident.DrillOrder, pool incident.Pool, now time.Time) []incident.Alert {
	out := make([]incident.Alert, len(s.Alerts))
	for n, a := range s.Alerts {
		labels := maps.Clone(pool.Match)
		if labels == nil {
			labels = map[string]string{}
		}
		labels["alertname"], labels["severity"] = a.Name, a.Severity
		out[n] = incident.Alert{
			Fingerprint: fmt.Sprintf("drill/%s/%d", o.ID, n), Labels: labels, Firing: true, StartsAt: now, SeenAt: now,
			Annotations: map[string]string{"summary": a.Summary},
		}
	}
	return out
}

// drill looks after a drill at the beginning of each of its turns. It ends when a real incident opens on its pool, when
// the pool is gone, and when nothing is asked any more. over says that this turn has ended.
func (e *Engine) drill(ctx context.Context, t *turn) (over bool, err error) {
	_, open, err := e.deps.Inbox.OpenIncident(ctx, t.inc.Pool)
	if err != nil {
		return true, fmt.Errorf("find the open incident of pool %q: %w", t.inc.Pool, err)
	}
	pool, known := e.router.pool(t.inc.Pool)
	result := t.inc.DrillOver()
	switch {
	case open:
		result = incident.DrillInterrupted
	case !known:
		result = incident.DrillStopped
	case result == "" && e.drillWaits(t, pool):
		return true, e.retryLater(ctx, t, e.cfg.Timing.Retry)
	case result == "":
		return false, nil
	}
	end := incident.DrillEnded{Result: result}
	m, found, err := e.deps.Incidents.Message(ctx, t.inc.ID)
	if err != nil {
		return true, err
	}
	if found {
		end.PostedAt = m.PostedAt
	}
	return true, e.commit(ctx, t, end, extra{})
}

// drillWaits says that people are being asked in a drill, and that nothing is due but to see whether a real incident
// has opened.
func (e *Engine) drillWaits(t *turn, pool incident.Pool) bool {
	p := t.inc.Plan
	if t.inc.State != incident.StateDeciding || p == nil || t.inc.ReadAt.IsZero() {
		return false
	}
	t.pool = pool
	return t.now.Before(t.inc.ReadAt.Add(e.cfg.Timing.Refresh)) && t.now.Before(p.ExpiresAt) && len(e.calls(t)) == 0
}

// drillDue is when to look again at a drill that would be due at a time: soon, because a real incident may open, and at
// once when nothing is asked any more.
func (e *Engine) drillDue(inc incident.Incident, now, due time.Time) time.Time {
	switch {
	case inc.Drill == nil || !inc.Open() || inc.Setback != nil:
		return due
	case inc.State == incident.StateWatching:
		return now
	case due.After(now.Add(e.cfg.Timing.Retry)):
		return now.Add(e.cfg.Timing.Retry)
	}
	return due
}
