package config

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// duration is written with a unit: 30s, 5m, 24h.
type duration time.Duration

// UnmarshalYAML reads a duration with a unit; a bare number is refused.
func (d *duration) UnmarshalYAML(n *yaml.Node) error {
	v, err := time.ParseDuration(n.Value)
	if n.Kind != yaml.ScalarNode || err != nil {
		return fmt.Errorf("%q is not a duration; write it with a unit, such as 30s or 5m", n.Value)
	}
	*d = duration(v)
	return nil
}

// sloFile is the name of a profile, or targets of one's own.
type sloFile struct {
	Profile string
	Inline  *sloInline
}

type sloInline struct {
	// The built-in profile whose targets hold where none is given here.
	Profile string `yaml:"profile,omitempty"`
	// Time to first token, 95th percentile.
	TTFT duration `yaml:"ttft,omitempty"`
	// Time per output token, 95th percentile.
	TPOT duration `yaml:"tpot,omitempty"`
	// Time in the queue, 95th percentile.
	QueueTime duration `yaml:"queue_time,omitempty"`
	// The whole request, 95th percentile.
	E2E duration `yaml:"e2e,omitempty"`
}

// UnmarshalYAML reads a scalar as a profile's name and a mapping as targets.
func (s *sloFile) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		s.Profile = n.Value
		return nil
	}
	s.Inline = &sloInline{}
	return n.Load(s.Inline, yaml.WithKnownFields())
}

// apply puts the targets over those of the profile.
func (i sloInline) apply(slo incident.SLO) incident.SLO {
	for _, f := range []struct {
		to   *float64
		from duration
	}{{&slo.TTFT, i.TTFT}, {&slo.TPOT, i.TPOT}, {&slo.QueueTime, i.QueueTime}, {&slo.E2E, i.E2E}} {
		if f.from > 0 {
			*f.to = time.Duration(f.from).Seconds()
		}
	}
	return slo
}
