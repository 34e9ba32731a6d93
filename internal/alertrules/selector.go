package alertrules

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// about says whether a selector without one plain name is about vLLM.
func about(vs *parser.VectorSelector) bool {
	return slices.ContainsFunc(vs.LabelMatchers, func(m *labels.Matcher) bool {
		return m.Name == model.MetricNameLabel && strings.Contains(m.Value, "vllm")
	})
}

// selector says what is known of a selector's series, and between which values they lie.
func (x *examiner) selector(vs *parser.VectorSelector) value {
	metric, named := metricOf(vs)
	out := anything(Undecided)
	if named {
		out = ranged(metric)
	}
	switch x.known.selector(vs) {
	case Present:
		out.state = Can
		if vllm.RouterTwin(metric) && x.known.Selectors[own(metric).String()] == Absent {
			n, _ := vllm.ParseMetric(metric)
			x.notes = once(
				x.notes,
				fmt.Sprintf(
					"only production-stack's router exports %s here; it is not a vLLM metric. Of vLLM's own: %s %s",
					metric, metric, x.fate(n),
				),
			)
		}
		return out
	case Unasked:
		out.state = Undecided
		if x.known.Selectors[bare(vs)] == Absent {
			text := fmt.Sprintf(
				"%s has series, but none%s matches %s: is the value wrong, or temporarily absent?", metric,
				x.known.since(), cut(bare(vs)),
			)
			x.doubts, x.notes = once(x.doubts, text), once(x.notes, text)
			return out
		}
		x.doubts = once(x.doubts, cut(bare(vs))+": not known whether it has series")
		return out
	case Absent:
	}
	if !named {
		if about(vs) {
			return empty(reason{bare(vs), fmt.Sprintf("%s has no series%s", cut(bare(vs)), x.known.since())})
		}
		metric = bare(vs)
	}
	if sources := x.known.Recorded[metric]; len(sources) > 0 {
		return x.recorded(metric, sources, out)
	}
	n, parsed := vllm.ParseMetric(metric)
	if doubt := doubtful(n, vs, parsed); doubt != "" {
		out.state = Undecided
		x.doubts = once(x.doubts, fmt.Sprintf("%s has no series%s, and %s", cut(bare(vs)), x.known.since(), doubt))
		return out
	}
	if x.known.metric(metric) != Present {
		return empty(reason{metric, fmt.Sprintf("%s %s", metric, x.fate(n))})
	}
	return empty(reason{text: x.misfit(metric, n, vs)})
}

// ranged bounds a metric's samples by what it is.
func ranged(metric string) value {
	out := anything(Undecided)
	n, parsed := vllm.ParseMetric(metric)
	if !parsed {
		return out
	}
	_, gone := removed()[n.Base]
	is, now := vllm.CurrentMetric(n.Base)
	if !gone && !now {
		return out // somebody's own
	}
	out.lo = 0
	fraction := is.Type == vllm.FractionGauge ||
		slices.Contains([]string{"gpu_cache_usage_perc", "cpu_cache_usage_perc"}, n.Base)
	if fraction && n.Suffix == "" {
		out.hi, out.full, out.top = 1, true, metric+" is a fraction: 1 means full"
	}
	return out
}

// mostFollowed bounds how many recording rules are followed for one expression: rules that rest on two others each
// double at every level.
const mostFollowed = 200

// recorded follows a recording rule: it is empty for certain only when its own expression is.
func (x *examiner) recorded(metric string, sources []string, out value) value {
	out.state = Undecided
	if slices.Contains(x.above, metric) {
		return out
	}
	if x.followed == nil {
		x.followed = new(int)
	}
	var why []reason
	for _, source := range sources {
		if *x.followed++; *x.followed > mostFollowed {
			x.doubts = once(x.doubts, fmt.Sprintf("it depends on more than %d recording rules", mostFollowed))
			return out
		}
		e, err := parse(source)
		if _, large := errors.AsType[*promql.TooLargeError](err); large {
			x.doubts = once(x.doubts, fmt.Sprintf("the expression of the recording rule %s is %s", metric, err))
		}
		if err != nil {
			return out
		}
		below := &examiner{known: x.known, above: append(slices.Clone(x.above), metric), followed: x.followed}
		v := below.expr(e)
		if v.state != Never {
			x.doubts = once(
				x.doubts,
				fmt.Sprintf("%s has no series%s, but its recording rule can give some", metric, x.known.since()),
			)
			return out
		}
		why = append(why, v.why...)
	}
	texts := make([]string, 0, len(why))
	for _, r := range why {
		texts = once(texts, r.text)
	}
	return empty(reason{
		metric,
		fmt.Sprintf(
			"%s has no series%s, because its recording rule is always empty: %s", metric, x.known.since(),
			strings.Join(texts, "; "),
		),
	})
}

// doubtful says why a selector without series may still get some; empty when it cannot.
func doubtful(n vllm.MetricName, vs *parser.VectorSelector, parsed bool) string {
	if !parsed {
		return "it is not a vLLM metric"
	}
	if vllm.RouterOnly(n.Base) {
		return "it belongs to production-stack's router, not to vLLM"
	}
	if n.Suffix == vllm.SuffixCreated {
		return "the times at which counters were made are often dropped by relabeling"
	}
	is, known := vllm.CurrentMetric(n.Base)
	_, gone := removed()[n.Base]
	switch {
	case vllm.OfConnector(n.Base) && is.Only == "":
		return "it would belong to a KV connector"
	case !known && !gone && closest(n.Base) == "":
		return "no known version of vLLM exports it: it may be newer, or recorded elsewhere"
	case !known:
		return ""
	case is.Only != "":
		return "vLLM exports it only " + is.Only
	}
	for _, m := range wanted(vs) {
		if slices.Contains(is.Lazy, m.Name) {
			return "its label " + m.Name + " gets values only when such events happen"
		}
	}
	return ""
}

// fate says what became of a metric that has no series here: a sentence without its subject.
func (x *examiner) fate(n vllm.MetricName) string {
	none := "has no series" + x.known.since()
	was, gone := removed()[n.Base]
	is, now := vllm.CurrentMetric(n.Base)
	if now && is.Type == vllm.Histogram && n.Suffix == "" {
		return none + ": it is a histogram, whose series end in _bucket, _sum and _count"
	}
	if there, ok := x.known.elsewhere(n); ok && there.Prefix != n.Prefix {
		text := none + ": this Prometheus spells it " + there.String()
		if there.Prefix == vllm.CanonicalPrefix && n.Prefix == "vllm_" {
			text += " (Prometheus keeps vLLM's colon)"
		}
		return text
	}
	switch {
	case gone:
		return none + ": it " + was.what
	case now && is.Since != "":
		return none + ": it was added in vLLM " + is.Since + ", and the servers here do not export it"
	case now:
		return none + ": the servers here do not export it"
	}
	return none + ": no version of vLLM has it; did you mean " + closest(n.Base) + "?"
}

var knownReasons = regexp.MustCompile("^(" + strings.Join(vllm.FinishReasons(), "|") + ")$")

// misfit says which label keeps a selector without series although its metric has some.
func (x *examiner) misfit(metric string, n vllm.MetricName, vs *parser.VectorSelector) string {
	for _, m := range wanted(vs) {
		if x.known.Selectors[carries(metric, m.Name).String()] == Absent {
			text := fmt.Sprintf("no series of %s has the label %s", metric, m.Name)
			if right := relabelled(n.Base, m.Name); right != "" {
				text += ": vLLM calls it " + right
			}
			return text
		}
		if m.Name == labelReason && m.Type == labels.MatchEqual && !knownReasons.MatchString(m.Value) {
			return fmt.Sprintf(
				"%s is never %q: vLLM uses %s", m.Name, m.Value, strings.Join(vllm.FinishReasons(), ", "),
			)
		}
	}
	return fmt.Sprintf("%s has series, but none%s matches %s", metric, x.known.since(), cut(bare(vs)))
}

const labelReason = "finished_reason"

// relabelled is what vLLM calls a label of one of its metrics that guides call otherwise.
func relabelled(base, label string) string {
	guides := []string{"finish_reason", "finished", "reason", "status"}
	if base == "request_success_total" && slices.Contains(guides, label) {
		return labelReason
	}
	return ""
}

// boundsOf are the finite bucket bounds of a histogram, by the name of its _bucket series; nil when they are not known.
func (k Known) boundsOf(bucketSeries string) []float64 {
	histogram, ok := strings.CutSuffix(bucketSeries, vllm.SuffixBucket)
	if !ok {
		return nil
	}
	b := k.Bounds[histogram]
	if len(b) == 0 || !slices.IsSorted(b) || math.IsInf(b[len(b)-1], 0) || math.IsNaN(b[0]) {
		return nil
	}
	return b
}
