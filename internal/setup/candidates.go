package setup

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Candidate is what may become a pool: a model on a workload.
type Candidate struct {
	// Name is unique among the candidates.
	Name string
	// Labels select its series, LabelsWhy says where they are from.
	Labels    map[string]string
	LabelsWhy string
	// LabelsSure says that series with these labels were seen.
	LabelsSure bool
	Workload   Guess[incident.WorkloadRef]
	Container  Guess[string]
	// Servers are its pods.
	Servers []Server
	// NoMatch says why no alert can be told to belong here by its labels; empty where it can.
	NoMatch string
}

// Namespace is where its pods are; empty where that is not known.
func (c Candidate) Namespace() string {
	if len(c.Servers) > 0 {
		return c.Servers[0].Namespace
	}
	return cmp.Or(c.Workload.Value.Namespace, c.Labels["namespace"])
}

// Pool is the candidate as the bot would have it, without knobs.
func (c Candidate) Pool() incident.Pool {
	p := incident.Pool{Name: c.Name, Matchers: c.Labels, Mode: incident.ModeDryRun}
	if c.NoMatch == "" {
		p.Match = c.Labels
	}
	if c.Workload.Sure {
		p.Workload = c.Workload.Value
		p.Workload.Container = c.Container.Value
	}
	return p
}

// Candidates tells which pools there can be: a model of Prometheus on each of its workloads; without Prometheus, each
// workload that runs vLLM. notes are what a person should know of the others.
func Candidates(f Found) (out []Candidate, notes []string) {
	taken := map[string]string{}
	seen := map[string]bool{}
	for _, m := range f.Models {
		made, note := ofModel(f, m, taken)
		out = append(out, made...)
		if note != "" {
			notes = append(notes, note)
		}
		for _, c := range made {
			for _, s := range c.Servers {
				seen[s.Namespace+"/"+s.Pod] = true
			}
		}
	}
	rest := slices.DeleteFunc(slices.Clone(f.Servers), func(s Server) bool {
		return s.Guessed || seen[s.Namespace+"/"+s.Pod]
	})
	groups := byWorkload(rest)
	for _, group := range groups {
		_, known := taken[group.ref.String()]
		switch {
		case known: // a pod beside those that answer, such as the workers of a group
			continue
		case f.Prometheus.Asked:
			notes = append(notes, fmt.Sprintf("%s runs vLLM (pod %s), and this Prometheus has no series of it. Is there a "+
				"PodMonitor or a ServiceMonitor for it?", group.text(), group.servers[0].Pod))
			continue
		}
		out = append(out, ofServers(group, alone(group, groups)))
	}
	nameAll(out)
	tellApart(out)
	return out, notes
}

// ofModel makes the candidates of a model: one for each of its workloads, as far as a label tells their series apart.
func ofModel(f Found, m Model, taken map[string]string) (out []Candidate, note string) {
	if note := unusable(m); note != "" {
		return nil, note
	}
	c := Candidate{
		Name: shortName(m), Labels: m.Labels, LabelsSure: true,
		LabelsWhy: fmt.Sprintf("The labels of its series, such as %s of %s.", m.Metric, enginesText(m)),
	}
	servers, lost := serversOf(f, m)
	groups := byWorkload(servers)
	switch {
	case !f.Kubernetes.Asked:
		c.Workload = Guess[incident.WorkloadRef]{
			Why:      "Kubernetes was not read.",
			Question: "Which object runs this model? Without it nothing can be changed, and no pod is looked at.",
			Others:   []incident.WorkloadRef{likely(c, m)},
		}
		return []Candidate{c}, ""
	case len(groups) == 0:
		c.Workload = Guess[incident.WorkloadRef]{
			Why:      "No pod of this cluster belongs to these series" + lost + ".",
			Question: "Which object runs this model? Is it in another cluster?",
		}
		return []Candidate{c}, ""
	case len(groups) == 1:
		c.Servers, c.Container = groups[0].servers, containerOf(groups[0].servers)
		c.Workload = groups[0].claim(m.Name, taken)
		return []Candidate{c}, ""
	}
	return severalWorkloads(c, m, groups, taken), ""
}

// unusable says why a model can be no pool now; empty when it can.
func unusable(m Model) string {
	switch {
	case m.Gone:
		seen := ""
		if !m.LastSeen.IsZero() {
			seen = ", last at " + m.LastSeen.UTC().Format("15:04 UTC")
		}
		return fmt.Sprintf("%s had metrics in the last hour%s, and has none now. Run init again when it serves.", m.Name,
			seen)
	case m.Unread != "":
		return fmt.Sprintf("%s was left out: %s.", m.Name, m.Unread)
	case len(m.Labels) == 0:
		return fmt.Sprintf("%s was left out: its series carry no label that distinguishes them from others.", m.Name)
	case len(m.Overlaps) > 0:
		return fmt.Sprintf("%s was left out: its series carry no label that distinguishes them from those of %s.", m.Name,
			strings.Join(m.Overlaps, ", "))
	}
	return ""
}

// severalWorkloads splits a model among its workloads by a label of its series; without one they stay together, and a
// person has to say which workload is meant.
func severalWorkloads(c Candidate, m Model, groups []group, taken map[string]string) []Candidate {
	label := tellingLabel(m, groups)
	if label == "" {
		c.Workload = Guess[incident.WorkloadRef]{
			Why: fmt.Sprintf("Several workloads serve it (%s), and no label of their series tells them apart.",
				groupNames(groups)),
			Question: "Which of them is meant? Add the label of a PodMonitor (podTargetLabels) that differs, and a pool each.",
		}
		for _, g := range groups {
			c.Servers = append(c.Servers, g.servers...)
			if g.ok {
				c.Workload.Others = append(c.Workload.Others, g.ref)
			}
		}
		return []Candidate{c}
	}
	var out []Candidate
	for _, g := range groups {
		own := c
		own.Labels = maps.Clone(c.Labels)
		own.Labels[label] = labelOf(m, g, label)
		own.Name = cmp.Or(g.ref.Name, c.Name+"-"+own.Labels[label])
		own.Servers, own.Container = g.servers, containerOf(g.servers)
		own.Workload = g.claim(m.Name, taken)
		own.LabelsWhy = fmt.Sprintf("%s Several workloads serve it (%s); the label %s tells their series apart. An alert "+
			"without it belongs to none of them.", c.LabelsWhy, groupNames(groups), label)
		out = append(out, own)
	}
	return out
}

// alone says that no other workload of a namespace runs vLLM.
func alone(g group, all []group) bool {
	return !slices.ContainsFunc(all, func(o group) bool {
		return o.ref != g.ref && o.servers[0].Namespace == g.servers[0].Namespace
	})
}

// ofServers makes the candidate of a workload that Prometheus was not asked about. One that is alone in its namespace
// is known by that.
func ofServers(g group, alone bool) Candidate {
	c := Candidate{Servers: g.servers, Container: containerOf(g.servers), Workload: g.claim("", map[string]string{})}
	c.Labels = map[string]string{"namespace": g.servers[0].Namespace}
	name := ""
	for _, s := range g.servers {
		if len(s.ModelNames) > 0 {
			name = s.ModelNames[0]
		}
	}
	c.Name = cmp.Or(g.ref.Name, g.servers[0].Pod)
	if name == "" {
		c.LabelsWhy = "Prometheus was not read, and the command line of vLLM does not say what it calls its model."
		c.NoMatch = "the model's name is not known"
		if c.LabelsSure = alone; alone {
			c.LabelsWhy += " No other workload of the namespace runs vLLM."
		}
		return c
	}
	c.Labels["model_name"] = name
	c.LabelsWhy = "Prometheus was not read; the model's name is the one that the command line of pod " + g.servers[0].Pod +
		" gives."
	return c
}

// nameAll makes the names unique, with the namespace, then with a number.
func nameAll(all []Candidate) {
	for _, more := range []func(i int) string{
		func(i int) string { return cmp.Or(all[i].Namespace(), "pool") + "-" + all[i].Name },
		func(i int) string { return fmt.Sprintf("%s-%d", all[i].Name, i+1) },
	} {
		count := map[string]int{}
		for _, c := range all {
			count[c.Name]++
		}
		for i, c := range all {
			if count[c.Name] > 1 {
				all[i].Name = more(i)
			}
		}
	}
}

// tellApart takes the labels for alerts from those that an alert could match as well as another: the configuration
// refuses both.
func tellApart(all []Candidate) {
	for i := range all {
		for j := range all[:i] {
			if incident.Ambiguous(all[i].Pool(), all[j].Pool()) {
				all[i].NoMatch = "an alert could belong to " + all[j].Name + " as well"
			}
		}
	}
}

// likely is a workload as it is usually written, for a person to correct.
func likely(c Candidate, m Model) incident.WorkloadRef {
	namespace := m.Labels["namespace"]
	if len(m.Engines) > 0 {
		namespace = cmp.Or(m.Engines[0].Namespace, namespace)
	}
	return incident.WorkloadRef{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: cmp.Or(namespace, "default"), Name: c.Name, Container: "vllm",
	}
}

// enginesText names some of the engines of a model: "pod llm/llama-70b-0 and 3 others".
func enginesText(m Model) string {
	if len(m.Engines) == 0 {
		return "none"
	}
	e := m.Engines[0]
	text := "instance " + e.Labels["instance"]
	if e.Pod != "" {
		text = "pod " + e.Namespace + "/" + e.Pod
	}
	if more := len(m.Engines) - 1; more > 0 {
		text += " and " + count(int64(more), "other")
	}
	return text
}

// shortName is the last part of what vLLM calls a model.
func shortName(m Model) string {
	name := path.Base(cmp.Or(m.ModelName, m.Labels["job"], m.Name))
	return strings.ToLower(strings.Trim(name, "/. "))
}
