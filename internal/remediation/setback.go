package remediation

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const (
	// parkAfter is how many setbacks in a row park an incident.
	parkAfter = 5
	// parkedFor is how long a parked incident waits. What stands may have to be taken back, so it is never left alone for
	// good.
	parkedFor = time.Hour
)

// takeOver notes, before anything else is done, that the turn before was cut off: when it is this incident that ends
// the process each time, the count grows. goOn is false when the incident waits.
func (e *Engine) takeOver(ctx context.Context, c *incident.Claimed) (goOn bool, err error) {
	if setbacks(c.Incident) >= e.cfg.FreeCuts {
		return false, e.setBack(ctx, *c, incident.SetbackLost, "")
	}
	t := &turn{inc: c.Incident, fence: c.Fence, now: e.deps.Now()}
	err = e.commit(ctx, t, incident.SetBack{How: incident.SetbackLost}, extra{keep: true})
	c.Incident = t.inc
	return err == nil, unlessFenced(err)
}

// setBack notes a setback on the incident and gives the claim back until it is tried again. The turn itself may still
// be running.
func (e *Engine) setBack(ctx context.Context, c incident.Claimed, how incident.SetbackKind, detail string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.Timing.Retry)
	defer cancel()
	inc, err := e.deps.Incidents.Incident(ctx, c.Incident.ID)
	if err != nil {
		return fmt.Errorf("note a setback: %w", err)
	}
	if !inc.Open() {
		return nil
	}
	t := &turn{inc: inc, fence: c.Fence, now: e.deps.Now()}
	count := setbacks(inc) + 1
	ev := incident.SetBack{How: how, Detail: detail, RetryAt: t.now.Add(setbackDelay(count)), Parked: count >= parkAfter}
	err = e.deps.Panics.Do(ctx, PartIncidents, func() error { return e.commit(ctx, t, ev, extra{}) },
		slog.String("incident", inc.ID))
	if unlessFenced(err) != nil {
		return fmt.Errorf("note a setback: %w", err)
	}
	return nil
}

// recovered forgets the setbacks after a turn that went well.
func (e *Engine) recovered(ctx context.Context, id string) error {
	for range staleTries {
		inc, err := e.deps.Incidents.Incident(ctx, id)
		if err != nil || inc.Setback == nil || !inc.Open() {
			return err
		}
		now := e.deps.Now()
		res, err := applied(inc, now, incident.SetBack{})
		if err != nil {
			return err
		}
		err = e.deps.Incidents.Commit(ctx, incident.Change{
			Incident: res.Incident, Expect: inc.Version, Entries: res.Entries, Render: res.Render,
			DueAt: e.cfg.Timing.Due(res.Incident, now),
		})
		if !errors.Is(err, incident.ErrStale) {
			return err
		}
	}
	return nil // the next turn does it
}

func setbacks(inc incident.Incident) int {
	if inc.Setback == nil {
		return 0
	}
	return inc.Setback.Count
}

// setbackDelay is how long an incident waits after so many setbacks in a row: a minute, then twice as long each time.
func setbackDelay(count int) time.Duration {
	if count >= parkAfter {
		return parkedFor
	}
	return time.Minute << (count - 1)
}

func unlessFenced(err error) error {
	if errors.Is(err, incident.ErrFenced) {
		return nil
	}
	return err
}

// shorten bounds foreign text in an incident, and puts it on one line: proxies answer with whole pages.
func shorten(text string, most int) string {
	text = strings.Join(strings.Fields(text), " ")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}
