package alertrules

import (
	"fmt"
	"slices"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Presence says whether something has series.
type Presence int

// The presences. The zero value proves nothing.
const (
	// Unasked is not known: nobody asked, or the answer did not come.
	Unasked Presence = iota
	// Absent has no series.
	Absent
	// Present has series.
	Present
)

// Known is what is known of one Prometheus. The zero Known knows nothing, and no rule is then called dead for a
// missing metric.
type Known struct {
	// Metrics are presences by metric name, the series of a histogram each by its own.
	Metrics map[string]Presence
	// Complete says that Metrics holds every vLLM metric that has series: one that is not in it is absent.
	Complete bool
	// Selectors are presences by selector, as Selectors prints it.
	Selectors map[string]Presence
	// Since says in a sentence's end how far back was looked ("in the last 24 h").
	Since string
	// Prefix is how this Prometheus spells vLLM's names, for corrections. Empty means "vllm:".
	Prefix string
	// Bounds are the finite bucket bounds by the histogram's name without suffix, ascending. A histogram that is not
	// in it is not judged by its buckets.
	Bounds map[string][]float64
	// Recorded are the expressions of recording rules by the name that they record.
	Recorded map[string][]string
}

// Selectors lists what to ask about an expression: each of its selectors, and for each the same metric with any value
// of the labels that the selector asks for, which tells a wrong label from a wrong value. An expression that is not
// PromQL is an error.
func Selectors(expr string) ([]string, error) {
	e, err := parse(expr)
	if err != nil {
		return nil, fmt.Errorf("the expression is %w", err)
	}
	var out []string
	add := func(s string) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	for _, vs := range selectors(e) {
		add(bare(vs))
		metric, ok := metricOf(vs)
		if !ok {
			continue
		}
		add(plain(metric).String())
		if vllm.RouterTwin(metric) {
			add(own(metric).String())
		}
		for _, m := range wanted(vs) {
			add(carries(metric, m.Name).String())
		}
	}
	return out, nil
}

// Metrics lists the metrics that an expression names, each once, in order.
func Metrics(expr string) ([]string, error) {
	e, err := parse(expr)
	if err != nil {
		return nil, fmt.Errorf("the expression is %w", err)
	}
	var out []string
	for _, vs := range selectors(e) {
		if metric, ok := metricOf(vs); ok && !slices.Contains(out, metric) {
			out = append(out, metric)
		}
	}
	return out, nil
}

// wanted are the matchers that a series without the label cannot meet.
func wanted(vs *parser.VectorSelector) []*labels.Matcher {
	var out []*labels.Matcher
	for _, m := range vs.LabelMatchers {
		if m.Name != model.MetricNameLabel && !m.Matches("") {
			out = append(out, m)
		}
	}
	return out
}

// carries selects the series of a metric that have a label at all.
func carries(metric, label string) *parser.VectorSelector {
	return plain(metric, &labels.Matcher{Type: labels.MatchNotEqual, Name: label})
}

// own selects the series of a metric that are not the router's.
func own(metric string) *parser.VectorSelector { return plain(metric, equal(vllm.RouterLabel, "")) }

func (k Known) prefix() string {
	if k.Prefix == "" {
		return vllm.CanonicalPrefix
	}
	return k.Prefix
}

func (k Known) since() string {
	if k.Since == "" {
		return ""
	}
	return " " + k.Since
}

// metric is the presence of a metric.
func (k Known) metric(metric string) Presence {
	if p := k.Selectors[plain(metric).String()]; p != Unasked {
		return p
	}
	if p := k.Metrics[metric]; p != Unasked {
		return p
	}
	if k.Complete && isVLLM(metric) {
		return Absent
	}
	return Unasked
}

// engines is the presence of a metric among the engines' own series.
func (k Known) engines(metric string) Presence {
	if vllm.RouterTwin(metric) && k.Selectors[own(metric).String()] == Absent {
		return Absent
	}
	return k.metric(metric)
}

// selector is the presence of a selector: its own, else what its metric says about it.
func (k Known) selector(vs *parser.VectorSelector) Presence {
	metric, ok := metricOf(vs)
	if p := k.Selectors[bare(vs)]; p == Present || p == Absent && (!ok || !k.mayComeBack(vs, metric)) {
		return p
	}
	if !ok {
		return Unasked
	}
	switch p := k.metric(metric); {
	case p == Absent:
		return Absent
	case p == Present && len(vs.LabelMatchers) == 1:
		return Present
	}
	for _, m := range wanted(vs) {
		if k.Selectors[carries(metric, m.Name).String()] == Absent {
			return Absent
		}
	}
	return Unasked
}

// mayComeBack says that the metric is there, with all of the labels, and only the values are nobody's now: a model
// that is scaled to zero for the night, a canary. The values of the labels that vLLM itself fills are a closed set,
// so those are no excuse.
func (k Known) mayComeBack(vs *parser.VectorSelector, metric string) bool {
	if k.metric(metric) != Present {
		return false
	}
	for _, m := range wanted(vs) {
		closed := slices.Contains([]string{
			"finished_reason", "finish_reason", "reason", "le", "sleep_state", "source", "status", vllm.RouterLabel,
		}, m.Name)
		if closed || k.Selectors[carries(metric, m.Name).String()] == Absent {
			return false
		}
	}
	return true
}

// elsewhere finds the same metric in another spelling, when that has series.
func (k Known) elsewhere(n vllm.MetricName) (vllm.MetricName, bool) {
	other := vllm.MetricName{Prefix: k.prefix(), Base: n.Base, Suffix: n.Suffix}
	suffixes := []string{n.Suffix}
	if n.Suffix == "" && typeOf(n.Base) == vllm.Histogram {
		suffixes = append(suffixes, vllm.SuffixBucket, vllm.SuffixCount)
	}
	for _, s := range suffixes {
		if k.engines(other.Prefix+other.Base+s) == Present {
			return other, true
		}
	}
	return vllm.MetricName{}, false
}

// spelled finds a metric of current vLLM here, by its base: in the given prefix before the usual one, under its
// current name before the older one. ok is false when it is known that none of them has series.
func (k Known) spelled(prefix, base, suffix string) (vllm.MetricName, bool) {
	bases := []string{base}
	if older, renamed := vllm.OlderName(base); renamed {
		bases = append(bases, older)
	}
	for _, want := range []Presence{Present, Unasked} {
		for _, p := range []string{prefix, k.prefix()} {
			for _, b := range bases {
				n := vllm.MetricName{Prefix: p, Base: b, Suffix: suffix}
				if want == Unasked && (p != k.prefix() || b != base) {
					continue // what is not known is spelled as usual
				}
				if k.engines(n.String()) == want {
					return n, true
				}
			}
		}
	}
	return vllm.MetricName{}, false
}
