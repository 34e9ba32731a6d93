package playbooks

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// What a signal takes out of the values of pods by their versions.
const (
	takeWorst  = "worst"
	takeOthers = "others"
)

// factVersions is the fact of how many versions serve.
const factVersions = "versions"

// versionPick is a signal worked out from another one's values per pod and the versions of these pods.
type versionPick struct {
	of, take string
}

func (l *loader) versions(at strictyaml.Value, s signalDoc) {
	at = at.Key("versions")
	p := versionPick{of: s.Versions.Of, take: s.Versions.Take}
	l.need(at, "of", p.of)
	oneOf(l, at, "take", p.take, []string{takeWorst, takeOthers})
	l.catalog.versions[s.Name], l.catalog.picks[s.Name] = p, true
	l.later = append(l.later, func() {
		of, known := l.catalog.byName[p.of]
		switch {
		case p.of == "":
		case !known:
			l.knownSignal(at.Key("of"), p.of)
		case of.Pods == "":
			l.add(at.Key("of").Problem("%q has no values per pod: give it pods", p.of))
		case of.Unit != incident.Unit(s.Unit):
			l.add(at.Key("of").Problem("%q is in %s and this signal in %s", p.of, of.Unit, s.Unit))
		}
	})
}

// reading has the pods of the side that the value is of. It has no value where there are
// no two versions among the pods that are compared, or where a pod's is not known.
func (p versionPick) reading(r incident.Reading, ev incident.Evidence) incident.Reading {
	of := ev.Readings[p.of]
	r.Error = of.Error
	if r.Error != "" {
		return r
	}
	sides := map[string][]incident.PodValue{}
	for _, pod := range of.Pods {
		at := slices.IndexFunc(ev.Versions, func(v incident.ServedVersion) bool {
			return slices.Contains(v.Pods, pod.Pod)
		})
		if at < 0 {
			return r
		}
		v := ev.Versions[at].Version
		sides[v] = append(sides[v], pod)
	}
	if len(sides) < 2 {
		return r
	}
	worse := func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }
	if of.Direction == incident.LowerIsWorse {
		worse = func(a, b incident.PodValue) int { return cmp.Compare(b.Value, a.Value) }
	}
	var worst []incident.PodValue
	for _, v := range ev.Versions { // in order, so that equal ones give the same answer each time
		pods := sides[v.Version]
		slices.SortStableFunc(pods, worse)
		if len(pods) > 0 && (worst == nil || worse(worst[0], pods[0]) < 0) {
			worst = pods
		}
	}
	value := worst[0].Value
	r.Pods = worst
	if p.take == takeOthers {
		r.Pods = slices.DeleteFunc(slices.Clone(of.Pods), func(pod incident.PodValue) bool {
			return slices.Contains(worst, pod)
		})
		value = slices.MaxFunc(r.Pods, worse).Value
	}
	slices.SortStableFunc(r.Pods, func(a, b incident.PodValue) int { return cmp.Compare(b.Value, a.Value) })
	r.Value, r.At = &value, of.At
	return r
}

// versionsServed says which versions of vLLM serve in the pool, where it has several.
func versionsServed(ev incident.Evidence) []string {
	if len(ev.Versions) < 2 {
		return nil
	}
	parts := make([]string, 0, len(ev.Versions))
	for _, v := range ev.Versions {
		parts = append(parts, v.Version+" ("+few(v.Pods)+")")
	}
	return []string{fmt.Sprintf("%d versions of vLLM serve in this pool: %s.", len(parts), strings.Join(parts, "; "))}
}
