package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
)

// SurveyOptions say which models are looked at.
type SurveyOptions struct {
	// SLO are the targets that every model is held against.
	SLO incident.SLO
	// Match are labels that the models' series must have.
	Match map[string]string
	// Names narrows to models with these names, or to which vLLM gives these names; empty: all.
	Names []string
	// Progress is told how many of the models have been looked at; nil is told nothing.
	Progress func(done, all int)
}

// Survey is what one look at every model of a Prometheus says. Its JSON form is what -o json prints.
type Survey struct {
	At  time.Time    `json:"at"`
	SLO incident.SLO `json:"slo"`
	// Models are those that were looked at, the worst first.
	Models []SurveyedModel `json:"models"`
	Rules  SurveyedRules   `json:"alertRules"`
}

// SurveyedModel is what is said of one model.
type SurveyedModel struct {
	// Name is unique; Labels are the matchers of its series.
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	// LastSeen is the time of the newest sample of a model without metrics now; zero when there are some.
	LastSeen time.Time `json:"lastSeen,omitzero"`

	incident.Assessment

	// Incident is what the bot would say of it.
	Incident incident.Incident `json:"incident"`
}

// SurveyedRules are the vLLM alert rules of the Prometheus.
type SurveyedRules struct {
	// Text says in a line what was found, or why nothing could be.
	Text string `json:"text"`
	// Unasked says that there is nobody to ask, or nothing loaded.
	Unasked bool `json:"unasked,omitempty"`
	// Error says that they could not be read.
	Error bool `json:"error,omitempty"`
	// Rules are those with something to tell.
	Rules []RuleFinding `json:"rules"`
}

// Never are the names of the rules that can never fire.
func (r SurveyedRules) Never() []string {
	var out []string
	for _, f := range r.Rules {
		if f.Never {
			out = append(out, f.Name)
		}
	}
	return out
}

// Wrong says that somebody has to look: at a model, or at the alert rules.
func (s Survey) Wrong() bool {
	return s.Rules.Error || len(s.Rules.Never()) > 0 ||
		slices.ContainsFunc(s.Models, func(m SurveyedModel) bool { return m.Health.Wrong() })
}

// NoModelError says that no model was found that fits.
type NoModelError struct {
	// Asked is the name that no model has; empty when there is no model at all.
	Asked string
	// Known are the names that there are; Short are those that vLLM gives.
	Known, Short []string
}

// Error names what was asked for.
func (e *NoModelError) Error() string {
	if e.Asked == "" {
		return "no vLLM model has metrics here"
	}
	return fmt.Sprintf("no model %q has metrics here", e.Asked)
}

func (s SurveyOptions) tell(done, all int) {
	if s.Progress != nil {
		s.Progress(done, all)
	}
}

// modelsAtOnce is how many models are looked at side by side. Each asks as many queries as the client lets through, so
// that more of them would only wait for each other within their deadlines.
const modelsAtOnce = 3

// Examine looks at every vLLM model that a Prometheus knows, without a configuration of pools and without Kubernetes:
// which are there, how each is against the targets, what is wrong and what to do. It is read-only. Only
// opts.Config.Prometheus matters. An error says that nothing could be read; a *NoModelError, that there is no such
// model. What cannot be read of a single model stands at that model.
func Examine(ctx context.Context, opts Options, s SurveyOptions) (Survey, error) {
	parts, err := newClients(opts.Config, opts, nil)
	if err != nil {
		return Survey{}, err
	}
	if opts.Now == nil {
		opts.Now = time.Now
	}
	out := Survey{At: opts.Now().UTC().Truncate(time.Second), SLO: s.SLO}
	all, err := parts.collector.Models(ctx, s.Match)
	if err != nil {
		return out, err
	}
	models, err := named(all, s.Names)
	if err != nil {
		return out, err
	}
	var wg rescue.Group
	wg.Go(func() { out.Rules = surveyRules(ctx, parts.collector) })
	out.Models, err = assessAll(ctx, opts, parts.collector, models, s)
	wg.Wait()
	if err := errors.Join(err, context.Cause(ctx)); err != nil {
		return out, err
	}
	slices.SortStableFunc(out.Models, worseFirst)
	return out, nil
}

// named are the models with these names; all of them where none is given.
func named(all []evidence.Model, names []string) ([]evidence.Model, error) {
	if len(all) == 0 {
		return nil, &NoModelError{}
	}
	if len(names) == 0 {
		return all, nil
	}
	wanted := map[string]bool{}
	for _, name := range names {
		found := false
		for _, m := range all {
			if m.Name == name || m.ModelName() == name {
				wanted[m.Name], found = true, true
			}
		}
		if !found {
			e := &NoModelError{Asked: name}
			for _, m := range all {
				e.Known, e.Short = append(e.Known, m.Name), append(e.Short, m.ModelName())
			}
			return nil, e
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(m evidence.Model) bool { return !wanted[m.Name] }), nil
}

// assessAll looks at the models side by side.
func assessAll(
	ctx context.Context, opts Options, c *evidence.Collector, models []evidence.Model, s SurveyOptions,
) ([]SurveyedModel, error) {
	pools := make([]incident.Pool, len(models))
	for i, m := range models {
		pools[i] = incident.Pool{Name: m.Name, Matchers: m.Labels, SLO: s.SLO, Mode: incident.ModeDryRun}
	}
	investigator, err := remediation.NewInvestigator(pools, policy.Defaults(), remediation.InvestigatorDeps{
		Collector: nowOnly{c}, Playbooks: opts.Catalog, Logger: opts.Logger, Now: opts.Now,
	})
	if err != nil {
		return nil, err
	}
	out := make([]SurveyedModel, len(models))
	turn, done := make(chan struct{}, modelsAtOnce), make(chan struct{}, len(models))
	var wg rescue.Group
	for i, m := range models {
		wg.Go(func() {
			turn <- struct{}{}
			defer func() { <-turn; done <- struct{}{} }()
			out[i] = SurveyedModel{Name: m.Name, Labels: m.Labels, LastSeen: m.LastSeen}
			out[i].Assessment, out[i].Incident = assess(ctx, investigator, m, len(s.Names) > 0, opts.Now())
		})
	}
	for i := range models {
		s.tell(i, len(models))
		<-done
	}
	s.tell(len(models), len(models))
	wg.Wait()
	return out, nil
}

// assess looks at one model. One whose series cannot be told from another's is not judged by the sum of both.
func assess(
	ctx context.Context, i *remediation.Investigator, m evidence.Model, usual bool, at time.Time,
) (incident.Assessment, incident.Incident) {
	unread := incident.Assessment{Health: incident.HealthUnread, Targets: []incident.Condition{}}
	if len(m.Overlaps) > 0 {
		unread.Why = "its series carry no label that distinguishes them from those of " + strings.Join(m.Overlaps, ", ")
		return unread, incident.New("", m.Name, incident.ModeDryRun, true, at)
	}
	got, err := i.Assess(ctx, m.Name, usual)
	if err != nil {
		unread.Why = err.Error()
		return unread, incident.New("", m.Name, incident.ModeDryRun, true, at)
	}
	return got.Assessment, got.Incident
}

// nowOnly is a collector for somebody who looks at the present values: without their past, which no chart shows.
type nowOnly struct{ *evidence.Collector }

// Collect reads the signals.
func (n nowOnly) Collect(
	ctx context.Context, pool incident.Pool, signals []incident.Signal, scope incident.Scope,
) incident.Evidence {
	return n.Collector.Collect(ctx, pool, signals,
		evidence.CollectOptions{Baseline: scope.Usual, Alerts: scope.Alerts})
}

// worseFirst sorts by the word, then by how far the worst target is exceeded, then by how many requests wait. Where a
// problem keeps every target from being measured, nothing is answered at all: that is the worst.
func worseFirst(a, b SurveyedModel) int {
	if a.Health != b.Health {
		return map[bool]int{true: -1, false: 1}[a.Health.Worse(b.Health)]
	}
	return cmp.Or(cmp.Compare(b.excess(), a.excess()), cmp.Compare(b.waiting(), a.waiting()),
		cmp.Compare(a.Name, b.Name))
}

func (m SurveyedModel) excess() float64 {
	if m.Health == incident.HealthProblem && m.Excess == 0 {
		return math.Inf(1)
	}
	return m.Excess
}

func (m SurveyedModel) waiting() float64 {
	if r := m.Incident.Readings[incident.SignalWaiting]; r.HasValue() {
		return *r.Value
	}
	return 0
}

// surveyRules is liveRules for a survey.
func surveyRules(ctx context.Context, c *evidence.Collector) SurveyedRules {
	f := liveRules(ctx, c)
	out := SurveyedRules{
		Text: f.Text, Unasked: f.Unasked, Rules: append([]RuleFinding{}, f.Rules...),
	}
	out.Error = !f.Good && !f.Unasked && len(out.Never()) == 0
	return out
}
