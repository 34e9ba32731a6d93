package remediation

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// advise brings the advice of an incident without a pool up to date: alerts of other models may have joined, or gone on
// to their pool. The message shows it; the thread has said which alert came.
func (e *Engine) advise(ctx context.Context, t *turn) error {
	advice := incident.Noted{Note: adviceFor(t.inc.Alerts), Silent: true}
	if t.inc.Said.Same(advice.Note) {
		return e.retryLater(ctx, t, e.cfg.Timing.Watch)
	}
	return e.commit(ctx, t, advice, extra{asRead: true})
}

// advised bounds the examples in an advice; whoever has more models without a pool has seen the pattern by then.
const advised = 3

// adviceFor says what to add to the configuration so that such alerts lead to a pool: one example for each model, and
// how many more there are. When there are too many to name, those that fire come first: they are what the reader is
// asked about.
func adviceFor(alerts []incident.Alert) incident.Note {
	var b strings.Builder
	b.WriteString("pools:")
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
	return incident.Note{Kind: incident.NoteNoPool, Config: b.String()}
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
