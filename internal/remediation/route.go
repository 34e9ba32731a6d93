package remediation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// poolOf finds the pool that labels lead to: the match labels first, the most specific one, then instance -> pod -> owner. The empty name
// means that they lead nowhere; an error that somebody could not be asked.
func (e *Engine) poolOf(ctx context.Context, labels map[string]string, asked *owners) (string, string, error) {
	if p, ok := MatchPool(e.cfg.Pools, labels); ok {
		return p.Name, "", nil
	}
	owners, how, err := asked.find(ctx, e.deps.Collector, labels)
	switch {
	case errors.Is(err, ErrNoWorkload):
		return "", "", nil
	case err != nil:
		return "", "", err
	}
	for _, ref := range slices.Backward(owners) {
		for _, p := range e.cfg.Pools {
			if sameWorkload(p.Workload, ref) {
				return p.Name, how, nil
			}
		}
	}
	if len(owners) == 0 {
		return "", "", nil
	}
	return "", fmt.Sprintf("The alert leads to %s, which no pool names.", owners[len(owners)-1]), nil
}

// owners remembers, for one delivery, whose owner was asked for: alerts that differ in their rule only share an answer, and an API server that does
// not answer is waited for once.
type owners struct {
	known map[string]owner
	down  error
}

type owner struct {
	refs []incident.WorkloadRef
	how  string
	err  error
}

func (o *owners) find(ctx context.Context, c Collector, labels map[string]string) ([]incident.WorkloadRef, string, error) {
	if o.down != nil {
		return nil, "", o.down
	}
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if name != "alertname" && name != "severity" {
			fmt.Fprintf(&key, "%q=%q ", name, labels[name])
		}
	}
	answer, ok := o.known[key.String()]
	if !ok {
		answer.refs, answer.how, answer.err = c.FindOwners(ctx, labels)
		if o.known == nil {
			o.known = map[string]owner{}
		}
		o.known[key.String()] = answer
	}
	if answer.err != nil && !errors.Is(answer.err, ErrNoWorkload) {
		o.down = answer.err
	}
	return answer.refs, answer.how, answer.err
}

// MatchPool returns the pool whose match labels all stand in the labels; of several the one with the most. Ties between pools are refused
// when the configuration is read (Ambiguous).
func MatchPool(pools []incident.Pool, labels map[string]string) (incident.Pool, bool) {
	best, found := incident.Pool{}, false
	for _, p := range pools {
		if len(p.Match) == 0 || !contains(labels, p.Match) {
			continue
		}
		if !found || len(p.Match) > len(best.Match) {
			best, found = p, true
		}
	}
	return best, found
}

// Ambiguous says whether an alert could match both pools equally well: as many match labels, and none that contradict.
func Ambiguous(a, b incident.Pool) bool {
	if len(a.Match) == 0 || len(a.Match) != len(b.Match) {
		return false
	}
	for k, v := range a.Match {
		if w, ok := b.Match[k]; ok && v != w {
			return false
		}
	}
	return true
}

func contains(labels, want map[string]string) bool {
	for k, v := range want {
		if labels[k] != v {
			return false
		}
	}
	return true
}

func sameWorkload(a, b incident.WorkloadRef) bool {
	group := func(v string) string {
		if g, _, ok := strings.Cut(v, "/"); ok {
			return g
		}
		return ""
	}
	return a.Name != "" && a.Name == b.Name && a.Namespace == b.Namespace && a.Kind == b.Kind && group(a.APIVersion) == group(b.APIVersion)
}

// advised bounds the examples in an advice; whoever has more models without a pool has seen the pattern by then.
const advised = 3

// adviceFor says what to add to the configuration so that such alerts lead to a pool: one example for each model, and how many more there are. When there
// are too many to name, those that fire come first: they are what the reader is asked about.
func adviceFor(alerts []incident.Alert) string {
	var b strings.Builder
	b.WriteString("No pool for these alerts, so nothing can be looked at or proposed. Add one like this:\npools:")
	models := modelsOf(alerts)
	if len(models) > advised {
		models = modelsOf(slices.Concat(incident.Incident{Alerts: alerts}.Firing(), alerts))
	}
	for _, m := range models[:min(len(models), advised)] {
		b.WriteString(example(m.namespace, m.name))
	}
	if more := len(models) - advised; more > 0 {
		fmt.Fprintf(&b, "\n  # and %d more", more)
	}
	return b.String()
}

// model is what alerts say of the model that they are about; either may be empty.
type model struct{ namespace, name string }

// modelsOf lists the different models in the order of the alerts.
func modelsOf(alerts []incident.Alert) []model {
	var out []model
	for _, a := range alerts {
		if m := (model{a.Labels["namespace"], a.Labels["model_name"]}); !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	return out
}

// example is a pool in the configuration's own form.
func example(ns, model string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n  - name: %s\n", scalar(cmp.Or(model, "my-model")))
	var pairs []string
	if model != "" {
		pairs = append(pairs, fmt.Sprintf("model_name: %q", model))
	}
	if ns != "" {
		pairs = append(pairs, fmt.Sprintf("namespace: %q", ns))
	}
	if len(pairs) > 0 {
		fmt.Fprintf(&b, "    match: {%s}\n    matchers: {%s}\n", strings.Join(pairs, ", "), strings.Join(pairs, ", "))
	}
	fmt.Fprintf(&b, "    workload: {apiVersion: apps/v1, kind: Deployment, namespace: %s, name: %s, container: vllm}",
		scalar(cmp.Or(ns, "my-namespace")), scalar(cmp.Or(model, "my-model")))
	return b.String()
}

// plain are values that YAML takes without quotes; a label may hold anything.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9._/-]*$`)

func scalar(s string) string {
	if plain.MatchString(s) {
		return s
	}
	return strconv.Quote(s)
}
