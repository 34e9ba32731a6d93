package app

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// ReportSource is what a report is made of: a store, or a reader of one.
type ReportSource interface {
	EachOpened(ctx context.Context, o incident.Opened,
		visit func(inc incident.Incident, posted time.Time) error) ([]string, error)
	OpenAt(ctx context.Context, o incident.Opened) (int, error)
	Pauses(ctx context.Context) ([]incident.Pause, error)
}

// Report makes the report of a period. It reads incidents one after the other, and no more than a few of them are in
// memory at a time.
func Report(ctx context.Context, from ReportSource, p report.Period, now time.Time) (report.Report, error) {
	b := report.New(p, now)
	unreadable, err := from.EachOpened(ctx, p.Opened(), func(inc incident.Incident, posted time.Time) error {
		b.Add(inc, posted)
		return nil
	})
	if err != nil {
		return report.Report{}, err
	}
	r := b.Report()
	r.Unreadable = unreadable
	if r.Earlier, err = from.OpenAt(ctx, p.Opened()); err != nil {
		return report.Report{}, err
	}
	pauses, err := from.Pauses(ctx)
	if err != nil {
		return report.Report{}, err
	}
	for _, one := range pauses {
		if p.Pool == "" || one.Covers(p.Pool) {
			r.Pauses = append(r.Pauses, one)
		}
	}
	if kept := now.Add(-store.DefaultKeep.Incidents); p.Since.Before(kept) {
		r.KeptSince = kept
	}
	return r, nil
}

// report is Report for the API and the pages, one at a time: each reads every incident of its period.
func (a *App) report(ctx context.Context, p report.Period) (report.Report, error) {
	select {
	case a.reporting <- struct{}{}:
		defer func() { <-a.reporting }()
	case <-ctx.Done():
		return report.Report{}, context.Cause(ctx)
	}
	return Report(ctx, a.store, p, a.store.Now())
}
