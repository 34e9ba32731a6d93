package present

import (
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// HealthWord is the health of a pool in a word or two.
func HealthWord(h incident.Health) string {
	switch h {
	case incident.HealthProblem:
		return "problem"
	case incident.HealthNoData:
		return "no data"
	case incident.HealthUnread:
		return "unknown"
	case incident.HealthOverTarget:
		return "over target"
	case incident.HealthOverLimit:
		return "over limit"
	case incident.HealthPartial:
		return "incomplete"
	case incident.HealthNoTraffic:
		return "no traffic"
	case incident.HealthOK:
		return "healthy"
	}
	return string(h)
}

// LevelOfHealth is how bad the health of a pool is. What is not known to be good is not shown as good.
func LevelOfHealth(h incident.Health) Level {
	switch h {
	case incident.HealthProblem, incident.HealthOverTarget:
		return LevelCritical
	case incident.HealthOverLimit:
		return LevelWarning
	case incident.HealthOK:
		return LevelHealthy
	case incident.HealthNoData, incident.HealthUnread, incident.HealthPartial, incident.HealthNoTraffic:
	}
	return LevelUnknown
}

// Measured says in a line what of the readings the health rests on: what is not met, or what is missing. Empty where
// the word says it all.
func Measured(a incident.Assessment, readings map[string]incident.Reading) string {
	switch {
	case len(a.Because) > 0:
		return strings.Join(Because(a, incident.Incident{Readings: readings}), "; ")
	case a.Health == incident.HealthUnread && a.Why != "":
		return "can't be read: " + Clip(Line(a.Why), 160)
	case a.Health == incident.HealthUnread:
		return "not read yet"
	case a.Why != "":
		return Clip(Line(a.Why), 160)
	case a.Health == incident.HealthPartial:
		return "no targets set"
	case a.Health == incident.HealthOK:
		return "within targets"
	}
	return ""
}

// WhyHealth says in a line what the health rests on: the cause, what is not met, or what is missing. inc is the
// incident of the same look. Empty where there is nothing to add.
func WhyHealth(a incident.Assessment, inc incident.Incident) string {
	switch a.Health {
	case incident.HealthOverLimit, incident.HealthPartial:
		return Measured(a, inc.Readings)
	case incident.HealthUnread:
		return a.Why
	case incident.HealthNoData:
		return ""
	case incident.HealthProblem, incident.HealthOverTarget, incident.HealthNoTraffic, incident.HealthOK:
	}
	switch {
	case inc.Diagnosis != nil:
		return incident.CauseWords(inc.Diagnosis.Name)
	case a.Health == incident.HealthOverTarget:
		return "no known cause"
	}
	return ""
}

// Because are the conditions that decided: "TTFT p95 900 ms (target 500 ms)", "E2E p95 no data".
func Because(a incident.Assessment, inc incident.Incident) []string {
	out := make([]string, 0, len(a.Because))
	for _, c := range a.Because {
		text := Subject(inc, c) + " " + c.Seen
		if c.Truth == incident.False {
			text += " (" + limit(inc.Readings[c.Signal].Direction, c.ThresholdFrom, c.Threshold,
				c.Relation == incident.RelationAbove) + ")"
		}
		out = append(out, text)
	}
	return out
}

// Gone says of a pool without metrics since when, and what that can mean. seen is the time of its newest sample, zero
// when it is not known.
func Gone(seen, now time.Time) string {
	text := "No metrics now"
	if !seen.IsZero() {
		text += fmt.Sprintf("; the newest sample is from %s, %s ago", clock(seen), incident.FormatDuration(now.Sub(seen)))
	}
	return text + ". The pods are down, scaled to zero or no longer scraped."
}
