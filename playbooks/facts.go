package playbooks

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// recent is how long ago a change or the end of a container may be to explain what is seen now. vLLM's caches are cold
// for about 15 minutes after a start, and a rate looks back five more.
const recent = 30 * time.Minute

// factSource reads one fact out of the evidence; ok is false when there is none.
type factSource struct {
	name string
	unit incident.Unit
	read func(incident.Evidence) (value float64, ok bool)
	// alerts says that the fact comes from the alerts and not from Kubernetes; metrics, that metrics tell it, too.
	alerts, metrics bool
	// pods are those that it counts; nil where it counts none.
	pods func(incident.Evidence) []incident.AffectedPod
}

// factSources are the facts that a signal can be, by name. They are counted by us and not measured by Prometheus.
func factSources() map[string]factSource {
	count := func(read func(incident.Evidence) int) factSource {
		return factSource{unit: incident.UnitCount, read: func(ev incident.Evidence) (float64, bool) {
			return float64(read(ev)), true
		}}
	}
	arg := func(name string, u incident.Unit) factSource {
		return factSource{unit: u, read: func(ev incident.Evidence) (float64, bool) {
			v, ok := ev.Cluster.Args[name]
			return v, ok
		}}
	}
	return map[string]factSource{
		"pods_not_ready": countPods(func(p incident.Pod, _ time.Time) bool { return !p.Ready }),
		"pods_down":      countPods(down),
		"pods_unscheduled": countPods(func(p incident.Pod, now time.Time) bool {
			return waitsForNode(p) && now.Sub(p.Unscheduled) >= unscheduledFor
		}),
		"pods_ready":         countPods(func(p incident.Pod, _ time.Time) bool { return p.Ready }),
		"pods_crash_looping": countPods(func(p incident.Pod, _ time.Time) bool { return p.CrashLooping }),
		"recent_crashes":     countCrashes(anyCrash),
		"recent_gpu_ooms":    countCrashes(outOfGPU),
		"recent_oom_kills":   countCrashes(func(c incident.Crash) bool { return c.Reason == "OOMKilled" }),
		"recent_rollouts":    count(rollouts),
		factVersions: {unit: incident.UnitCount, metrics: true, read: func(ev incident.Evidence) (float64, bool) {
			return float64(len(ev.Versions)), len(ev.Versions) > 0
		}},
		"youngest_pod_age":           {unit: incident.UnitSeconds, read: youngest},
		"youngest_crash_age":         {unit: incident.UnitSeconds, read: sinceLast(anyCrash)},
		"youngest_gpu_oom_age":       {unit: incident.UnitSeconds, read: sinceLast(outOfGPU)},
		"arg_max_num_seqs":           arg("max_num_seqs", incident.UnitCount),
		"arg_max_num_batched_tokens": arg("max_num_batched_tokens", incident.UnitTokens),
		"dead_alerts": {unit: incident.UnitCount, alerts: true, read: func(ev incident.Evidence) (float64, bool) {
			return float64(len(ev.DeadAlerts)), ev.DeadAlerts != nil
		}},
	}
}

// countPods counts the pods that are so.
func countPods(want func(p incident.Pod, now time.Time) bool) factSource {
	all := func(ev incident.Evidence) (out []incident.AffectedPod) {
		for _, p := range ev.Cluster.Pods {
			if want(p, ev.At) {
				out = append(out, incident.AffectedPod{Pod: p.Name, Container: endedIn(ev, p.Name)})
			}
		}
		return out
	}
	return factSource{unit: incident.UnitCount, pods: all, read: func(ev incident.Evidence) (float64, bool) {
		return float64(len(all(ev))), true
	}}
}

// endedIn is the container of a pod that ended lately; empty where none did.
func endedIn(ev incident.Evidence, pod string) string {
	for _, c := range crashes(ev, anyCrash) {
		if c.Pod == pod {
			return c.Container
		}
	}
	return ""
}

// countCrashes counts the recent ends of containers that are so.
func countCrashes(want func(incident.Crash) bool) factSource {
	return factSource{
		unit: incident.UnitCount,
		pods: func(ev incident.Evidence) (out []incident.AffectedPod) {
			for _, c := range crashes(ev, want) {
				out = append(out, incident.AffectedPod{Pod: c.Pod, Container: c.Container})
			}
			return out
		},
		read: func(ev incident.Evidence) (float64, bool) { return float64(len(crashes(ev, want))), true },
	}
}

func countOf[T any](list []T, want func(T) bool) int {
	n := 0
	for _, v := range list {
		if want(v) {
			n++
		}
	}
	return n
}

// loading is how long a new pod may take until it serves: published starts of large models take five to twenty minutes
// with image, weights and compilation (vllm-project/vllm#19824, #44881).
const loading = 20 * time.Minute

// down says that a pod should serve and does not: it is not on its way out, and not a new one that still loads.
func down(p incident.Pod, now time.Time) bool {
	loads := p.Restarts == 0 && !p.CrashLooping && (p.Started.IsZero() || now.Sub(p.Started) <= loading)
	return !p.Ready && !p.Terminating && !loads
}

// rollouts counts those of the last time and one that still runs.
func rollouts(ev incident.Evidence) int {
	n := changesOf(ev, incident.ChangeRollout)
	if n == 0 && ev.Cluster.RolloutRunning {
		return 1
	}
	return n
}

// crashes are the recent ends of containers that were no success.
func crashes(ev incident.Evidence, want func(incident.Crash) bool) []incident.Crash {
	return slices.DeleteFunc(slices.Clone(ev.Cluster.Crashes), func(c incident.Crash) bool {
		return !want(c) || c.At.IsZero() || ev.At.Sub(c.At) > recent || c.ExitCode == 0 && c.Reason != "OOMKilled"
	})
}

func anyCrash(incident.Crash) bool { return true }

func outOfGPU(c incident.Crash) bool { return c.OutOfMemory == "gpu" }

// sinceLast is how long ago the newest of the recent ends was. The age of a pod would not do: one that an autoscaler
// has just added says nothing about an end that was before it.
func sinceLast(want func(incident.Crash) bool) func(incident.Evidence) (float64, bool) {
	return func(ev incident.Evidence) (float64, bool) {
		var newest time.Time
		for _, c := range crashes(ev, want) {
			if c.At.After(newest) {
				newest = c.At
			}
		}
		return ev.At.Sub(newest).Seconds(), !newest.IsZero()
	}
}

func changesOf(ev incident.Evidence, kind incident.ChangeKind) int {
	return countOf(ev.Cluster.Changes, func(c incident.RecentChange) bool {
		return c.Kind == kind && ev.At.Sub(c.At) <= recent
	})
}

// youngest is the age of the youngest pod, or of its container when that was started again.
func youngest(ev incident.Evidence) (float64, bool) {
	var newest time.Time
	for _, p := range ev.Cluster.Pods {
		if p.Started.After(newest) {
			newest = p.Started
		}
	}
	for _, c := range ev.Cluster.Crashes {
		if c.At.After(newest) {
			newest = c.At
		}
	}
	return ev.At.Sub(newest).Seconds(), !newest.IsZero()
}

func (l *loader) fact(at strictyaml.Value, s signalDoc) {
	at = at.Key("fact")
	f, ok := factSources()[s.Fact]
	switch {
	case !ok:
		l.add(at.Problem("fact: %s", strictyaml.NotOneOf(s.Fact, slices.Sorted(maps.Keys(factSources())))))
		return
	case incident.Unit(s.Unit) != f.unit && s.Unit != "":
		l.add(at.Problem("fact: %s is in %s and not in %s", s.Fact, f.unit, s.Unit))
	}
	f.name = s.Fact
	l.catalog.facts[s.Name] = f
}

// ratio is a signal worked out from two others.
type ratio struct {
	of, per string
	times   float64
}

func (l *loader) ratio(at strictyaml.Value, s signalDoc) {
	at = at.Key("ratio")
	r := ratio{of: s.Ratio.Of, per: s.Ratio.Per, times: 1}
	l.need(at, "of", r.of)
	l.need(at, "per", r.per)
	if s.Ratio.Times != nil {
		r.times = l.edge(at, "times", s.Ratio.Times)
	}
	l.catalog.ratios[s.Name] = r
	l.later = append(l.later, func() {
		for field, name := range map[string]string{"of": r.of, "per": r.per} {
			if name != "" {
				l.knownSignal(at.Key(field), name)
			}
			if _, nested := l.catalog.ratios[name]; nested {
				l.add(at.Key(field).Problem("%q is a ratio itself; write the signals that it is made of", name))
			}
		}
	})
}

// reading is what the catalog itself can say about a signal that Prometheus is not asked for; ok is false for all
// others.
func (c *Catalog) reading(name string, ev incident.Evidence, slo incident.SLO) (r incident.Reading, ok bool) {
	s := c.byName[name]
	r = incident.Reading{
		Signal: name, Title: s.Title, Short: s.Short, Unit: s.Unit, Direction: s.Direction,
		Optional: s.Optional, At: ev.At,
	}
	if f, is := c.facts[name]; is {
		cl := ev.Cluster
		switch {
		case !f.alerts && !f.metrics && (cl.NotConfigured || cl.Podless != ""):
			return r, true
		case !f.alerts && !f.metrics && cl.Error != "" && len(cl.Pods) == 0:
			r.Error = cl.Error
			return r, true
		}
		if v, known := f.read(ev); known {
			r.Value = &v
		}
		return r, true
	}
	if q, is := c.ratios[name]; is {
		return c.quotient(r, q, ev, slo), true
	}
	if p, is := c.peers[name]; is {
		return c.comparison(r, p, ev, slo), true
	}
	if p, is := c.versions[name]; is {
		return p.reading(r, ev), true
	}
	if p, is := c.sides[name]; is {
		return p.reading(r, ev), true
	}
	if l, is := c.last[name]; is {
		return c.lastPods(r, l, ev, slo), true
	}
	return r, false
}

func (c *Catalog) quotient(r incident.Reading, q ratio, ev incident.Evidence, slo incident.SLO) incident.Reading {
	var parts [2]incident.Reading
	for i, name := range []string{q.of, q.per} {
		own, known := c.reading(name, ev, slo)
		if !known {
			own, known = ev.Readings[name]
		}
		parts[i] = own
		switch {
		case !known:
			r.Error = c.byName[name].Label() + " not read"
		case own.Error != "":
			r.Error = own.Error
		case own.Value != nil && own.Bound != incident.Exact:
			r.Error = fmt.Sprintf("only a bound is known of %s: %s", c.byName[name].Label(), own.Text())
		}
	}
	of, per := parts[0], parts[1]
	if r.Error != "" || of.Value == nil || per.Value == nil {
		return r
	}
	// Nothing of nothing is no data, as it is for Prometheus.
	if v := q.times * *of.Value / *per.Value; !math.IsNaN(v) && !math.IsInf(v, 0) {
		r.Value = &v
	}
	return r
}

// SignalNames lists the names of all signals, those that Prometheus is not asked for included, in the order of the
// catalog.
func (c *Catalog) SignalNames() []string {
	out := make([]string, 0, len(c.signals))
	for _, s := range c.signals {
		out = append(out, s.Name)
	}
	return out
}

// own are the readings that the catalog itself works out.
func (c *Catalog) own(ev incident.Evidence, slo incident.SLO) map[string]incident.Reading {
	out := map[string]incident.Reading{}
	for _, s := range c.signals {
		if r, ok := c.reading(s.Name, ev, slo); ok {
			out[s.Name] = r
		}
	}
	return out
}
