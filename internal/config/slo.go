package config

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// sloFile is the name of a profile, or targets of one's own.
type sloFile struct {
	Profile string
	Inline  *sloInline
}

type sloInline struct {
	// The built-in profile that provides the targets not set here.
	Profile string `yaml:"profile,omitempty"`
	// Time to first token (TTFT), p95.
	TTFT strictyaml.Duration `yaml:"ttft,omitempty"`
	// Time per output token (TPOT), p95.
	TPOT strictyaml.Duration `yaml:"tpot,omitempty"`
	// Queue time, p95.
	QueueTime strictyaml.Duration `yaml:"queue_time,omitempty"`
	// End-to-end (E2E) latency, p95.
	E2E strictyaml.Duration `yaml:"e2e,omitempty"`
}

// FromYAML reads a text as a profile's name and a mapping as targets.
func (s *sloFile) FromYAML(v strictyaml.Value) error {
	if text, ok := v.Text(); ok {
		s.Profile = text
		return nil
	}
	s.Inline = &sloInline{}
	return v.Decode(s.Inline)
}

// apply puts the targets over those of the profile.
func (i sloInline) apply(slo incident.SLO) incident.SLO {
	for _, f := range []struct {
		to   *float64
		from strictyaml.Duration
	}{{&slo.TTFT, i.TTFT}, {&slo.TPOT, i.TPOT}, {&slo.QueueTime, i.QueueTime}, {&slo.E2E, i.E2E}} {
		if f.from > 0 {
			*f.to = time.Duration(f.from).Seconds()
		}
	}
	return slo
}
