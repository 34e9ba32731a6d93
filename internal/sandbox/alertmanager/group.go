package alertmanager

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/store"
	"github.com/prometheus/common/model"
	"github.com/sethvargo/go-retry"
)

// minTimeout is the least time that Alertmanager gives a delivery with all its attempts.
const minTimeout = 10 * time.Second

// Pauses between two attempts, as Alertmanager's.
const (
	firstPause = 500 * time.Millisecond
	maxPause   = time.Minute
	jitter     = 50 // percent
)

// group is the alerts with the same values of the labels that are grouped by.
type group struct {
	am     *Alertmanager
	labels model.LabelSet
	alerts *store.Alerts
	wait   time.Duration
}

// key is the group as deliveries name it. {} is the route without matchers.
func (g *group) key() string { return "{}:" + g.labels.String() }

// run delivers what there is to tell until everything is resolved and told, or the context ends.
func (g *group) run(ctx context.Context) {
	next := time.NewTimer(g.wait)
	defer next.Stop()
	for !g.alerts.Destroyed() {
		select {
		case <-ctx.Done():
			return
		case now := <-next.C:
			next.Reset(g.am.cfg.GroupInterval)
			g.flush(ctx, now)
		}
	}
	g.am.forget()
}

// flush delivers the group if there is news, and drops what is resolved and told. A group that could not be delivered
// is tried again at its next turn.
func (g *group) flush(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, max(g.am.cfg.GroupInterval, minTimeout))
	defer cancel()
	var all, resolved alert.AlertSlice
	for _, one := range g.alerts.List() {
		kept := *one
		if kept.ResolvedAt(now) {
			resolved = append(resolved, &kept)
		} else {
			kept.EndsAt = time.Time{} // it must not be resolved by the time that passes while it is delivered
		}
		all = append(all, &kept)
	}
	sort.Stable(all)
	if err := g.tell(ctx, all, now); err != nil {
		if ctx.Err() == nil || !errors.Is(err, context.Canceled) {
			g.am.cfg.Logger.WarnContext(ctx, "could not deliver alerts", "group", g.key(), "err", err)
		}
		return
	}
	if err := g.alerts.DeleteIfNotModified(resolved, true); err != nil {
		g.am.cfg.Logger.WarnContext(ctx, "could not drop resolved alerts", "group", g.key(), "err", err)
	}
}

// entry is what was told last about a group.
type entry struct {
	firing, resolved []model.Fingerprint
	at               time.Time
}

// Why a group is told, in Alertmanager's words.
const (
	reasonFirst       = "first notification"
	reasonNew         = "new alerts added"
	reasonResolved    = "some alerts resolved"
	reasonAllResolved = "all alerts resolved"
	reasonRepeat      = "repeat interval elapsed"
)

// news is why the state of a group is to be told; empty when it is not.
func (e *entry) news(now entry, repeat time.Duration) string {
	switch {
	case e == nil || len(e.firing) == 0:
		if len(now.firing) > 0 {
			return reasonFirst
		}
		return ""
	case !within(now.firing, e.firing):
		return reasonNew
	case len(now.firing) == 0:
		return reasonAllResolved
	case !within(now.resolved, e.resolved):
		return reasonResolved
	case e.at.Before(now.at.Add(-repeat)):
		return reasonRepeat
	default:
		return ""
	}
}

func within(some, all []model.Fingerprint) bool {
	return !slices.ContainsFunc(some, func(f model.Fingerprint) bool { return !slices.Contains(all, f) })
}

// tell delivers the alerts if there is news.
func (g *group) tell(ctx context.Context, all alert.AlertSlice, at time.Time) error {
	now := entry{at: at}
	for _, one := range all {
		if one.ResolvedAt(at) {
			now.resolved = append(now.resolved, one.Fingerprint())
		} else {
			now.firing = append(now.firing, one.Fingerprint())
		}
	}
	reason := g.am.last(g.key()).news(now, g.am.cfg.RepeatInterval)
	if reason == "" {
		return nil
	}
	pause := retry.WithCappedDuration(maxPause, retry.WithJitterPercent(jitter, retry.NewExponential(firstPause)))
	var last error
	err := retry.Do(ctx, pause, func(ctx context.Context) error {
		last = g.am.post(ctx, g, all, reason)
		if last != nil && retryable(last) {
			return retry.RetryableError(last)
		}
		return last
	})
	if err != nil {
		if last != nil && !errors.Is(err, last) {
			err = fmt.Errorf("%w: %w", err, last)
		}
		return err
	}
	g.am.note(g.key(), now)
	g.am.cfg.Delivered(Delivery{Group: g.key(), Reason: reason, Firing: len(now.firing), Resolved: len(now.resolved)})
	return nil
}

func (a *Alertmanager) last(key string) *entry {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.told[key]
}

func (a *Alertmanager) note(key string, e entry) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.told[key] = &e
}
