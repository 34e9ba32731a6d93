package evidence

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Rewrite puts matchers into every selector of a query and spells its vLLM metrics as the dialect does, both on the
// syntax tree. It is pure, and rewriting a rewritten query changes nothing. A matcher is left out where the metric
// cannot carry its label; when that would leave a selector without any of them, the query is refused. Each selector
// must name its metric.
func Rewrite(query string, d Dialect, matchers map[string]string) (string, error) {
	expr, err := rewrite(query, d, scope{matchers: matchers})
	if err != nil {
		return "", err
	}
	return expr.String(), nil
}

func rewrite(query string, d Dialect, pool scope) (parser.Expr, error) {
	if err := pool.check(); err != nil {
		return nil, err
	}
	expr, err := promql.Parse(query, parser.Options{})
	if err != nil {
		return nil, fmt.Errorf("the query is %w", err)
	}
	if t := expr.Type(); t != parser.ValueTypeVector && t != parser.ValueTypeScalar {
		return nil, fmt.Errorf("the query gives a %s, it must give one number", parser.DocumentedType(t))
	}
	d.putZeros(expr)
	named := metricsIn(expr)
	var errs []error
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok {
			bounding := pool.matchers
			if joinedToPool(vs, path) {
				bounding = onOtherExporters(vs.Name, pool.matchers)
			}
			errs = append(errs, rewriteSelector(vs, d, pool, bounding, named))
		}
		return nil
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if d.podLabel != "" && d.podLabel != labelPod {
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			groupBy(n, d.podLabel)
			return nil
		})
	}
	return d.readBoth(expr)
}

// unboundedError is a query that would read other pools too, whatever Prometheus says.
type unboundedError struct{ metric, labels string }

// Error says what is missing.
func (e *unboundedError) Error() string {
	text := fmt.Sprintf(
		"%s carries none of the pool's labels (%s), so the query would read other pools too: "+
			"add a matcher such as namespace or job",
		e.metric,
		e.labels,
	)
	if isGateway(e.metric) {
		text += ", or set pools[].http_route"
	}
	return text
}

// groupBy puts the label that names pods here into groupings and matchings that are written with "pod".
func groupBy(n parser.Node, podLabel string) {
	var names []string
	switch e := n.(type) {
	case *parser.AggregateExpr:
		names = e.Grouping
	case *parser.BinaryExpr:
		if e.VectorMatching != nil {
			names = e.VectorMatching.MatchingLabels
		}
	}
	for i, name := range names {
		if name == labelPod {
			names[i] = podLabel
		}
	}
}

// joinedToPool says whether the series of another exporter (a GPU's, say) count only where they meet one of this pool's
// own pods: they are matched on "pod" with a selector of vLLM's metrics, which carries all matchers.
func joinedToPool(vs *parser.VectorSelector, path []parser.Node) bool {
	if name, err := metricName(vs); err != nil || isVLLM(name) {
		return false
	}
	for i, n := range path {
		b, ok := n.(*parser.BinaryExpr)
		if !ok || b.VectorMatching == nil || !b.VectorMatching.On ||
			!slices.Contains(b.VectorMatching.MatchingLabels, labelPod) {
			continue
		}
		if b.Op != parser.MUL && b.Op != parser.LAND {
			continue // "or" and "unless" keep what did not match
		}
		other := b.LHS
		if i+1 < len(path) && path[i+1] == b.LHS || b.LHS == parser.Node(vs) {
			other = b.RHS
		}
		if readsVLLM(other) {
			return true
		}
	}
	return false
}

func readsVLLM(expr parser.Expr) bool { return slices.ContainsFunc(metricsIn(expr), isVLLM) }

func isVLLM(name string) bool {
	_, ok := vllm.BareName(name)
	return ok
}

// onOtherExporters are the matchers that mean the same on the series of this exporter. A GPU's carry the namespace of
// the exporter itself where they are scraped without honor_labels; the join alone bounds them then.
func onOtherExporters(name string, matchers map[string]string) map[string]string {
	if strings.HasPrefix(name, "DCGM_") {
		return nil
	}
	if v, ok := matchers[labelNamespace]; ok {
		return map[string]string{labelNamespace: v}
	}
	return nil
}

// rewriteSelector puts in the bounding matchers. The pool's own say whether production-stack's router is meant; its
// route takes the place of all of them where the gateway is. named are the metrics that the query is written with.
func rewriteSelector(
	vs *parser.VectorSelector, d Dialect, pool scope, matchers map[string]string, named []string,
) error {
	name, err := metricName(vs)
	if err != nil {
		return err
	}
	if isGateway(name) && !pool.route.IsZero() {
		matchers = routeMatchers(pool.route)
	}
	spelled := d.spellOneOf(name, named)
	rename(vs, name, spelled)
	missing := labelsMissingOn(name)
	put := 0
	for _, label := range slices.Sorted(maps.Keys(matchers)) {
		if slices.Contains(missing, label) {
			continue
		}
		put++
		addMatcher(vs, label, matchers[label])
	}
	if put == 0 && len(matchers) > 0 {
		return &unboundedError{metric: name, labels: strings.Join(slices.Sorted(maps.Keys(matchers)), ", ")}
	}
	if _, bound := pool.matchers[vllm.RouterLabel]; vllm.RouterTwin(spelled) && !bound {
		addMatcher(vs, vllm.RouterLabel, "")
	}
	return nil
}

// metricName returns the selector's metric. A selector without exactly one plain name cannot be spelled in another
// dialect.
func metricName(vs *parser.VectorSelector) (string, error) {
	name, count := "", 0
	for _, m := range vs.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		count++
		if m.Type == labels.MatchEqual {
			name = m.Value
		}
	}
	if count != 1 || name == "" {
		return "", fmt.Errorf("the selector %s does not name one metric: write the name out", redact.Line(vs.String()))
	}
	return name, nil
}

func rename(vs *parser.VectorSelector, from, to string) {
	if from == to {
		return
	}
	if vs.Name != "" {
		vs.Name = to
	}
	for i, m := range vs.LabelMatchers {
		if m.Name == model.MetricNameLabel {
			vs.LabelMatchers[i] = equal(model.MetricNameLabel, to)
		}
	}
}

// addMatcher adds label="value" unless the selector has exactly that already.
func addMatcher(vs *parser.VectorSelector, label, value string) {
	for _, m := range vs.LabelMatchers {
		if m.Type == labels.MatchEqual && m.Name == label && m.Value == value {
			return
		}
	}
	vs.LabelMatchers = append(vs.LabelMatchers, equal(label, value))
}

// equal is labels.NewMatcher for the one type that cannot fail.
func equal(name, value string) *labels.Matcher {
	return &labels.Matcher{Type: labels.MatchEqual, Name: name, Value: value}
}

// selector prints a selector, quoted by the parser's own printer. pattern, when not empty, is a regular expression for
// the metric's name.
func selector(pattern string, more ...*labels.Matcher) (string, error) {
	vs := &parser.VectorSelector{LabelMatchers: more}
	if pattern != "" {
		m, err := labels.NewMatcher(labels.MatchRegexp, model.MetricNameLabel, pattern)
		if err != nil {
			return "", fmt.Errorf("select %s: %w", pattern, err)
		}
		vs.LabelMatchers = append([]*labels.Matcher{m}, more...)
	}
	return vs.String(), nil
}

// metricsAlone lists the metrics whose selectors are not joined to the pool's own pods, each once.
func metricsAlone(expr parser.Expr) []string {
	var names []string
	parser.Inspect(expr, func(n parser.Node, path []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok && !joinedToPool(vs, path) {
			if name, err := metricName(vs); err == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names
}

// metricsIn lists the metrics that an expression selects, each once.
func metricsIn(expr parser.Expr) []string {
	var names []string
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok {
			if name, err := metricName(vs); err == nil && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return nil
	})
	return names
}
