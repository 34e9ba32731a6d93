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

// advise brings the advice of an incident without a pool up to date: alerts of other models may have joined, or gone on
// to their pool. The message shows it; the thread has said which alert came. It says too why alerts lead nowhere, once.
func (e *Engine) advise(ctx context.Context, t *turn, found sought) error {
	wait, more := e.cfg.Timing.Watch, t.unsought(found)
	switch {
	case found.silent:
		wait = e.cfg.Timing.Retry
	case more:
		wait = e.cfg.Timing.Sweep
	}
	show := t.inc.Unshown && (!more || t.now.Sub(t.inc.OpenedAt) >= showWithin)
	if show {
		if done, err := e.openAgain(ctx, t, found); done || err != nil {
			return err
		}
	}
	advice := incident.Noted{
		Note: adviceFor(t.inc.Alerts), Show: show, Silent: !show, Sought: slices.Sorted(maps.Keys(found.nowhere)),
		Routing: found.said.of("", incident.Delivery{}),
	}
	if t.inc.Unshown && !show {
		advice.Note = t.inc.Said
	}
	if t.inc.Said.Same(advice.Note) && len(advice.Sought) == 0 && !show {
		return e.retryLater(ctx, t, wait)
	}
	if err := e.commit(ctx, t, advice, extra{asRead: true, keep: true}); err != nil {
		return err
	}
	return e.retryLater(ctx, t, wait)
}

// openAgain hands alerts that lead nowhere over to the incident without a pool that ended last, when that was a short
// while ago: they open it again, or are late news of it. done is false when there is none that takes them.
func (e *Engine) openAgain(ctx context.Context, t *turn, found sought) (done bool, err error) {
	last, ok, err := e.deps.Inbox.LastClosed(ctx, "", t.now.Add(-e.cfg.Timing.Reopen))
	if err != nil {
		return false, fmt.Errorf("find the last incident without a pool: %w", err)
	}
	alerts := t.inc.Firing()
	if !ok || len(alerts) == 0 {
		return false, nil
	}
	var fingerprints []string
	for _, a := range alerts {
		fingerprints = append(fingerprints, a.Fingerprint)
	}
	events := []incident.Event{incident.AlertsReceived{
		Alerts: alerts, Note: found.said.of("", incident.Delivery{}), Mode: e.cfg.Mode,
		Reopen: e.cfg.Timing.Reopen,
	}}
	taken, err := applied(last, t.now, events...)
	if err == nil && taken.Incident.Open() {
		taken, err = applied(last, t.now, append(events, incident.Noted{
			Note: adviceFor(taken.Incident.Alerts), Silent: true, Sought: fingerprints,
		})...)
	}
	if _, refused := errors.AsType[*incident.RefusedError](err); refused {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	left, err := applied(t.inc, t.now, incident.Rerouted{Fingerprints: fingerprints},
		incident.Closed{By: bot, Note: incident.Note{Kind: incident.NoteNoneFires}})
	if err != nil {
		return false, err
	}
	reopened := e.alertsOutcome(taken, last.Version, t.now)
	err = e.deps.Incidents.Commit(ctx, incident.Change{
		Incident: left.Incident, Expect: t.inc.Version, Fence: t.fence, Entries: left.Entries, Release: true,
	}, reopened.changes[0])
	if errors.Is(err, incident.ErrStale) {
		return true, e.retryLater(ctx, t, 0) // more of them came meanwhile
	}
	if err == nil {
		e.reportIgnored(ctx, reopened.ignored)
	}
	return true, err
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
