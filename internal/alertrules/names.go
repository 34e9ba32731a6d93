package alertrules

import (
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
)

// canonical is the prefix that vLLM itself writes.
const canonical = "vllm:"

// prefixes are the spellings of vLLM's names that are known; see internal/evidence, which chooses between them.
func prefixes() []string {
	return []string{canonical, "vllm_", "ray_vllm_", "ray_vllm:", "kserve_vllm:", "kserve_vllm_"}
}

// name is a metric's name taken apart: prefix, base and, for the series of a histogram, its suffix.
type name struct{ prefix, base, suffix string }

func (n name) String() string { return n.prefix + n.base + n.suffix }

// split takes a name apart. ok is false for what is not spelled as vLLM's: a name with another colon inside is a recording rule's.
func split(metric string) (n name, ok bool) {
	for _, prefix := range prefixes() {
		rest, cut := strings.CutPrefix(metric, prefix)
		if !cut || rest == "" || strings.Contains(rest, ":") {
			continue
		}
		if _, whole := today()[rest]; whole {
			return name{prefix: prefix, base: rest}, true
		}
		if _, whole := gone()[rest]; whole {
			return name{prefix: prefix, base: rest}, true
		}
		for _, suffix := range []string{suffixBucket, suffixSum, suffixCount, suffixCreated} {
			if base, has := strings.CutSuffix(rest, suffix); has && base != "" {
				return name{prefix: prefix, base: base, suffix: suffix}, true
			}
		}
		return name{prefix: prefix, base: rest}, true
	}
	return name{}, false
}

// The suffixes that a client library puts behind a name.
const (
	suffixBucket  = "_bucket"
	suffixSum     = "_sum"
	suffixCount   = "_count"
	suffixCreated = "_created"
	suffixTotal   = "_total"
)

// IsVLLM says whether a metric's name is spelled as vLLM's in one of the known dialects. The names of the custom exporters that guides for vLLM
// hand out are among them.
func IsVLLM(metric string) bool {
	_, ok := split(metric)
	return ok
}

// routerLabel marks the router's series.
const routerLabel = "server"

// RouterTwin says whether production-stack's router exports a metric of this name beside the engines, told apart by the label server
// (src/vllm_router/services/metrics_service).
func RouterTwin(metric string) bool {
	n, _ := split(metric)
	return slices.Contains([]string{
		"num_requests_running", "num_requests_waiting", "num_requests_swapped", "gpu_prefix_cache_hits_total", "gpu_prefix_cache_hit_rate",
	}, n.base+n.suffix)
}

// metricOf is the one metric that a selector names in full.
func metricOf(vs *parser.VectorSelector) (metric string, ok bool) {
	count := 0
	for _, m := range vs.LabelMatchers {
		if m.Name != model.MetricNameLabel {
			continue
		}
		count++
		if m.Type == labels.MatchEqual {
			metric = m.Value
		}
	}
	return metric, count == 1 && metric != ""
}

// bare is the selector without offset and @: what is asked of the store.
func bare(vs *parser.VectorSelector) string {
	return (&parser.VectorSelector{Name: vs.Name, LabelMatchers: vs.LabelMatchers}).String()
}

// selectors are all selectors in a tree.
func selectors(e parser.Expr) []*parser.VectorSelector {
	var out []*parser.VectorSelector
	parser.Inspect(e, func(n parser.Node, _ []parser.Node) error {
		if vs, ok := n.(*parser.VectorSelector); ok {
			out = append(out, vs)
		}
		return nil
	})
	return out
}

// parse takes the experimental parts of PromQL too: a Prometheus that has loaded a rule has them switched on. Its errors end the sentence "the
// expression is".
func parse(expr string) (parser.Expr, error) {
	return promql.Parse(expr, parser.Options{
		EnableExperimentalFunctions: true, ExperimentalDurationExpr: true, EnableExtendedRangeSelectors: true, EnableBinopFillModifiers: true,
	})
}

// plain is a selector of one metric and nothing more.
func plain(metric string, more ...*labels.Matcher) *parser.VectorSelector {
	return &parser.VectorSelector{Name: metric, LabelMatchers: append([]*labels.Matcher{equal(model.MetricNameLabel, metric)}, more...)}
}

// equal is labels.NewMatcher for the one type that cannot fail.
func equal(label, value string) *labels.Matcher {
	return &labels.Matcher{Type: labels.MatchEqual, Name: label, Value: value}
}

// compiled is a matcher of a type that may need a regular expression; otherwise when the value is none.
func compiled(t labels.MatchType, label, value string, otherwise *labels.Matcher) *labels.Matcher {
	m, err := labels.NewMatcher(t, label, value)
	if err != nil {
		return otherwise
	}
	return m
}
