package playbooks

import (
	"cmp"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// peers is a signal worked out from what others say of single pods: the highest of the pods that are far above their
// peers, or the highest of those peers.
type peers struct {
	// apart are the tests that a pod must pass to count as an outlier, all of them. The first one's values count.
	apart []apart
	// others asks for the peers of the outliers and not for these.
	others bool
}

// apart is one way to be far above the peers.
type apart struct {
	of     string
	times  float64 // of the median
	above  float64 // of which no pod at or below it is an outlier, for a pool without that target
	target string
	share  float64 // of the target or of above
}

// outliers reads a signal that is worked out from pods. "above" and "target" keep a pod that is well from being an
// outlier among pods that are better still.
func (l *loader) outliers(at strictyaml.Value, s signalDoc) {
	at = at.Key("outliers")
	var p peers
	for i, doc := range s.Outliers {
		at := at.Item(i)
		l.need(at, "of", doc.Of)
		a := apart{of: doc.Of, times: l.edge(at, "times", doc.Times), above: l.edge(at, "above", doc.Above), share: 1}
		if doc.Share != nil {
			a.share = l.edge(at, "share", doc.Share)
			if doc.Target == "" && doc.Above == nil {
				l.add(at.Key("share").Problem("share: there is neither a target nor above that it is a share of"))
			}
		}
		if a.times < 1 {
			l.add(at.Key("times").Problem("times: a pod below the median of its peers is no outlier; write 1 or more"))
		}
		if a.target = doc.Target; a.target != "" && !slices.Contains(targetNames(), a.target) {
			l.add(at.Key("target").Problem("target: %s", strictyaml.NotOneOf(a.target, targetNames())))
		}
		l.later = append(l.later, func() {
			if a.of != "" && l.known(at.Key("of"), a.of) && l.catalog.byName[a.of].Pods == "" {
				l.add(at.Key("of").Problem("%q says nothing about single pods: give it pods", a.of))
			}
		})
		p.apart = append(p.apart, a)
	}
	l.catalog.peers[s.Name] = p
}

// others reads a signal for the peers of the outliers of another one.
func (l *loader) others(at strictyaml.Value, s signalDoc) {
	l.later = append(l.later, func() {
		p, ok := l.catalog.peers[s.Others]
		if !l.known(at.Key("others"), s.Others) {
			return
		}
		if !ok || p.others {
			l.add(at.Key("others").Problem("%q has no outliers", s.Others))
			return
		}
		l.catalog.peers[s.Name] = peers{apart: p.apart, others: true}
	})
}

// sources are the signals that one without a query of its own is worked out from.
func (c *Catalog) sources(name string) []string {
	if r, ok := c.ratios[name]; ok {
		return []string{r.of, r.per}
	}
	if v, ok := c.versions[name]; ok {
		return []string{v.of}
	}
	var out []string
	for _, a := range c.peers[name].apart {
		out = append(out, a.of)
	}
	if side, ok := c.sides[name]; ok {
		out = append(out, side.of)
	}
	for _, of := range c.last[name] {
		out = append(out, of)
		out = append(out, c.sources(of)...)
	}
	if len(out) == 0 {
		return nil
	}
	for _, name := range roleSources() {
		if _, known := c.byName[name]; known {
			out = append(out, name)
		}
	}
	return out
}

const tooManyPods = "there are too many pods to compare them all"

// comparison works out a signal of the kind peers. Where no pod stands out the outliers have no value, and every pod is
// one of the others.
func (c *Catalog) comparison(r incident.Reading, p peers, ev incident.Evidence, slo incident.SLO) incident.Reading {
	roles := ev.Roles()
	var out, rest []incident.PodValue
	for n, a := range p.apart {
		own, known := ev.Readings[a.of]
		switch {
		case !known:
			r.Error = c.byName[a.of].Label() + " not read"
		case own.Error != "":
			r.Error = own.Error
		case len(own.Pods) >= incident.MaxPodValues:
			r.Error = tooManyPods
		case n > 0 && len(own.Pods) == 0:
			continue // this vLLM does not have it
		}
		if r.Error != "" {
			return r
		}
		if n == 0 {
			out, rest = a.outliers(own.Pods, roles, slo), own.Pods
			continue
		}
		// Only the pods that the first signal compares are peers: it leaves out new ones, for example.
		compared := slices.DeleteFunc(slices.Clone(own.Pods), func(v incident.PodValue) bool { return !has(rest, v) })
		high := a.outliers(compared, roles, slo)
		out = slices.DeleteFunc(out, func(v incident.PodValue) bool { return !has(high, v) })
	}
	rest = slices.DeleteFunc(slices.Clone(rest), func(v incident.PodValue) bool {
		return has(out, v) || len(out) > 0 && !slices.ContainsFunc(out, func(o incident.PodValue) bool {
			return peerGroup(roles, o) == peerGroup(roles, v)
		})
	})
	if p.others {
		out = rest
	}
	if len(out) == 0 {
		return r
	}
	highest := slices.MaxFunc(out, func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }).Value
	if r.Value = &highest; !p.others {
		r.Pods = out
	}
	return r
}

// noOutlier is said of outliers where the pods could be compared and none stands out.
const noOutlier = "none"

// compares says that a signal is about pods that could be compared, so that no value means no such pod.
func (c *Catalog) compares(name string, ev incident.Evidence) bool {
	p, ok := c.peers[name]
	return ok && len(ev.Readings[p.apart[0].of].Pods) > 0
}

func has(list []incident.PodValue, v incident.PodValue) bool {
	return slices.ContainsFunc(list, func(o incident.PodValue) bool { return o.Name() == v.Name() })
}

// outliers are the pods far above the median of the pods in their role. It is the lower median: of two pods the better
// one shows what is usual, and at most half of the pods can be outliers.
func (a apart) outliers(pods []incident.PodValue, roles incident.Roles, slo incident.SLO) []incident.PodValue {
	groups := map[string][]float64{}
	for _, v := range pods {
		group := peerGroup(roles, v)
		groups[group] = append(groups[group], v.Value)
	}
	for _, values := range groups {
		slices.Sort(values)
	}
	least := a.share * cmp.Or(targetOf(slo, a.target), a.above)
	return slices.DeleteFunc(slices.Clone(pods), func(v incident.PodValue) bool {
		values := groups[peerGroup(roles, v)]
		return v.Value <= least || v.Value <= a.times*values[(len(values)-1)/2]
	})
}
