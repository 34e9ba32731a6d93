package promembed

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"
)

// The lists of rules and alerts, as web/api/v1 of Prometheus writes them.
type (
	groupsData struct {
		Groups []groupData `json:"groups"`
	}
	groupData struct {
		Name           string    `json:"name"`
		File           string    `json:"file"`
		Rules          []any     `json:"rules"`
		Interval       float64   `json:"interval"`
		Limit          int       `json:"limit"`
		EvaluationTime float64   `json:"evaluationTime"`
		LastEvaluation time.Time `json:"lastEvaluation"`
	}
	alertingData struct {
		recordingData

		State         alertState    `json:"state"`
		Duration      float64       `json:"duration"`
		KeepFiringFor float64       `json:"keepFiringFor"`
		Annotations   labels.Labels `json:"annotations"`
		Alerts        []alertData   `json:"alerts"`
	}
	recordingData struct {
		Name           string        `json:"name"`
		Query          string        `json:"query"`
		Labels         labels.Labels `json:"labels"`
		Health         string        `json:"health"`
		LastError      string        `json:"lastError,omitempty"`
		EvaluationTime float64       `json:"evaluationTime"`
		LastEvaluation time.Time     `json:"lastEvaluation"`
		Type           string        `json:"type"`
	}
	alertsData struct {
		Alerts []alertData `json:"alerts"`
	}
	alertData struct {
		Labels          labels.Labels `json:"labels"`
		Annotations     labels.Labels `json:"annotations"`
		State           alertState    `json:"state"`
		ActiveAt        time.Time     `json:"activeAt"`
		KeepFiringSince *time.Time    `json:"keepFiringSince,omitempty"`
		Value           string        `json:"value"`
	}
)

// errNoFilter refuses the parameters of the list of rules that narrow it.
var errNoFilter = errors.New("this Prometheus lists all rules: rule_name[], rule_group[], file[], match[], type and " +
	"group_limit are not supported")

// ruled answers only once rules are loaded. Without any this is an address that answers queries and lists no rules.
func (p *Prometheus) ruled(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		p.rules.mu.Lock()
		loaded := len(p.rules.groups) > 0
		p.rules.mu.Unlock()
		if !loaded {
			http.NotFound(w, r)
			return
		}
		next(w, r)
	}
}

func (p *Prometheus) listRules(r *http.Request) (any, annotations.Annotations, error) {
	if err := r.ParseForm(); err != nil {
		return nil, nil, badData(err)
	}
	narrowing := []string{"rule_name[]", "rule_group[]", "file[]", "match[]", "type", "group_limit"}
	if slices.ContainsFunc(narrowing, r.Form.Has) {
		return nil, nil, badData(errNoFilter)
	}
	bare, err := strconv.ParseBool(strings.ToLower(r.FormValue("exclude_alerts")))
	if r.Form.Has("exclude_alerts") && err != nil {
		return nil, nil, badParam("exclude_alerts", fmt.Errorf("error converting exclude_alerts: %w", err))
	}
	p.rules.mu.Lock()
	defer p.rules.mu.Unlock()
	out := groupsData{Groups: []groupData{}}
	for _, g := range p.rules.groups {
		group := groupData{
			Name: g.name, File: g.file, Rules: []any{}, Interval: p.rules.every.Seconds(),
			EvaluationTime: g.took.Seconds(), LastEvaluation: g.evaluated.UTC(),
		}
		for _, rule := range g.rules {
			group.Rules = append(group.Rules, rule.data(bare))
		}
		out.Groups = append(out.Groups, group)
	}
	return out, nil, nil
}

func (r *rule) data(bare bool) any {
	base := recordingData{
		Name: r.name, Query: r.expr.String(), Labels: r.labels, Health: "ok", EvaluationTime: r.took.Seconds(),
		LastEvaluation: r.evaluated.UTC(), Type: "recording",
	}
	state := stateInactive
	switch {
	case r.evaluated.IsZero():
		state, base.Health = "unknown", "unknown"
	case r.failed != nil:
		base.Health, base.LastError = "err", r.failed.Error()
	}
	if r.records {
		return base
	}
	base.Type = "alerting"
	out := alertingData{
		recordingData: base, State: state, Duration: r.hold.Seconds(), KeepFiringFor: r.keepFiring.Seconds(),
		Annotations: r.annotations,
	}
	all := r.alertsNow()
	for _, a := range all {
		if a.State == stateFiring || out.State != stateFiring {
			out.State = a.State
		}
	}
	if !bare {
		out.Alerts = all
	}
	return out
}

// alertsNow are the alerts that are pending or fire, by the order of their labels.
func (r *rule) alertsNow() []alertData {
	out := []alertData{}
	for _, a := range r.active {
		if a.state == stateInactive {
			continue
		}
		one := alertData{
			Labels: a.labels, Annotations: a.annotations, State: a.state, ActiveAt: a.since.UTC(),
			Value: strconv.FormatFloat(a.value, 'e', -1, 64),
		}
		if !a.cleared.IsZero() {
			since := a.cleared.UTC()
			one.KeepFiringSince = &since
		}
		out = append(out, one)
	}
	slices.SortFunc(out, func(a, b alertData) int { return labels.Compare(a.Labels, b.Labels) })
	return out
}

// AlertState is an alert that is pending or fires.
type AlertState struct {
	Name, State string
	Since       time.Time
}

// Alerts are those that are pending or fire since the last EvaluateRules, in the order of the rules.
func (p *Prometheus) Alerts() []AlertState {
	p.rules.mu.Lock()
	defer p.rules.mu.Unlock()
	var out []AlertState
	for _, g := range p.rules.groups {
		for _, r := range g.rules {
			for _, a := range r.alertsNow() {
				out = append(out, AlertState{Name: r.name, State: string(a.State), Since: a.ActiveAt})
			}
		}
	}
	return out
}

func (p *Prometheus) listAlerts(*http.Request) (any, annotations.Annotations, error) {
	p.rules.mu.Lock()
	defer p.rules.mu.Unlock()
	out := alertsData{Alerts: []alertData{}}
	for _, g := range p.rules.groups {
		for _, r := range g.rules {
			out.Alerts = append(out.Alerts, r.alertsNow()...)
		}
	}
	return out, nil, nil
}
