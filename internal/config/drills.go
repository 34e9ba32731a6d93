package config

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/schedule"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Drill is an exercise that the bot starts by the clock.
type Drill struct {
	Scenario, Pool string
	When           schedule.Schedule
}

func (l *loader) drills(all []drillFile, cfg Config) []Drill {
	var out []Drill
	for n, f := range all {
		at := fmt.Sprintf("drills[%d]", n)
		if l.opts.Scenarios != nil && !slices.Contains(l.opts.Scenarios, f.Scenario) {
			l.at(at+".scenario", "%s", strictyaml.NotThere("scenario", f.Scenario, l.opts.Scenarios))
		}
		var names []string
		for _, p := range cfg.Pools {
			names = append(names, p.Name)
			if p.Name == f.Pool && p.Mode == incident.ModeObserve {
				l.at(at+".pool", "%s is in mode observe, in which nobody is asked to decide", f.Pool)
			}
		}
		if !slices.Contains(names, f.Pool) {
			l.at(at+".pool", "%s", strictyaml.NotThere("pool", f.Pool, names))
		}
		when, err := schedule.New(f.Schedule, f.TimeZone)
		if _, zone := errors.AsType[*schedule.ZoneError](err); zone {
			l.at(at+".time_zone", "%v", err)
		} else if err != nil {
			l.at(at+".schedule", "%v", err)
		}
		out = append(out, Drill{Scenario: f.Scenario, Pool: f.Pool, When: when})
	}
	return out
}
