package evidence

import (
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// vLLM's wrapper for Ray leaves out an increase of zero (vllm/v1/metrics/ray_wrappers.py), so a counter that never
// counted has no series beside those of the same engines that have theirs. Preemptions are the one such counter that
// rules rest on; everywhere else a missing counter stays missing.
const preemptions = "vllm:num_preemptions_total"

// notCountedYet says that this is Ray, that the pool's engines are there, and that none of them has preempted so far.
func (d Dialect) notCountedYet() bool {
	return strings.HasPrefix(d.prefix(), "ray_") && d.names != nil && d.has(d.prefix()+"num_requests_running") &&
		!d.has(d.prefix()+strings.TrimPrefix(preemptions, vllm.CanonicalPrefix))
}

// zeroed says whether zeros take the place of preemptions in a query that is written in canonical names.
func (d Dialect) zeroed(query string) bool {
	return d.notCountedYet() && strings.Contains(query, preemptions)
}

// putZeros takes "0 * vllm:num_requests_running" for the rate or increase of preemptions under an aggregation, where
// they have not been counted yet.
func (d Dialect) putZeros(expr parser.Expr) {
	if !d.notCountedYet() {
		return
	}
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		agg, ok := n.(*parser.AggregateExpr)
		if !ok {
			return nil
		}
		call, ok := agg.Expr.(*parser.Call)
		if !ok || !slices.Equal(metricsIn(call), []string{preemptions}) {
			return nil
		}
		zero, err := promql.Parse("0 * vllm:num_requests_running", parser.Options{})
		if err != nil {
			return err
		}
		agg.Expr = zero
		return nil
	})
}
