package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// deadLookBack is how far back the series of a pool count: a restart of its pods takes minutes.
const deadLookBack = time.Hour

// The bounds of one investigation. An incident may hold thousands of alerts, and whoever may send one chooses its
// expression.
const (
	// mostExpressions is how many different alerts' expressions are examined.
	mostExpressions = 50
	// mostMetrics is how many metrics are asked for: the readings wait for the same places.
	mostMetrics = 100
)

// DeadAlerts names the firing alerts whose rule needs a vLLM metric that this pool does not have, so that they fire on
// somebody else's series. The rule's expression is taken from the alert's generator URL, else from the rules that are
// loaded under the alert's name. An alert whose expression cannot be read, or about which not everything could be
// asked, is not in the list. Expressions that are too long to analyze, or too many, are named beside it. The error says
// what could not be asked; the list is right nevertheless. A pool without any series has no dead alerts: nothing is
// known of its vLLM then.
func (c *Collector) DeadAlerts(
	ctx context.Context,
	pool incident.Pool,
	alerts []incident.Alert,
) ([]incident.DeadAlert, []incident.UnexaminedAlert, error) {
	exprs, err := c.expressions(ctx, alerts)
	exprs, unexamined := examinable(ctx, exprs)
	if len(exprs) == 0 {
		return nil, unexamined, err
	}
	at := c.Now()
	found, detectErr := c.detect(ctx, pool, at)
	if detectErr != nil || !own(found) {
		return nil, unexamined, errors.Join(err, detectErr)
	}
	known := alertrules.Known{
		Metrics: map[string]alertrules.Presence{}, Since: "from this pool", Prefix: found.dialect.prefix(),
	}
	for name := range found.dialect.names {
		known.Metrics[name] = alertrules.Present
		if histogram, ok := strings.CutSuffix(name, "_count"); ok { // the detection leaves the other two out
			known.Metrics[histogram+vllm.SuffixBucket] = alertrules.Present
			known.Metrics[histogram+vllm.SuffixSum] = alertrules.Present
		}
	}
	c.askMetrics(ctx, &known, metricsOf(exprs), pool, at)
	var out []incident.DeadAlert
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		if ctx.Err() != nil {
			unexamined = append(unexamined, incident.UnexaminedAlert{Alert: name, Why: outOfTime})
			continue
		}
		if dead, ok := c.dead(ctx, name, exprs[name], known, pool, at); ok {
			out = append(out, dead)
		}
	}
	return out, unexamined, err
}

// outOfTime is why an expression was not examined when the investigation had to end.
const outOfTime = "not examined: there was no time left"

// examinable parts the expressions that concern vLLM from those that cannot be examined.
func examinable(ctx context.Context, exprs map[string]string) (map[string]string, []incident.UnexaminedAlert) {
	out, unexamined := map[string]string{}, []incident.UnexaminedAlert(nil)
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		var why string
		large := promql.Check(exprs[name])
		switch {
		case ctx.Err() != nil:
			why = outOfTime
		case !alertrules.Concerns(exprs[name], nil):
			continue
		case large != nil:
			why = large.Error()
		case len(out) == mostExpressions:
			why = fmt.Sprintf("not examined: it is one of more than %d", mostExpressions)
		default:
			out[name] = exprs[name]
			continue
		}
		unexamined = append(unexamined, incident.UnexaminedAlert{Alert: name, Why: why})
	}
	return out, unexamined
}

// own says that what was detected are the pool's own series.
func own(f finding) bool { return !f.elsewhere && f.dialect.Generation != "" }

// dead judges one alert by what this pool has.
func (c *Collector) dead(
	ctx context.Context,
	alert, expr string,
	known alertrules.Known,
	pool incident.Pool,
	at time.Time,
) (incident.DeadAlert, bool) {
	v, err := alertrules.Examine(expr, known)
	if err != nil || v.State != alertrules.Never || len(v.Missing) == 0 {
		return incident.DeadAlert{}, false
	}
	if v.Instead != "" {
		// What takes its place must be there too.
		c.askMetrics(ctx, &known, metricsOf(map[string]string{alert: v.Instead}), pool, at)
		if again, err := alertrules.Examine(expr, known); err == nil {
			v = again
		}
	}
	return incident.DeadAlert{
		Alert:   alert,
		Expr:    expr,
		Missing: v.Missing,
		Instead: v.Instead,
		Why:     strings.Join(v.Why, "; "),
	}, true
}

// askMetrics asks for each vLLM metric under the pool's matchers. Series of production-stack's router are not the
// pool's own. What is not asked stays unknown, and no rule is called dead for it.
func (c *Collector) askMetrics(
	ctx context.Context,
	known *alertrules.Known,
	metrics []string,
	pool incident.Pool,
	at time.Time,
) {
	metrics = metrics[:min(len(metrics), mostMetrics)]
	found := make([]alertrules.Presence, len(metrics))
	var wg rescue.Group
	for i, metric := range metrics {
		if sel, ok := ownSelector(metric, pool.Matchers); ok {
			wg.Go(func() { found[i] = c.presence(ctx, sel, at.Add(-deadLookBack), at) })
		}
	}
	wg.Wait()
	for i, metric := range metrics {
		known.Metrics[metric] = found[i]
	}
}

// ownSelector is the metric under those of the matchers that it can carry. ok is false for what is not vLLM's, and when
// no matcher is left to tell this pool's series from others.
func ownSelector(metric string, matchers map[string]string) (string, bool) {
	if _, own := vllm.ParseMetric(metric); !own || promql.CheckMatchers(matchers) != nil {
		return "", false
	}
	more := []*labels.Matcher{equal(model.MetricNameLabel, metric)}
	missing := labelsMissingOn(metric)
	for _, m := range equals(matchers) {
		if !slices.Contains(missing, m.Name) {
			more = append(more, m)
		}
	}
	if len(more) == 1 {
		return "", false
	}
	if _, bound := matchers[vllm.RouterLabel]; vllm.RouterTwin(metric) && !bound {
		more = append(more, equal(vllm.RouterLabel, ""))
	}
	return (&parser.VectorSelector{Name: metric, LabelMatchers: more}).String(), true
}

// metricsOf are all metrics of some expressions, each once.
func metricsOf(exprs map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(exprs)) {
		metrics, err := alertrules.Metrics(exprs[name])
		if err != nil {
			continue // Examine refuses it
		}
		for _, m := range metrics {
			if !slices.Contains(out, m) {
				out = append(out, m)
			}
		}
	}
	return out
}

// expressions finds the expression of each firing alert by the alert's name: in the alert's own address, and without
// that in the rule whose labels the alert carries. A name with two expressions is left out: one may be dead and the
// other alive.
func (c *Collector) expressions(ctx context.Context, alerts []incident.Alert) (map[string]string, error) {
	out := map[string]string{}
	var open []incident.Alert
	twice := map[string]bool{}
	for _, a := range alerts {
		if !a.Firing || a.Name() == "" {
			continue
		}
		expr, ok := graphExpr(a.GeneratorURL)
		if !ok {
			open = append(open, a)
			continue
		}
		if have, seen := out[a.Name()]; seen && have != expr {
			twice[a.Name()] = true
		}
		out[a.Name()] = expr
	}
	var err error
	if len(open) > 0 {
		var rules []prometheus.AlertRule
		if rules, err = c.AlertRules(ctx); err == nil {
			for _, a := range open {
				expr, ok := ruleFor(a, rules)
				if have, seen := out[a.Name()]; seen && have != expr {
					twice[a.Name()] = true
				}
				if ok {
					out[a.Name()] = expr
				}
			}
		}
	}
	maps.DeleteFunc(out, func(name, _ string) bool { return twice[name] })
	return out, err
}

// graphExpr is the expression in the link that Prometheus and its relatives put into an alert: /graph?g0.expr=...
func graphExpr(link string) (string, bool) {
	u, err := url.Parse(link)
	if err != nil {
		return "", false
	}
	expr := u.Query().Get("g0.expr")
	if expr == "" {
		expr = u.Query().Get("expr") // vmalert
	}
	return expr, expr != ""
}

// ruleFor is the one expression among the rules that can have made an alert: its name, and labels that the alert
// carries. Labels with templates can be anything.
func ruleFor(a incident.Alert, rules []prometheus.AlertRule) (string, bool) {
	var found []string
	for _, r := range rules {
		if r.Name != a.Name() || slices.Contains(found, r.Expr) {
			continue
		}
		fits := true
		for name, value := range r.Labels {
			fits = fits && (strings.Contains(value, "{{") || a.Labels[name] == value)
		}
		if fits {
			found = append(found, r.Expr)
		}
	}
	if len(found) != 1 {
		return "", false
	}
	return found[0], true
}
