package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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
		return errors.New(durationHint(n))
	}
	*d = duration(v)
	return nil
}

var (
	bareNumber = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	days       = regexp.MustCompile(`^([0-9]+) ?(d|days?)$`)
)

// durationHint says how to write what was meant. A number without a unit could be seconds or milliseconds, so both are shown and none is chosen.
func durationHint(n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return "a duration is wanted here, such as 500ms, 30s or 5m"
	}
	if bareNumber.MatchString(n.Value) {
		return fmt.Sprintf("%q has no unit; write %sms for milliseconds, %ss for seconds, %sm for minutes", n.Value, n.Value, n.Value, n.Value)
	}
	if m := days.FindStringSubmatch(n.Value); m != nil {
		if count, err := strconv.Atoi(m[1]); err == nil {
			return fmt.Sprintf("%q is not a duration; write %dh", n.Value, 24*count)
		}
	}
	if joined := strings.ReplaceAll(n.Value, " ", ""); joined != n.Value {
		if _, err := time.ParseDuration(joined); err == nil {
			return fmt.Sprintf("%q is not a duration; write %s, without a space", n.Value, joined)
		}
	}
	return fmt.Sprintf("%q is not a duration; write it with a unit (ms, s, m, h), such as 500ms, 30s or 5m", n.Value)
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
