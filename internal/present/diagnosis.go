package present

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Subject is what a condition is about, by its short name: "TTFT p95". A condition of an older version has the name of
// its reading.
func Subject(inc incident.Incident, c incident.Condition) string {
	r := inc.Readings[c.Signal]
	return cmp.Or(c.Label, r.Short, r.Title, c.Signal, "Condition")
}

// Expected is what a condition compares its value with: "target 500 ms", "limit 90%", "below 50%", and "needs below
// 50%" where that does not hold. Limits and targets are what a bad value is beyond, and stay as they are: what moves
// with another reading is neither, nor is what a rule asks for beside the limit of the signal, or a metric would have
// two limits in one incident. r is the reading of the signal: Compared. Empty when there is nothing to compare with, as
// where a condition asks for a value and there is one.
func Expected(c incident.Condition, r incident.Reading) string {
	holds, d := c.Truth == incident.True, r.Direction
	switch {
	case c.Relation == incident.RelationPresent && !holds:
		return "needs data"
	case c.Relation == incident.RelationAbsent && !holds:
		return "needs no data"
	case c.Threshold == "":
		return ""
	case c.ThresholdFrom != incident.OriginReading && (c.Relation == "" || beyond(c.Relation, d) && limits(r, c)):
		// Without a relation it is of an older version.
		return limit(d, c.ThresholdFrom, c.Threshold, c.Relation == incident.RelationAtMost)
	case !holds:
		return "needs " + relation(c)
	}
	return relation(c)
}

// Compared is the reading that a condition is about, with the limit of its signal. After a change the newest reading
// has none: then it is the one of the diagnosis, a target before a limit and one that is exceeded before others.
func Compared(inc incident.Incident, c incident.Condition) incident.Reading {
	r := inc.Readings[c.Signal]
	if r.Threshold != nil || inc.Diagnosis == nil {
		return r
	}
	best := 0
	for _, o := range inc.Diagnosis.Evidence {
		if o.Signal != c.Signal || o.ThresholdFrom == incident.OriginReading || o.ThresholdValue.Unit == "" ||
			!beyond(o.Relation, r.Direction) {
			continue
		}
		rank := 1
		if o.Truth == incident.True {
			rank = 2
		}
		if o.ThresholdFrom == incident.OriginSLO {
			rank += 2
		}
		if rank > best {
			best, r.ThresholdFrom = rank, o.ThresholdFrom
			r.Threshold, r.Unit = new(o.ThresholdValue.Value), o.ThresholdValue.Unit
		}
	}
	return r
}

// limits says that a condition compares with the limit that a reading has, if it has one.
func limits(r incident.Reading, c incident.Condition) bool {
	return r.Threshold == nil || incident.FormatValue(*r.Threshold, r.Unit) == c.Threshold
}

func relation(c incident.Condition) string {
	target := ""
	if c.ThresholdFrom == incident.OriginSLO {
		target = "target "
	}
	switch c.Relation {
	case incident.RelationAbove:
		return "above " + target + c.Threshold
	case incident.RelationAtLeast:
		return target + "≥ " + c.Threshold
	case incident.RelationBelow:
		return "below " + target + c.Threshold
	case incident.RelationAtMost:
		return target + "≤ " + c.Threshold
	case incident.RelationPresent, incident.RelationAbsent:
	}
	return c.Threshold // of a newer version
}

// Bad says that a condition holds because a value is bad: it is beyond a limit or a target. Others hold because a value
// is as it should be, and rule something out. d is the direction of the signal.
func Bad(c incident.Condition, d incident.Direction) bool {
	return c.Truth == incident.True && c.Threshold != "" && (c.Relation == "" || beyond(c.Relation, d))
}

// beyond says whether a condition holds for values that are bad.
func beyond(r incident.Relation, d incident.Direction) bool {
	switch d {
	case incident.HigherIsWorse:
		return r == incident.RelationAbove || r == incident.RelationAtLeast
	case incident.LowerIsWorse:
		return r == incident.RelationBelow || r == incident.RelationAtMost
	case incident.Neutral:
	}
	return false
}

// Unmatched says that no playbook is for some of the alerts, so that all playbooks were evaluated; empty where each
// alert has one.
func Unmatched(d incident.Diagnosis) string {
	if len(d.Unmatched) == 0 {
		return ""
	}
	return "No playbook matches " + Clip(Line(strings.Join(Capped(slices.Clone(d.Unmatched), 3), ", ")), 150) +
		"; all were evaluated"
}

// AllExpected is what conditions on one signal compare it with, each different one once.
func AllExpected(conditions []incident.Condition, r incident.Reading) []string {
	var out []string
	for _, c := range conditions {
		if text := Expected(c, r); text != "" && !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out
}

// MainExpected is what a person compares a reading with, of all that conditions on it ask for: its limit or target,
// else the shortest. Empty where they ask for nothing to compare with.
func MainExpected(conditions []incident.Condition, r incident.Reading) string {
	all := AllExpected(conditions, r)
	if own := Limit(r); slices.Contains(all, own) {
		return own
	}
	if len(all) == 0 {
		return ""
	}
	return slices.MinFunc(all, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
}

// Nevers are what would make it worse, each as what follows "Do not".
func Nevers(all []incident.Never) []string {
	out := make([]string, len(all))
	for n, no := range all {
		out[n] = no.String()
	}
	return out
}
