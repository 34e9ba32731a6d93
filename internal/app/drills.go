package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// drillsEvery is how often the schedules are looked at.
const drillsEvery = 15 * time.Second

// planned are the drills of the configuration. Every replica orders each of them, and again after a restart; the store
// begins one for each time.
type planned struct {
	drills []config.Drill
	start  func(context.Context, incident.DrillOrder) (string, error)
	now    func() time.Time
	logger *slog.Logger
	// ordered are the times that this process has ordered already, one for each drill.
	ordered []time.Time
}

func (p *planned) run(ctx context.Context) error {
	tick := time.NewTicker(drillsEvery)
	defer tick.Stop()
	for {
		p.order(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// order orders the drills whose time has come. One that cannot be ordered is tried again until it is too late.
func (p *planned) order(ctx context.Context) {
	if p.ordered == nil {
		p.ordered = make([]time.Time, len(p.drills))
	}
	for n, d := range p.drills {
		at, come, err := d.When.Last(p.now())
		if err == nil && (!come || at.Equal(p.ordered[n])) {
			continue
		}
		id := ""
		if err == nil {
			id, err = p.start(ctx, incident.DrillOrder{
				Pool: d.Pool, Scenario: d.Scenario, Slot: at, By: incident.Actor{Kind: incident.ActorSchedule, ID: d.Scenario},
			})
		}
		if err != nil {
			p.logger.WarnContext(ctx, "a scheduled drill cannot be ordered yet", "pool", d.Pool, "scenario", d.Scenario,
				"err", err)
			continue
		}
		p.ordered[n] = at
		p.logger.InfoContext(ctx, "the time of a scheduled drill has come", "incident", id, "pool", d.Pool, "scenario",
			d.Scenario, "slot", at)
	}
}
