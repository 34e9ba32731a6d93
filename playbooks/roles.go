package playbooks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// What a signal takes out of the values of the pods in a role.
const (
	takeMean    = "mean"
	takeHighest = "highest"
	takeLowest  = "lowest"
)

// rolePick is a signal worked out from another one's values of the pods in a role.
type rolePick struct {
	of, take string
	role     incident.Role
}

func (l *loader) role(at strictyaml.Value, s signalDoc) {
	at = at.Key("role")
	p := rolePick{of: s.Role.Of, take: s.Role.Take}
	p.role = oneOf(l, at, "is", incident.Role(s.Role.Is), []incident.Role{incident.RolePrefill, incident.RoleDecode})
	l.need(at, "of", p.of)
	oneOf(l, at, "take", p.take, []string{takeMean, takeHighest, takeLowest})
	l.catalog.sides[s.Name] = p
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

// roleSources are the signals that roles are told by.
func roleSources() []string {
	return []string{incident.SignalRunning, incident.SignalLabeledPrefill, incident.SignalPrefillPods}
}

// unreadRoles says why it isn't known whether a pool has roles; empty where it is.
func unreadRoles(ev incident.Evidence) string {
	for _, name := range roleSources() {
		if why := ev.Readings[name].Error; why != "" {
			return why
		}
	}
	return ""
}

// reading has the pods in the role. It has no value in a pool without roles, where the role of a pod that serves is not
// known, and where no pod in the role has one.
func (p rolePick) reading(r incident.Reading, ev incident.Evidence) incident.Reading {
	if !ev.Roles().Whole() {
		r.Error = unreadRoles(ev)
		return r
	}
	of := ev.Readings[p.of]
	if r.Error = of.Error; r.Error != "" {
		return r
	}
	if len(of.Pods) >= incident.MaxPodValues {
		r.Error = tooManyPods
		return r
	}
	r.Pods = slices.DeleteFunc(slices.Clone(of.Pods), func(v incident.PodValue) bool {
		return ev.Roles().Of(v.Pod) != p.role
	})
	if len(r.Pods) == 0 {
		return r
	}
	lower := func(a, b incident.PodValue) int { return cmp.Compare(a.Value, b.Value) }
	var value float64
	switch p.take {
	case takeHighest:
		value = slices.MaxFunc(r.Pods, lower).Value
	case takeLowest:
		value = slices.MinFunc(r.Pods, lower).Value
	default:
		for _, v := range r.Pods {
			value += v.Value / float64(len(r.Pods))
		}
	}
	r.Value, r.At = &value, of.At
	return r
}

// lastOf counts the pods that other signals name and that nobody can stand in for.
type lastOf []string

func (l *loader) lastOfRole(at strictyaml.Value, s signalDoc) {
	at = at.Key("last_of_role")
	names := l.repeated(at, "last_of_role", s.LastOfRole)
	l.catalog.last[s.Name] = names
	l.later = append(l.later, func() {
		for i, name := range names {
			_, apart := l.catalog.peers[name]
			if l.known(at.Item(i), name) && l.catalog.byName[name].Pods == "" && !apart {
				l.add(at.Item(i).Problem("%q says nothing about single pods", name))
			}
		}
	})
}

// lastPods counts the pods that are named and have no other pod in their role, or whose role isn't known among pods
// that have roles. In a pool without roles that is its only pod. Without such pods there is no value.
func (c *Catalog) lastPods(r incident.Reading, of lastOf, ev incident.Evidence, slo incident.SLO) incident.Reading {
	if r.Error = unreadRoles(ev); r.Error != "" {
		return r
	}
	serving, roles := ev.Readings[incident.SignalRunning].Pods, ev.Roles()
	if len(serving) == 0 {
		return r
	}
	alone := func(pod string) bool {
		return roles.Split() && roles.Of(pod) == "" || !slices.ContainsFunc(serving, func(o incident.PodValue) bool {
			return o.Pod != pod && roles.Of(o.Pod) == roles.Of(pod)
		})
	}
	var names []string
	for _, name := range of {
		named, own := c.reading(name, ev, slo)
		if !own {
			named = ev.Readings[name]
		}
		for _, v := range named.Pods {
			if (own || v.Value > 0) && alone(v.Pod) && !slices.Contains(names, v.Pod) {
				names = append(names, v.Pod)
			}
		}
	}
	if len(names) == 0 {
		return r
	}
	slices.Sort(names)
	count := float64(len(names))
	r.Value = &count
	for _, name := range names {
		r.Pods = append(r.Pods, incident.PodValue{Pod: name, Value: 1})
	}
	return r
}

// peerGroup is what a pod is compared with: pods of the same role. A rank is compared with the other ranks of its pod.
func peerGroup(r incident.Roles, v incident.PodValue) string {
	if v.Rank != "" {
		return "ranks of " + v.Pod
	}
	return string(r.Of(v.Pod))
}

// rolesServed says which pods have which role in a disaggregated pool, and what told it.
func rolesServed(ev incident.Evidence) []string {
	roles := ev.Roles()
	if !roles.Whole() {
		return nil
	}
	var told []string
	for _, s := range roles.Sources() {
		told = append(told, sourceWords(s))
	}
	return []string{"Prefill and decode run in separate pods. Prefill: " + few(roles.Pods(incident.RolePrefill)) +
		"; decode: " + few(roles.Pods(incident.RoleDecode)) + ". Known from " + strings.Join(told, " and ") + "."}
}

func sourceWords(s incident.RoleSource) string {
	switch s {
	case incident.RoleByLabel:
		return "a label of their series"
	case incident.RoleByKubernetes:
		return "the pods' labels or kv_role"
	case incident.RoleByBehavior:
		return "the tokens that they generate for each request"
	}
	return string(s)
}
