package playbooks

import (
	"cmp"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// compared is a signal with values of single pods, and what people call the quantity.
type compared struct{ of, as string }

// affected reads the signals that name the pods of a diagnosis.
func (l *loader) affected(at strictyaml.Value, list []string) []string {
	out := l.repeated(at, "affected", list)
	for _, name := range out {
		l.podSignal(at.Key("affected").Item(slices.Index(list, name)), name)
	}
	return out
}

// compares reads the quantities in which those pods differ from the others.
func (l *loader) compares(at strictyaml.Value, affected []string, list []compareDoc) []compared {
	if len(list) > 0 && len(affected) == 0 {
		l.add(at.Key("compare").Problem("compare: there is nothing in affected that would be compared with the others"))
	}
	var out []compared
	for i, doc := range list {
		entry := at.Key("compare").Item(i)
		l.need(entry, "of", doc.Of)
		l.need(entry, "as", doc.As)
		if doc.Of != "" {
			l.podSignal(entry.Key("of"), doc.Of)
		}
		out = append(out, compared{of: doc.Of, as: doc.As})
	}
	return out
}

// podSignal reports a signal that says nothing about single pods.
func (l *loader) podSignal(at strictyaml.Value, name string) {
	c := l.catalog
	if !l.known(at, name) || l.anyBroken() {
		return
	}
	_, apart := c.peers[name]
	_, side := c.versions[name]
	_, last := c.last[name]
	if c.byName[name].Pods == "" && !apart && !side && !last && c.facts[name].pods == nil {
		l.add(at.Problem("%q says nothing about single pods", name))
	}
}

// affectedPods are the pods that the first of the signals names that names any, each once. Those by which the rule
// holds come before the others, which may name another pod.
func (c *Catalog) affectedPods(v *verdict, ev incident.Evidence, readings map[string]incident.Reading,
) []incident.AffectedPod {
	settles := func(name string) bool {
		return slices.ContainsFunc(v.answer.settling(v.answer.rule.shape), func(s shape) bool {
			return s.left.signal == name
		})
	}
	names := slices.Clone(v.diagnosis.affected)
	slices.SortStableFunc(names, func(a, b string) int {
		switch {
		case settles(a) && !settles(b):
			return -1
		case settles(b) && !settles(a):
			return 1
		}
		return 0
	})
	for _, name := range names {
		var out []incident.AffectedPod
		add := func(p incident.AffectedPod) {
			p.Node = nodeOf(ev, p.Pod)
			same := func(o incident.AffectedPod) bool { return o.Name() == p.Name() }
			if p.Pod != "" && !slices.ContainsFunc(out, same) {
				out = append(out, p)
			}
		}
		if f := c.facts[name]; f.pods != nil {
			for _, p := range f.pods(ev) {
				add(p)
			}
		}
		for _, v := range c.valuesMeant(name, readings[name]) {
			add(incident.AffectedPod{Pod: v.Pod, Rank: v.Rank})
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

func nodeOf(ev incident.Evidence, pod string) string {
	for _, p := range ev.Cluster.Pods {
		if p.Name == pod {
			return p.Node
		}
	}
	return ""
}

// comparedPods are the quantities in which the affected pods differ from their peers. What is about the same on both
// sides tells nothing.
func (c *Catalog) comparedPods(d *diagnosis, ev incident.Evidence, affected []incident.AffectedPod,
) []incident.Compared {
	var out []incident.Compared
	for _, q := range d.compare {
		name := q.of
		if p, apart := c.peers[name]; apart {
			name = p.apart[0].of
		}
		mine, others := sides(ev, ev.Readings[name].Pods, affected)
		if len(mine) == 0 || len(others) == 0 {
			continue
		}
		high, rest := highest(mine), highest(others)
		if alike(high, rest) {
			continue
		}
		unit := c.byName[name].Unit
		out = append(out, incident.Compared{
			Label: q.as, Seen: incident.FormatValue(high, unit), Others: incident.FormatValue(rest, unit),
		})
	}
	return out
}

// sides are the values of the affected pods, and those of the others in their role; of ranks, of the same pod.
func sides(ev incident.Evidence, all []incident.PodValue, affected []incident.AffectedPod,
) (mine, others []incident.PodValue) {
	if len(all) >= incident.MaxPodValues {
		return nil, nil // of so many only the worst are kept
	}
	roles := ev.Roles()
	is := func(v incident.PodValue) bool {
		return slices.ContainsFunc(affected, func(p incident.AffectedPod) bool { return p.Name() == v.Name() })
	}
	for _, v := range all {
		if is(v) {
			mine = append(mine, v)
		}
	}
	for _, v := range all {
		peer := func(o incident.PodValue) bool { return peerGroup(roles, o) == peerGroup(roles, v) }
		if !is(v) && slices.ContainsFunc(mine, peer) {
			others = append(others, v)
		}
	}
	return mine, others
}

func highest(all []incident.PodValue) float64 {
	return slices.MaxFunc(all, func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }).Value
}

// alike says that two values differ by less than a quarter, which says nothing of a pod: our starting value.
func alike(a, b float64) bool {
	low, high := min(a, b), max(a, b)
	return high <= 1.25*low || high == low
}
