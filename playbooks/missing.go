package playbooks

import (
	"cmp"
	"maps"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// markUnexamined marks the diagnoses that were ruled out only because a part of the cluster was not examined.
// present(x) is false there, so that a pool without Kubernetes can be diagnosed at all, but people must not read it as
// a "no". The chosen diagnosis is the same either way.
func (c *Catalog) markUnexamined(
	others []incident.Other, verdicts []verdict, ev incident.Evidence, f facts,
) []incident.Other {
	missing := c.unexaminedSignals(ev)
	if len(missing) == 0 {
		return others
	}
	open := f.without(slices.Collect(maps.Keys(missing)))
	for _, v := range verdicts {
		i := slices.IndexFunc(others, func(o incident.Other) bool { return o.Name == v.diagnosis.name })
		if i < 0 || v.answer.truth != incident.False {
			continue
		}
		again := v.diagnosis.when.ask(open)
		if again.truth != incident.Undecided {
			continue
		}
		names := slices.DeleteFunc(again.missing(), func(name string) bool { return missing[name] == "" })
		if len(names) == 0 {
			continue
		}
		why := missing[names[0]]
		others[i].Verdict, others[i].NotEvaluated = incident.Undecided, why
		others[i].Why = "not checked: " + few(c.labels(names)) + " (" + why + ")"
	}
	return others
}

// unexaminedSignals names the signals that depend on a part of the cluster that was not examined, each with why. Where
// the whole read failed, its signals have an error already.
func (c *Catalog) unexaminedSignals(ev incident.Evidence) map[string]string {
	cl, out := ev.Cluster, map[string]string{}
	if cl.NotConfigured || cl.Podless != "" {
		why := cmp.Or(cl.Podless, "Kubernetes is not configured")
		if cl.NoWorkload {
			why = "the pool has no workload"
		}
		for name, f := range c.facts {
			// Prometheus can tell the age of the youngest engine, too.
			told := f.name == "youngest_pod_age" && ev.Readings[incident.SignalEngineAge].HasValue()
			if !f.alerts && !f.metrics && !told {
				out[name] = why
			}
		}
		for name, r := range c.ratios {
			if out[r.of] != "" || out[r.per] != "" {
				out[name] = why
			}
		}
		return out
	}
	part := func(fact string, of incident.Part) {
		u, missing := cl.NotRead(of)
		for name, f := range c.facts {
			if missing && f.name == fact {
				out[name] = u.Part.Title() + " could not be read (" + u.Why + ")"
			}
		}
	}
	if rollouts(ev) == 0 {
		part("recent_rollouts", incident.PartRollouts)
	}
	silent := func(crash incident.Crash) bool { return len(crash.Log) == 0 }
	if len(crashes(ev, outOfGPU)) == 0 && len(crashes(ev, silent)) > 0 {
		part("recent_gpu_ooms", incident.PartCrashLog)
		part("youngest_gpu_oom_age", incident.PartCrashLog)
	}
	return out
}

// without are the facts where nobody knows whether these signals have a value.
func (f facts) without(names []string) facts {
	out := maps.Clone(f)
	for _, name := range names {
		out[name] = quantity{kind: readingType(), unit: f[name].unit, why: "not checked"}
	}
	return out
}
