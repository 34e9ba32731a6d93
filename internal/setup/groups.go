package setup

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// group are the pods of one workload.
type group struct {
	ref incident.WorkloadRef
	// ok says that ref is one; why says how it was found, or why there is none.
	ok      bool
	why     string
	servers []Server
}

// text is "Deployment llm/llama-70b", or the pod where there is no workload.
func (g group) text() string {
	if g.ok {
		return g.ref.String()
	}
	return "Pod " + g.servers[0].Namespace + "/" + g.servers[0].Pod
}

func groupNames(groups []group) string {
	out := make([]string, len(groups))
	for i, g := range groups {
		out[i] = g.text()
	}
	return strings.Join(out, ", ")
}

// claim takes the workload for a model. An object belongs to one pool, so the first that takes it has it.
func (g group) claim(model string, taken map[string]string) Guess[incident.WorkloadRef] {
	if !g.ok {
		return Guess[incident.WorkloadRef]{Why: g.why, Question: "Which object should the bot look at and change?"}
	}
	if other, is := taken[g.ref.String()]; is {
		return Guess[incident.WorkloadRef]{
			Value: g.ref, Why: fmt.Sprintf("%s also serves %s, and an object belongs to one pool.", g.ref, other),
		}
	}
	taken[g.ref.String()] = model
	return Guess[incident.WorkloadRef]{Value: g.ref, Sure: true, Why: g.why}
}

// byWorkload groups pods by their workload, in a stable order. Pods without one are together by their top owner.
func byWorkload(servers []Server) []group {
	found := map[string]*group{}
	for _, s := range servers {
		ref, why, ok := workloadOf(s)
		key := ref.String()
		if !ok {
			key = "no workload: " + why
			if len(s.Owners) > 0 {
				key = "owner " + s.Owners[len(s.Owners)-1].String()
			}
		}
		if found[key] == nil {
			found[key] = &group{ref: ref, ok: ok, why: why}
		}
		found[key].servers = append(found[key].servers, s)
	}
	var out []group
	for _, key := range slices.Sorted(maps.Keys(found)) {
		g := *found[key]
		slices.SortFunc(g.servers, func(a, b Server) int { return cmp.Compare(a.Pod, b.Pod) })
		out = append(out, g)
	}
	return out
}

// serversOf are the pods whose series a model has. lost says which series led to none; empty where all did.
func serversOf(f Found, m Model) (out []Server, lost string) {
	missing := ""
	for _, e := range m.Engines {
		i := slices.IndexFunc(f.Servers, func(s Server) bool { return e.isOf(s) })
		switch {
		case i < 0:
			missing = cmp.Or(e.Pod, e.Labels["instance"])
		case !slices.ContainsFunc(out, func(s Server) bool { return same(s, f.Servers[i]) }):
			out = append(out, f.Servers[i])
		}
	}
	if missing != "" {
		lost = ", such as those of " + missing
	}
	return out, lost
}

func same(a, b Server) bool { return a.Namespace == b.Namespace && a.Pod == b.Pod }

// isOf says whether a series is of a pod: by its name, else by its address.
func (e Engine) isOf(s Server) bool {
	if e.Pod != "" {
		return e.Pod == s.Pod && e.Namespace == s.Namespace
	}
	at, err := url.Parse("//" + e.Labels["instance"])
	return err == nil && s.IP != "" && at.Hostname() == s.IP
}

// varying are labels that differ from pod to pod, or that say nothing about a workload.
func varying() []string {
	return []string{
		"pod", "instance", "engine", "endpoint", "exported_pod", "kubernetes_pod_name", "uid", "node", "pod_ip",
	}
}

// tellingLabel is a label whose values tell the series of each workload from those of the others: one value for each.
// A job's or a role's is preferred to any other.
func tellingLabel(m Model, groups []group) string {
	names := map[string]bool{}
	for _, e := range m.Engines {
		for name := range e.Labels {
			if _, known := m.Labels[name]; !known && !slices.Contains(varying(), name) {
				names[name] = true
			}
		}
	}
	preferred := []string{"role", "llm_d_ai_role", "job", "service"}
	order := slices.SortedFunc(maps.Keys(names), func(a, b string) int {
		rank := func(s string) int {
			if i := slices.Index(preferred, s); i >= 0 {
				return i
			}
			return len(preferred)
		}
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b))
	})
	for _, name := range order {
		values := map[string]bool{}
		for _, g := range groups {
			values[labelOf(m, g, name)] = true
		}
		if len(values) == len(groups) && !values[""] {
			return name
		}
	}
	return ""
}

// labelOf is the one value that a label has in all series of a workload; empty where it has several or none.
func labelOf(m Model, g group, name string) string {
	value, first := "", true
	for _, e := range m.Engines {
		if !slices.ContainsFunc(g.servers, e.isOf) {
			continue
		}
		if !first && e.Labels[name] != value {
			return ""
		}
		value, first = e.Labels[name], false
	}
	return value
}
