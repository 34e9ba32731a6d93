package evidence

import (
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// prepared is a signal with its query as it will be sent, or the reading that says why it cannot be.
type prepared struct {
	signal incident.Signal
	expr   parser.Expr
	query  string
	// pods is the breakdown by pod as it will be sent; empty when there is none.
	pods    string
	metrics []string
	// alone are those among them that are bounded by the matchers only, not by a join with the pool's own pods.
	alone []string
	// note says what was put in for a metric that is not there.
	note string
	// routes counts the routes that the value may be of, as it will be sent; empty where that is not in doubt.
	routes string
	scope  scope
	// vllm says that the query reads vLLM's metrics, so that the pool's dialect and its samples' age matter to it.
	vllm bool
	err  error
}

// prepare rewrites every signal's query.
func prepare(signals []incident.Signal, d Dialect, dialectErr error, pool scope) []prepared {
	at := map[string]int{}
	out := make([]prepared, 0, len(signals))
	for _, s := range signals {
		if i, twice := at[s.Name]; twice {
			out[i] = prepared{signal: s, query: s.Query, err: fmt.Errorf("two signals are called %q: rename one", s.Name)}
			continue
		}
		at[s.Name] = len(out)
		out = append(out, prepareOne(s, d, dialectErr, pool))
	}
	return out
}

func prepareOne(s incident.Signal, d Dialect, dialectErr error, pool scope) prepared {
	p := prepared{signal: s, query: s.Query, scope: pool}
	p.expr, p.err = rewrite(s.Query, d, pool)
	if p.err != nil {
		if dialectErr != nil {
			p.err = dialectErr
		}
		return p
	}
	p.query, p.metrics, p.alone = p.expr.String(), metricsIn(p.expr), metricsAlone(p.expr)
	if d.zeroed(s.Query) {
		p.note = "Ray exports a counter only after its first count, so preemptions are none so far"
	}
	for _, name := range p.metrics {
		if _, ok := vllm.BareName(name); ok {
			p.vllm = true
		}
	}
	if dialectErr != nil {
		p.err = dialectErr // the first question of all was not answered; each further one would wait as long and say the same
	}
	if s.Pods != "" && p.err == nil {
		var pods parser.Expr
		if pods, p.err = rewrite(s.Pods, d, pool); p.err == nil {
			p.pods = pods.String()
		}
	}
	if p.err == nil {
		p.routes, p.err = routesQuery(p)
	}
	return p
}

// The parts of a request are told apart by a label that they are given on the way.
const (
	partLabel  = "medic_part"
	partValue  = "value"
	partPods   = "pods"
	partRoutes = "routes"
)

type part struct{ name, query string }

// joined asks several things in one request. The label keeps "or" from taking two answers for the same.
func joined(parts []part) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = fmt.Sprintf("label_replace(%s, %q, %q, \"\", \"\")", p.query, partLabel, p.name)
	}
	return strings.Join(out, " or ")
}

// whole is everything that is asked about a signal now.
func (p prepared) whole() string {
	parts := []part{{partValue, p.query}}
	if p.pods != "" {
		parts = append(parts, part{partPods, p.pods})
	}
	if p.routes != "" {
		parts = append(parts, part{partRoutes, p.routes})
	}
	if len(parts) == 1 {
		return p.query
	}
	return joined(parts)
}

// edgesOf are the signal's bounds, corrected by the buckets that the pool's histogram really has. A signal without
// bounds is no percentile.
func edgesOf(p prepared, d Dialect) edges {
	e := edges{lowest: p.signal.Floor, highest: p.signal.Ceiling}
	var (
		histogram string
		seen      edges
		known     bool
	)
	for _, name := range p.metrics {
		base, is := strings.CutSuffix(name, vllm.SuffixBucket)
		if !is {
			continue
		}
		today := base
		if canonical, ours := vllm.Canonical(base); ours {
			today = canonical
		}
		if histogram != "" && today != histogram {
			return e
		}
		histogram = today
		if own, has := d.buckets[base]; has && known { // the same histogram under its older name
			seen = edges{lowest: min(seen.lowest, own.lowest), highest: max(seen.highest, own.highest)}
		} else if has {
			seen, known = own, true
		}
	}
	if !known {
		return e
	}
	if e.lowest > 0 {
		e.lowest = seen.lowest
	}
	if e.highest > 0 {
		e.highest = seen.highest
	}
	return e
}

// whyEmpty explains a reading without data as far as it is known.
func whyEmpty(p prepared, found finding) string {
	if !p.vllm {
		return joinNotes(unmatched(p.metrics, p.scope.matchers), noRoute(p))
	}
	if found.elsewhere {
		return found.warning
	}
	if missing := found.dialect.absent(p.metrics); len(missing) > 0 {
		text := fmt.Sprintf("this Prometheus has no metric %s for this pool (%s)", strings.Join(missing, ", "), found.dialect)
		for _, name := range missing {
			text = joinNotes(text, alertrules.Fate(name))
		}
		return text
	}
	return found.warning
}

// joinNotes joins what is not empty.
func joinNotes(notes ...string) string {
	var have []string
	for _, n := range notes {
		if n != "" {
			have = append(have, n)
		}
	}
	return strings.Join(have, "; ")
}
