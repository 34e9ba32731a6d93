package playbooks

import (
	"maps"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// targetNames are the fields of an SLO as rules spell them after "slo.".
func targetNames() []string { return []string{"ttft", "tpot", "queue_time", "e2e"} }

// targetLabel is what people call a target.
func targetLabel(name string) string {
	switch name {
	case "ttft":
		return "TTFT target"
	case "tpot":
		return "TPOT target"
	case "queue_time":
		return "queue time target"
	case "e2e":
		return "E2E latency target"
	}
	return name + " target"
}

// targetOf returns a target in seconds by its name in rules; 0 when the pool has none.
func targetOf(slo incident.SLO, name string) float64 {
	switch name {
	case "ttft":
		return slo.TTFT
	case "tpot":
		return slo.TPOT
	case "queue_time":
		return slo.QueueTime
	case "e2e":
		return slo.E2E
	default:
		return 0
	}
}

func (l *loader) readProfiles() {
	for _, doc := range l.docs {
		for i, p := range doc.Profiles {
			l.profile(doc.at.Key("profiles").Item(i), p)
		}
	}
}

func (l *loader) profile(at strictyaml.Value, p profileDoc) {
	l.need(at, "name", p.Name)
	l.need(at, "source", p.Source)
	out := incident.SLO{
		Profile:   p.Name,
		TTFT:      l.seconds(at, "ttft", p.TTFT),
		TPOT:      l.seconds(at, "tpot", p.TPOT),
		QueueTime: l.seconds(at, "queue_time", p.QueueTime),
		E2E:       l.seconds(at, "e2e", p.E2E),
	}
	if p.TTFT == nil && p.TPOT == nil && p.QueueTime == nil && p.E2E == nil {
		l.missing(at, "the profile has no target; give at least one of ttft, tpot, queue_time, e2e")
	}
	if p.Name != "" && l.claim(at.Key("name"), "profile", p.Name) {
		l.catalog.profiles = append(l.catalog.profiles, out)
	}
}

// seconds reads a target. Zero would read as "no target", so it is refused.
func (l *loader) seconds(at strictyaml.Value, field string, d *strictyaml.Duration) float64 {
	if d == nil {
		return 0
	}
	if *d == 0 {
		l.add(at.Key(field).Problem("%s: a target of zero cannot be met; leave it out when there is none", field))
	}
	return time.Duration(*d).Seconds()
}

// setsItself says that a pool has this target and doesn't take it over from its profile. A profile can't know what is
// asked of a pool: how long answers are, most of all.
func (c *Catalog) setsItself(slo incident.SLO, target string) bool {
	if targetOf(slo, target) == 0 {
		return false
	}
	profile, known := c.Profile(slo.Profile)
	return !known || targetOf(profile, target) < targetOf(slo, target) || targetOf(profile, target) > targetOf(slo, target)
}

// TargetSignals are the signals that a target is for.
func (c *Catalog) TargetSignals() []incident.Signal {
	var out []incident.Signal
	for _, s := range c.signals {
		if c.targets[s.Name] != "" {
			out = append(out, s)
		}
	}
	return out
}

// AgainstTargets holds what was read against each of these targets. excess is the largest ratio of the two, 0 where
// nothing was measured.
func (c *Catalog) AgainstTargets(ev incident.Evidence, slo incident.SLO) (out []incident.Condition, excess float64) {
	return c.againstTargets(c.factsOf(ev, slo))
}

// Targeted are these readings, those that a target is for with the target as their threshold.
func (c *Catalog) Targeted(readings map[string]incident.Reading, slo incident.SLO) map[string]incident.Reading {
	out := maps.Clone(readings)
	for name, field := range c.targets {
		r, read := out[name]
		if target := targetOf(slo, field); read && target > 0 {
			r.Threshold, r.ThresholdFrom = &target, incident.OriginSLO
			out[name] = r
		}
	}
	return out
}

// againstTargets holds what was measured against each target that the pool has. excess is the largest ratio of the two;
// of a bound it is that of the bound.
func (c *Catalog) againstTargets(f facts) (out []incident.Condition, excess float64) {
	for _, name := range targetNames() {
		target := f["slo."+name]
		for _, s := range c.signals {
			if c.targets[s.Name] != name || !target.known {
				continue
			}
			seen := f[s.Name]
			out = append(out, incident.Condition{
				Text: s.Name + " <= slo." + name, Truth: atMost(seen, target), Signal: s.Name, Label: s.Label(),
				Seen: seen.text(s.Unit), SeenValue: seen.amount(s.Unit), Relation: incident.RelationAtMost,
				Threshold: target.text(s.Unit), ThresholdValue: target.amount(s.Unit), ThresholdFrom: incident.OriginSLO,
			})
			if ratio := max(seen.lo, 0) / target.hi; seen.known {
				excess = max(excess, ratio)
			}
		}
	}
	return out, excess
}
