package incident

import (
	"maps"
	"slices"
)

// Role is a pod's part in disaggregated serving.
type Role string

// The roles. A pod that does both has none.
const (
	RolePrefill Role = "prefill" // reads prompts
	RoleDecode  Role = "decode"  // generates tokens
)

// RoleSource is what tells a pod's role.
type RoleSource string

// The sources, the surest first.
const (
	RoleByLabel      RoleSource = "label"      // of its series
	RoleByKubernetes RoleSource = "kubernetes" // the pod's labels and arguments
	RoleByBehavior   RoleSource = "behavior"   // how many tokens it generates for a request
)

// PodRole is the role of one pod.
type PodRole struct {
	Pod  string `json:"pod"`
	Role Role   `json:"role"`
}

// Roles tell the prefill pods of a disaggregated pool from its decode pods. They do different work: neither says what
// is usual for the other, and neither can do the other's. The zero value is a pool whose pods all do the same, as far
// as is known.
type Roles struct {
	of      map[string]Role
	sources []RoleSource
	serving []string
}

// Roles are told for each pod by the first source that knows it. A pool whose pods all have the same role has none.
func (e Evidence) Roles() Roles {
	var out Roles
	for _, p := range e.Readings[SignalRunning].Pods {
		out.serving = append(out.serving, p.Pod)
	}
	// What pods generated is known of those that are gone, too.
	serves := func(pod string) bool { return len(out.serving) == 0 || slices.Contains(out.serving, pod) }
	tell := func(from RoleSource, list []PodRole) {
		for _, p := range list {
			if _, known := out.of[p.Pod]; known || !serves(p.Pod) {
				continue
			}
			if out.of == nil {
				out.of = map[string]Role{}
			}
			out.of[p.Pod] = p.Role
			if !slices.Contains(out.sources, from) {
				out.sources = append(out.sources, from)
			}
		}
	}
	tell(RoleByLabel, prefillOrDecode(e.Readings[SignalLabeledPrefill]))
	tell(RoleByKubernetes, e.PodRoles)
	tell(RoleByBehavior, prefillOrDecode(e.Readings[SignalPrefillPods]))
	if len(out.Pods(RolePrefill)) == 0 || len(out.Pods(RoleDecode)) == 0 {
		return Roles{}
	}
	return out
}

// prefillOrDecode reads a signal that is 1 for a prefill pod and 0 for a decode pod.
func prefillOrDecode(r Reading) []PodRole {
	out := make([]PodRole, 0, len(r.Pods))
	for _, v := range r.Pods {
		role := RoleDecode
		if v.Value > 0 {
			role = RolePrefill
		}
		out = append(out, PodRole{v.Pod, role})
	}
	return out
}

// Split says that the pool has pods of both roles.
func (r Roles) Split() bool { return len(r.of) > 0 }

// Whole says that the pool has pods of both roles, and that the role of every pod that serves is known.
func (r Roles) Whole() bool {
	return len(r.serving) > 0 && !slices.ContainsFunc(r.serving, func(pod string) bool { return r.of[pod] == "" })
}

// Of is a pod's role; empty where it is not known, and in a pool without roles.
func (r Roles) Of(pod string) Role { return r.of[pod] }

// Pods are those of a role, in the order of their names.
func (r Roles) Pods(role Role) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.of)), func(pod string) bool { return r.of[pod] != role })
}

// Sources are what told the roles, the surest first.
func (r Roles) Sources() []RoleSource { return slices.Clone(r.sources) }
