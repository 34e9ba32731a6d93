package promembed

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/strutil"
)

// Names of the series that tell of alerts, and of their label.
const (
	alertsMetric   = "ALERTS"
	forStateMetric = "ALERTS_FOR_STATE"
	stateLabel     = "alertstate"
)

// resolvedFor is how long Prometheus goes on to tell Alertmanager that an alert is resolved.
const resolvedFor = 15 * time.Minute

// sendsMissed is how many sends may fail before an alert that fires counts as resolved.
const sendsMissed = 4

type alertState string

// The states of an alert, as ALERTS spells them.
const (
	stateInactive alertState = "inactive"
	statePending  alertState = "pending"
	stateFiring   alertState = "firing"
)

// activeAlert is one alert of a rule, from the first time that its expression held until it was told as resolved.
type activeAlert struct {
	labels, annotations          labels.Labels
	state                        alertState
	value                        float64
	since, fired, resolved, sent time.Time
	cleared                      time.Time // since when a firing alert's expression does not hold; zero: it holds
}

func (p *Prometheus) evaluateAlert(ctx context.Context, r *rule, at time.Time) error {
	held, err := p.held(ctx, r, at)
	if err != nil {
		return err
	}
	for id, a := range held {
		if old, ok := r.active[id]; ok && old.state != stateInactive {
			old.value, old.annotations = a.value, a.annotations
			continue
		}
		r.active[id] = a
	}
	for id, a := range r.active {
		if _, holds := held[id]; holds {
			r.holding(a, at)
		} else if r.ceased(a, at) {
			delete(r.active, id)
		}
	}
	return p.writeAlerts(r, at)
}

// holding advances an alert whose expression holds.
func (r *rule) holding(a *activeAlert, at time.Time) {
	a.cleared = time.Time{}
	if a.state == statePending && at.Sub(a.since) >= r.hold {
		a.state, a.fired = stateFiring, at
	}
}

// ceased advances an alert whose expression does not hold, and says whether to forget it.
func (r *rule) ceased(a *activeAlert, at time.Time) bool {
	switch a.state {
	case statePending:
		return true
	case stateFiring:
		if a.cleared.IsZero() {
			a.cleared = at
		}
		if at.Sub(a.cleared) >= r.keepFiring {
			a.state, a.resolved = stateInactive, at
		}
		return false
	case stateInactive:
		return at.Sub(a.resolved) > resolvedFor
	default:
		return true // there is no other
	}
}

// held are the alerts for which the rule's expression holds, all pending, by the hash of their labels.
func (p *Prometheus) held(ctx context.Context, r *rule, at time.Time) (map[uint64]*activeAlert, error) {
	found, err := p.vector(ctx, r.expr.String(), at)
	if err != nil {
		return nil, err
	}
	out := make(map[uint64]*activeAlert, len(found))
	for _, sample := range found {
		b := labels.NewBuilder(sample.Metric).Del(model.MetricNameLabel)
		r.labels.Range(func(l labels.Label) { b.Set(l.Name, p.expand(ctx, r, sample, l.Value, at)) })
		ls := b.Set(model.AlertNameLabel, r.name).Labels()
		if _, twice := out[ls.Hash()]; twice {
			return nil, errSameAlerts
		}
		notes := labels.NewBuilder(labels.EmptyLabels())
		r.annotations.Range(func(l labels.Label) { notes.Set(l.Name, p.expand(ctx, r, sample, l.Value, at)) })
		out[ls.Hash()] = &activeAlert{
			labels: ls, annotations: notes.Labels(), state: statePending, value: sample.F, since: at,
		}
	}
	return out, nil
}

// templateHead declares what templates of rules may use without knowing Go's.
const templateHead = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}" +
	"{{$value := .Value}}"

// expand fills in a template of a rule. One that fails becomes its error, as in Prometheus: the alert matters more.
func (p *Prometheus) expand(ctx context.Context, r *rule, s promql.Sample, text string, at time.Time) string {
	data := template.AlertTemplateData(s.Metric.Map(), map[string]string{}, p.rules.external.String(), s)
	out, err := template.NewTemplateExpander(ctx, templateHead+text, "__alert_"+r.name, data,
		model.TimeFromUnixNano(at.UnixNano()), p.vector, p.rules.external, nil).Expand()
	if err != nil {
		return fmt.Sprintf("<error expanding template: %s>", err)
	}
	return out
}

// writeAlerts writes the series that tell of the alerts.
func (p *Prometheus) writeAlerts(r *rule, at time.Time) error {
	var out results
	for _, a := range r.active {
		if a.state == stateInactive {
			continue
		}
		b := labels.NewBuilder(a.labels)
		out.add(b.Set(model.MetricNameLabel, forStateMetric).Labels(), float64(a.since.Unix()), at)
		out.add(b.Set(model.MetricNameLabel, alertsMetric).Set(stateLabel, string(a.state)).Labels(), 1, at)
	}
	return p.write(r, out, at)
}

// due are the alerts of a rule that Alertmanager is to be told now.
func (s *ruleSet) due(r *rule, at time.Time) []Alert {
	var out []Alert
	for _, a := range r.active {
		if a.state == statePending || !a.resolved.After(a.sent) && !a.sent.Add(s.resend).Before(at) {
			continue
		}
		a.sent = at
		told := Alert{
			Labels: a.labels.Map(), Annotations: a.annotations.Map(), StartsAt: a.fired, EndsAt: a.resolved,
			GeneratorURL: s.external.String() + strutil.TableLinkForExpression(r.expr.String()),
		}
		if told.EndsAt.IsZero() {
			told.EndsAt = at.Add(sendsMissed * max(s.every, s.resend))
		}
		out = append(out, told)
	}
	return out
}
