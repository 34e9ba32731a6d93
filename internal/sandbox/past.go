package sandbox

import (
	"context"
	"fmt"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// load is what clients ask for before anything breaks: less than four requests a second, which two replicas answer
// easily. Most of each prompt is one of four instructions that others begin with, too. What is left of a prompt takes
// so little that on a calm fleet no more than a few of a hundred tokens wait for other prompts for longer than the
// shipped rule for slow tokens allows, and that a throttled burst is answered well within the targets.
func load() (fleet.Scenario, error) {
	s, err := fleet.ScenarioNamed("healthy")
	s.Load.Rate, s.Load.Random = 1.8, true
	s.Load.Prompt, s.Load.Generation, s.Load.CachedShare, s.Load.Prefixes = 7000, 150, .92, 4
	s.Engine.KVTokens, s.Engine.PerPromptToken = 600_000, 45*time.Microsecond
	return s, err
}

// past is played in fast motion before anybody looks. What the bot calls usual is from then: its signals look at how it
// was half an hour ago.
const past = 32 * time.Minute

// remember lets the past go by and Prometheus scrape it: often enough that each moment has a sample, and twice before
// the moments at which the signals of what is usual look back over a window. What charts show of the past, which are
// 20 windows, has two samples in each.
func (w *world) remember(ctx context.Context) error {
	const (
		step, before = 9 * time.Second, 2 * time.Second
		marks        = 5 * time.Minute
		shown        = 21 * ruleWindow
	)
	charted := time.Now().Add(-shown)
	for at, end := w.meter.epoch, time.Now(); ; {
		next := at.Add(step)
		if at.After(charted) {
			next = at.Add(ruleWindow / 3)
		}
		if mark := at.Truncate(marks).Add(marks - before); at.Before(mark) && mark.Before(next) {
			next = mark
		}
		if next.After(end) {
			return nil
		}
		w.fleet.Advance(next.Sub(at))
		if err := w.monitor.scrape(ctx, func() time.Time { return next }); err != nil {
			return fmt.Errorf("play the past: %w", err)
		}
		w.meter.take(next, w.fleet.State(), replicas)
		at = next
	}
}
