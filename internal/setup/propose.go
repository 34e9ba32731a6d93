package setup

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Proposal is a configuration with the reasons for all that is in it.
type Proposal struct {
	At time.Time
	// From says what was read, Notes what else a person should know.
	From, Notes []string
	Prometheus  Guess[string]
	// Connection is how Prometheus is asked beyond its address.
	Connection Prometheus
	// Kubernetes says that the bot is to use its cluster.
	Kubernetes bool
	Given      Given
	Pools      []Pool
}

// Pool is one proposed pool.
type Pool struct {
	Name     string
	Match    Guess[map[string]string]
	Matchers Guess[map[string]string]
	Workload Guess[incident.WorkloadRef]
	// Autoscaler scales the workload; zero where none does.
	Autoscaler incident.AutoscalerRef
	Route      Guess[incident.RouteRef]
	SLO        Guess[string]
	Knobs      []Knob
}

// Sure says that the configuration takes the pool as it is.
func (p Pool) Sure() bool { return p.Matchers.Sure && (p.Match.Sure || p.Workload.Sure) }

// Answers are what was read for one candidate.
type Answers struct {
	// Profiles are how the last day was; Unread says why that is not known.
	Profiles []Profile
	Unread   string
	Routes   []Route
	// Autoscaler scales the workload; zero where none does.
	Autoscaler incident.AutoscalerRef
	Knobs      []KnobAnswer
}

// Route is a route that leads to the pods of a candidate; By is what stands between: "Service llama-70b".
type Route struct {
	incident.RouteRef

	By string
}

// NothingError says that no pool could be proposed, and what a person should look at.
type NothingError struct{ Notes []string }

// Error has what was seen on a line each.
func (e *NothingError) Error() string {
	return strings.Join(append([]string{"no model served by vLLM was found"}, e.Notes...), "\n")
}

// Propose makes a configuration of what was found and answered. answers are those of the candidates, in their order.
// A *NothingError says that there is none.
func Propose(f Found, candidates []Candidate, answers []Answers, notes []string) (Proposal, error) {
	out := Proposal{
		At: f.At, Prometheus: prometheusOf(f), Connection: f.Prometheus, Kubernetes: f.Kubernetes.Asked, Given: f.Given,
		Notes: notes,
	}
	for i, c := range candidates {
		out.Pools = append(out.Pools, poolOf(c, answers[i]))
	}
	sure := 0
	for _, p := range out.Pools {
		if p.Sure() {
			sure++
		}
	}
	if sure == 0 {
		return out, nothing(f, out.Pools, notes)
	}
	out.From = readFrom(f)
	for _, u := range f.Kubernetes.Unread {
		out.Notes = append(out.Notes, "Not read: "+sentence(u))
	}
	if !f.Prometheus.Asked {
		out.Notes = append(out.Notes, "Prometheus was not read. With --prometheus URL the labels are those of real series, "+
			"and the targets are compared with the last day.")
	}
	if !f.Kubernetes.Asked {
		out.Notes = append(out.Notes, "Kubernetes was not read ("+f.Kubernetes.Missing+
			"), so workloads, owners and knobs are not known.")
	}
	return out, nil
}

func nothing(f Found, pools []Pool, notes []string) error {
	e := &NothingError{Notes: notes}
	for _, p := range pools {
		e.Notes = append(e.Notes, fmt.Sprintf("%s: %s %s", p.Name, p.Matchers.Why, p.Match.Question))
	}
	if f.Prometheus.Asked {
		e.Notes = append(e.Notes, "Check that Prometheus scrapes the vLLM servers (/metrics on their API port), and --match "+
			"and --namespace if you gave them.")
	} else {
		e.Notes = append(e.Notes, "Give --prometheus URL: what it scrapes shows models that no command line names.")
	}
	return e
}

func readFrom(f Found) []string {
	var out []string
	if f.Prometheus.Asked {
		text := "Prometheus at " + f.Prometheus.URL
		if f.Prometheus.Rules != "" {
			text += "; its alert rules: " + f.Prometheus.Rules
		}
		out = append(out, text+".")
	}
	if f.Kubernetes.Asked {
		out = append(out, "Kubernetes, "+f.Kubernetes.Name+".")
	}
	return out
}

func poolOf(c Candidate, a Answers) Pool {
	p := Pool{Name: c.Name, Workload: c.Workload, Route: RouteOf(a.Routes), SLO: profileOf(a.Profiles, a.Unread)}
	p.Matchers = Guess[map[string]string]{Value: c.Labels, Sure: c.NoMatch == "" || c.LabelsSure, Why: c.LabelsWhy}
	p.Match = Guess[map[string]string]{Value: c.Labels, Sure: c.NoMatch == ""}
	if !p.Match.Sure {
		p.Match.Why = "Not by labels: " + c.NoMatch + "."
		p.Match.Question = "By which labels does an alert belong here?"
	}
	if !c.LabelsSure {
		p.Matchers.Question = "Do the series of vLLM carry these labels? vllm-medic check --live says so."
	}
	if c.Container.Sure {
		p.Workload.Value.Container = c.Container.Value
	}
	if c.Workload.Sure {
		p.Workload.Why = strings.TrimSpace(p.Workload.Why + " " + c.Container.Why)
		p.Workload.Question = c.Container.Question
	}
	p.Knobs, p.Autoscaler = knobsOf(a.Knobs), a.Autoscaler
	return p
}

func knobsOf(all []KnobAnswer) []Knob {
	var out []Knob
	var throttles []KnobAnswer
	for _, a := range all {
		switch a.Kind { //nolint:exhaustive // all others are engine arguments
		case incident.StepReplicas:
			out = append(out, replicasKnob(a))
		case incident.StepThrottle:
			throttles = append(throttles, a)
		default:
			out = append(out, argumentKnob(a))
		}
	}
	if k, found := throttleKnob(throttles); found {
		out = append(out, k)
	}
	return out
}

// guessedPrometheus is where prometheus-operator, and so kube-prometheus-stack, has Prometheus.
const guessedPrometheus = "http://prometheus-operated.monitoring.svc:9090"

// prometheusOf is the address for the bot, which runs in the cluster: one of this machine leads nowhere there.
func prometheusOf(f Found) Guess[string] {
	p := f.Prometheus
	out := Guess[string]{Value: p.URL, Sure: true, Why: "From --prometheus."}
	local := p.Asked && isLocal(p.URL)
	switch {
	case p.Asked && !local:
		return out
	case len(p.Services) > 0:
		out.Value, out.Others = p.Services[0], p.Services[1:]
		out.Why = "The Service with the label " + p.Label + "."
		if local {
			out.Why += " " + p.URL + " is reachable from this machine only."
		}
		if len(out.Others) > 0 {
			out.Question = "Which of these Prometheuses has the series of vLLM?"
		}
	case local:
		out.Why = "From --prometheus, which is reachable from this machine only."
		out.Question = "Which address does it have in the cluster? kube-prometheus-stack's is " + guessedPrometheus + "."
	default:
		out.Value = guessedPrometheus
		out.Why = "No Service of a Prometheus was found; this is where kube-prometheus-stack has it."
		out.Question = "Which Prometheus has the series of vLLM?"
	}
	return out
}

// inCluster is the address for a bot that surely runs in a pod, where an address of this machine is the pod itself.
func inCluster(g Guess[string]) Guess[string] {
	if !isLocal(g.Value) {
		return g
	}
	return Guess[string]{
		Value: guessedPrometheus, Sure: g.Sure, Others: g.Others,
		Why: g.Value + " is reachable from this machine only, and no Service of a Prometheus was found; this is where " +
			"kube-prometheus-stack has it.",
		Question: "Is Prometheus there?",
	}
}

// isLocal says that an address is one of the machine itself.
func isLocal(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}

// RouteOf is the one route that leads to a pool's pods; several are a question.
func RouteOf(all []Route) Guess[incident.RouteRef] {
	switch len(all) {
	case 0:
		return Guess[incident.RouteRef]{}
	case 1:
		return Guess[incident.RouteRef]{
			Value: all[0].RouteRef, Sure: true,
			Why: fmt.Sprintf("HTTPRoute %s sends requests to %s, which selects these pods.", all[0].RouteRef, all[0].By),
		}
	}
	out := Guess[incident.RouteRef]{
		Why: "Several routes lead to these pods.", Question: "Which of them do users take?",
	}
	for _, r := range all {
		out.Others = append(out.Others, r.RouteRef)
	}
	return out
}
