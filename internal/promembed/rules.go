package promembed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// ruleSet are the rules that are loaded.
type ruleSet struct {
	every, resend time.Duration
	external      *url.URL

	mu     sync.Mutex
	groups []*ruleGroup
}

type ruleGroup struct {
	file, name string
	rules      []*rule
	evaluated  time.Time
	took       time.Duration
}

// rule is one rule. One that alerts has the alerts; one that records has a name for the metric.
type rule struct {
	name                string
	records             bool
	expr                parser.Expr
	hold, keepFiring    time.Duration
	labels, annotations labels.Labels
	active              map[uint64]*activeAlert
	// written are the series that the last evaluation wrote, by their labels' bytes.
	written   map[string]labels.Labels
	evaluated time.Time
	took      time.Duration
	failed    error
}

// LoadRules reads a rule file in Prometheus' format; file is the name under which it is listed. Call it once for each
// file, before the first EvaluateRules. A group with an interval, a limit or a query_offset of its own is refused.
func (p *Prometheus) LoadRules(file string, text []byte) error {
	read, errs := rulefmt.Parse(text, false, model.UTF8Validation, p.parser, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return fmt.Errorf("%s: %w", file, errors.Join(errs...))
	}
	var groups []*ruleGroup
	for _, g := range read.Groups {
		if g.Interval != 0 || g.Limit != 0 || g.QueryOffset != nil {
			return fmt.Errorf("%s: group %s sets interval, limit or query_offset, which this Prometheus does not have", file,
				g.Name)
		}
		group := &ruleGroup{file: file, name: g.Name}
		for _, r := range g.Rules {
			one, err := p.rule(g, r)
			if err != nil {
				return fmt.Errorf("%s: group %s: %w", file, g.Name, err)
			}
			group.rules = append(group.rules, one)
		}
		groups = append(groups, group)
	}
	p.rules.mu.Lock()
	defer p.rules.mu.Unlock()
	p.rules.groups = append(p.rules.groups, groups...)
	return nil
}

func (p *Prometheus) rule(g rulefmt.RuleGroup, r rulefmt.Rule) (*rule, error) {
	expr, err := p.parser.ParseExpr(r.Expr)
	if err != nil {
		return nil, fmt.Errorf("rule %s: %w", r.Record+r.Alert, err)
	}
	own := labels.NewBuilder(labels.FromMap(g.Labels))
	for name, v := range r.Labels {
		own.Set(name, v)
	}
	return &rule{
		name: r.Record + r.Alert, records: r.Record != "", expr: expr, hold: time.Duration(r.For),
		keepFiring: time.Duration(r.KeepFiringFor),
		labels:     own.Labels(), annotations: labels.FromMap(r.Annotations), active: map[uint64]*activeAlert{},
	}, nil
}

// Alert is what Prometheus would send to Alertmanager now.
type Alert struct {
	Labels, Annotations map[string]string
	// StartsAt is when it began to fire. EndsAt is when it was resolved; for one that fires, when it counts as resolved
	// if nothing more is heard of it.
	StartsAt, EndsAt time.Time
	GeneratorURL     string
}

// Model is the alert as Alertmanager has it.
func (a Alert) Model() model.Alert {
	return model.Alert{
		Labels: labelSet(a.Labels), Annotations: labelSet(a.Annotations), StartsAt: a.StartsAt, EndsAt: a.EndsAt,
		GeneratorURL: a.GeneratorURL,
	}
}

func labelSet(in map[string]string) model.LabelSet {
	out := make(model.LabelSet, len(in))
	for name, v := range in {
		out[model.LabelName(name)] = model.LabelValue(v)
	}
	return out
}

// EvaluateRules evaluates every rule at a time, writes what it records and the series ALERTS and ALERTS_FOR_STATE, and
// returns what is to be sent to Alertmanager: alerts that began to fire or were resolved, and the others again after
// the resend delay. Call it at rising times. A rule that cannot be evaluated keeps its alerts and does not stop the
// others; its error is in the list of rules and in the error returned.
func (p *Prometheus) EvaluateRules(ctx context.Context, at time.Time) ([]Alert, error) {
	p.rules.mu.Lock()
	defer p.rules.mu.Unlock()
	var (
		out  []Alert
		errs []error
	)
	for _, g := range p.rules.groups {
		begin := time.Now()
		for _, r := range g.rules {
			started := time.Now()
			evaluate := p.evaluateAlert
			if r.records {
				evaluate = p.evaluateRecording
			}
			err := evaluate(ctx, r, at)
			r.evaluated, r.took, r.failed = at, time.Since(started), err
			if err != nil {
				errs = append(errs, fmt.Errorf("rule %s: %w", r.name, err))
				continue
			}
			out = append(out, p.rules.due(r, at)...)
		}
		g.evaluated, g.took = at, time.Since(begin)
	}
	return out, errors.Join(errs...)
}

// What Prometheus says of results that differ only in what a rule's labels replace.
var (
	errSameAlerts  = errors.New("vector contains metrics with the same labelset after applying alert labels")
	errSameResults = errors.New("vector contains metrics with the same labelset after applying rule labels")
)

// evaluateRecording writes the results of an expression under a name of their own.
func (p *Prometheus) evaluateRecording(ctx context.Context, r *rule, at time.Time) error {
	found, err := p.vector(ctx, r.expr.String(), at)
	if err != nil {
		return err
	}
	var out results
	for _, sample := range found {
		b := labels.NewBuilder(sample.Metric).Set(model.MetricNameLabel, r.name)
		r.labels.Range(func(l labels.Label) { b.Set(l.Name, l.Value) })
		if !out.add(b.Labels(), sample.F, at) {
			return errSameResults
		}
	}
	return p.write(r, out, at)
}

// results are the series that one evaluation of a rule writes.
type results struct {
	keys    map[string]labels.Labels
	batches []batch
}

// add says whether the series was not there yet.
func (w *results) add(ls labels.Labels, v float64, at time.Time) bool {
	if w.keys == nil {
		w.keys = map[string]labels.Labels{}
	}
	key := string(ls.Bytes(nil))
	if _, twice := w.keys[key]; twice {
		return false
	}
	w.keys[key] = ls
	w.batches = append(w.batches, batch{labels: ls, points: []point{{t: at.UnixMilli(), v: v}}})
	return true
}

// write puts in the results of a rule, and ends the series of the last time that are gone.
func (p *Prometheus) write(r *rule, w results, at time.Time) error {
	for key, ls := range r.written {
		if _, still := w.keys[key]; !still {
			w.batches = append(w.batches, batch{labels: ls, points: []point{{t: at.UnixMilli(), v: staleMarker()}}})
		}
	}
	if err := p.samples.add(w.batches); err != nil {
		return err
	}
	r.written = w.keys
	return nil
}

// vector evaluates an expression at a time, as rules and their templates do.
func (p *Prometheus) vector(ctx context.Context, expr string, at time.Time) (promql.Vector, error) {
	q, err := p.engine.NewInstantQuery(ctx, p.samples, nil, expr, at)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	res := q.Exec(ctx)
	if res.Err != nil {
		return nil, res.Err
	}
	switch v := res.Value.(type) {
	case promql.Vector:
		return append(promql.Vector{}, v...), nil // Close takes the result's memory back
	case promql.Scalar:
		return promql.Vector{{T: v.T, F: v.V}}, nil
	default:
		return nil, fmt.Errorf("the expression gives a %s and not a vector or a scalar", res.Value.Type())
	}
}
