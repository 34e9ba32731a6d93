package evidence

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promql"
)

// leastStep is the shortest distance between two points of a past: Prometheus scrapes no more often.
const leastStep = time.Second

// PastBetween evaluates the query of a reading at evenly spaced times from one time to another, both included: at so
// many points, or at more where these would be further apart than Config.RuleWindow and leave moments out between them.
// It is for a chart of what is over, which has more time in it than a reading's own past. Times
// without data have no point; nothing at all is no error. A query with a subquery is not asked: it has no past either
// that Collect would read.
func (c *Collector) PastBetween(ctx context.Context, query string, from, to time.Time, points int,
) ([]incident.Point, error) {
	expr, err := promql.Parse(query, parser.Options{})
	if err != nil {
		return nil, err
	}
	if costly(expr) {
		return nil, nil
	}
	span := to.Sub(from)
	if c.cfg.RuleWindow > 0 {
		points = max(points, min(maxHistoryPoints, int(span/c.cfg.RuleWindow)+1))
	}
	step := max(leastStep, (span / time.Duration(max(1, points-1))).Truncate(time.Millisecond))
	got, err := c.prom.Range(ctx, query, from.Truncate(time.Millisecond), to, step)
	if err != nil {
		return nil, err
	}
	return past(got.Value)
}

// costly says that a query has a subquery: at each point of a past it costs Prometheus a past of its own.
func costly(expr parser.Expr) bool {
	found := false
	parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
		if _, is := n.(*parser.SubqueryExpr); is {
			found = true
		}
		return nil
	})
	return found
}
