package alertrules

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// replacement is what takes the place of a metric.
type replacement struct {
	from vllm.MetricName
	was  removedMetric
	// into and over are whole names.
	into, over string
	// kind is that of into.
	kind vllm.MetricType
}

// replacement says what takes a selector's place. ok is false when it can stay, or when nothing is known to take its
// place; then it is lost.
func (r *repair) replacement(vs *parser.VectorSelector) (t replacement, ok bool) {
	if (&examiner{known: r.known}).selector(vs).state != Never {
		return replacement{}, false
	}
	metric, named := metricOf(vs)
	from, parsed := vllm.ParseMetric(metric)
	if !named || !parsed {
		return replacement{}, false
	}
	if r.known.metric(metric) == Present {
		r.labels(vs, from.Base, removedMetric{})
		return replacement{}, false
	}
	if there, ok := r.known.elsewhere(from); ok {
		return replacement{
			from: from, was: removedMetric{shape: renamed}, into: there.Prefix + there.Base, kind: typeOf(from.Base),
		}, true
	}
	was, old := removed()[from.Base]
	if !old {
		was = removedMetric{shape: renamed, into: from.Base}
		if _, now := vllm.CurrentMetric(from.Base); !now {
			was.into = closest(from.Base)
		}
	}
	t, ok = r.resolve(from, was)
	if !ok {
		r.lose(metric)
		return replacement{}, false
	}
	return t, true
}

// resolve finds the names of this Prometheus for what takes a metric's place.
func (r *repair) resolve(from vllm.MetricName, was removedMetric) (replacement, bool) {
	t := replacement{from: from, was: was, kind: typeOf(was.into), into: was.foreign}
	if was.shape == noReplacement {
		return replacement{}, false
	}
	if was.foreign != "" {
		return t, from.Suffix == ""
	}
	suffix := from.Suffix
	switch {
	case was.shape == asQuantile:
		suffix = ""
	case suffix == "" && t.kind == vllm.Histogram:
		suffix = vllm.SuffixBucket
	case suffix != "" && t.kind != vllm.Histogram:
		return replacement{}, false
	}
	into, ok := r.known.spelled(from.Prefix, was.into, suffix)
	if !ok {
		return replacement{}, false
	}
	t.into = into.Prefix + into.Base
	if was.over != "" {
		over, ok := r.known.spelled(from.Prefix, was.over, "")
		if !ok {
			return replacement{}, false
		}
		t.over = over.String()
	}
	return t, true
}

// put makes the expression that takes a selector's place: alone when call is nil, else together with the call whose
// range it is.
func (r *repair) put(
	t replacement, call *parser.Call, vs *parser.VectorSelector, over time.Duration, bucketed bool,
) parser.Expr {
	r.about = once(r.about, t.was.caveat)
	r.labels(vs, t.from.Base, t.was)
	if t.kind == vllm.Histogram && t.from.Suffix == "" {
		return r.histogram(t, call, vs, over, bucketed)
	}
	r.rename(vs, t.into+t.from.Suffix)
	growing := call != nil && slices.Contains([]string{"rate", "increase", "irate"}, call.Func.Name)
	switch t.was.shape {
	case asIncrease:
		if !growing {
			return ranged5("increase", vs, over)
		}
	case asRate:
		if !growing {
			return ranged5("rate", vs, over)
		}
	case asRatio:
		through := clone(vs)
		r.rename(through, t.over)
		return bracketed(parser.DIV, ranged5("rate", vs, over), ranged5("rate", through, over))
	case scaled:
		vs.LabelMatchers = slices.DeleteFunc(
			vs.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == "model_name" || m.Name == "engine" },
		)
		var inner parser.Expr = vs
		if call != nil {
			inner = call
		}
		if t.was.scale < 1 {
			return bracketed(parser.DIV, inner, &parser.NumberLiteral{Val: 1 / t.was.scale})
		}
		return bracketed(parser.MUL, inner, &parser.NumberLiteral{Val: t.was.scale})
	case asQuantile:
		r.lose(t.from.String())
	case noReplacement, renamed:
	}
	if call != nil {
		return call
	}
	return vs
}

// histogram gives a histogram that was named without a suffix the one that fits: buckets below histogram_quantile,
// the mean below another function, the 95th percentile alone.
func (r *repair) histogram(
	t replacement, call *parser.Call, vs *parser.VectorSelector, over time.Duration, bucketed bool,
) parser.Expr {
	switch {
	case bucketed:
		r.rename(vs, t.into+vllm.SuffixBucket)
		if call != nil {
			return call
		}
		return ranged5("rate", vs, over)
	case call != nil:
		through := clone(vs)
		r.rename(vs, t.into+vllm.SuffixSum)
		r.rename(through, t.into+vllm.SuffixCount)
		r.about = once(r.about, "it is the mean of the last "+duration(over))
		return bracketed(parser.DIV, ranged5("rate", vs, over), ranged5("rate", through, over))
	}
	r.rename(vs, t.into+vllm.SuffixBucket)
	r.about = once(r.about, "it is the 95th percentile of the last 5 minutes")
	return &parser.Call{Func: parser.Functions["histogram_quantile"], Args: parser.Expressions{
		&parser.NumberLiteral{Val: 0.95},
		&parser.AggregateExpr{
			Op: parser.SUM, Without: true, Grouping: []string{"engine"}, Expr: ranged5("rate", vs, over),
		},
	}}
}

// batch turns the quantile of a histogram of batch sizes into that of the number of running requests over time.
func (r *repair) batch(n *parser.Call, t replacement, vs *parser.VectorSelector) parser.Expr {
	over := window
	parser.Inspect(n.Args[1], func(node parser.Node, _ []parser.Node) error {
		if m, ok := node.(*parser.MatrixSelector); ok {
			over = m.Range
		}
		return nil
	})
	r.about = once(r.about, t.was.caveat)
	r.rename(vs, t.into)
	return &parser.Call{Func: parser.Functions["quantile_over_time"], Args: parser.Expressions{
		n.Args[0], &parser.MatrixSelector{VectorSelector: vs, Range: over},
	}}
}

// labels renames the labels of a selector as its metric's did.
func (r *repair) labels(vs *parser.VectorSelector, base string, was removedMetric) {
	to := base
	if was.into != "" {
		to = was.into
	}
	if was.label != "" {
		r.relabel[was.label] = labelReason
	}
	for i, m := range vs.LabelMatchers {
		right := relabelled(to, m.Name)
		if right == "" {
			continue
		}
		r.changes++
		r.relabel[m.Name] = right
		vs.LabelMatchers[i] = revalued(m, right, was.values)
	}
}

// revalued is a matcher under another label, with the values that mean the same there.
func revalued(m *labels.Matcher, label string, values map[string][]string) *labels.Matcher {
	asked := []string{m.Value}
	if m.Type == labels.MatchRegexp || m.Type == labels.MatchNotRegexp {
		asked = strings.Split(m.Value, "|")
	}
	var words []string
	for _, v := range asked {
		if now, ok := values[v]; ok {
			words = append(words, now...)
		} else {
			words = append(words, v)
		}
	}
	kind := m.Type
	switch {
	case len(words) > 1 && kind == labels.MatchEqual:
		kind = labels.MatchRegexp
	case len(words) > 1 && kind == labels.MatchNotEqual:
		kind = labels.MatchNotRegexp
	}
	return compiled(kind, label, strings.Join(words, "|"), m)
}

func clone(vs *parser.VectorSelector) *parser.VectorSelector {
	out := *vs
	out.LabelMatchers = slices.Clone(vs.LabelMatchers)
	return &out
}

func ranged5(function string, vs *parser.VectorSelector, over time.Duration) parser.Expr {
	return &parser.Call{
		Func: parser.Functions[function],
		Args: parser.Expressions{&parser.MatrixSelector{VectorSelector: vs, Range: over}},
	}
}

func bracketed(op parser.ItemType, l, r parser.Expr) parser.Expr {
	return &parser.ParenExpr{Expr: &parser.BinaryExpr{Op: op, LHS: l, RHS: r}}
}
