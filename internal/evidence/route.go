package evidence

import (
	"errors"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// scope is what tells a pool's series from those of others: its matchers, and at the gateway the route that leads to
// it.
type scope struct {
	matchers map[string]string
	route    incident.RouteRef
}

func scopeOf(p incident.Pool) scope { return scope{matchers: p.Matchers, route: p.HTTPRoute} }

// check refuses what cannot bound a query: see promql.CheckMatchers.
func (s scope) check() error {
	err := promql.CheckMatchers(s.matchers)
	if !s.route.IsZero() {
		err = errors.Join(err, promql.CheckMatchers(routeMatchers(s.route)))
	}
	return err
}

// labelRoute names the route on the gateway's series.
const labelRoute = "httproute"

func routeMatchers(r incident.RouteRef) map[string]string {
	return map[string]string{labelNamespace: r.Namespace, labelRoute: r.Name}
}

// isGateway says whether a metric is made by the gateway's recording rule of deploy/prometheus. Its series carry the
// namespace and the name of a route and nothing of the pods behind it: in a namespace with several routes only the
// route tells whose they are.
func isGateway(name string) bool { return strings.HasPrefix(name, "namespace_httproute:") }

// SeveralRoutes is what a reading of the gateway warns about when it cannot be told which route leads to the pool.
const SeveralRoutes = "several routes in this namespace: set pools[].http_route"

// routesQuery counts the routes among which a query reads the gateway, for a pool that does not name its own. A route
// counts for a day after its last traffic: at night the one that is left is not the pool's for that. Empty when there
// is nothing to count.
func routesQuery(p prepared) (string, error) {
	i := slices.IndexFunc(p.alone, isGateway)
	if i < 0 || !p.scope.route.IsZero() || len(p.signal.Product) > 0 || p.expr.Type() != parser.ValueTypeVector {
		return "", nil
	}
	expr, err := rewrite(
		"count(group by ("+labelNamespace+", "+labelRoute+") (last_over_time("+p.alone[i]+"[1d])))",
		Dialect{},
		p.scope,
	)
	if err != nil {
		return "", err
	}
	return expr.String(), nil
}

// noRoute explains why the gateway shows nothing of the pool's own route. A wrong name looks the same as no traffic.
func noRoute(p prepared) string {
	i := slices.IndexFunc(p.metrics, isGateway)
	if i < 0 || p.scope.route.IsZero() {
		return ""
	}
	return p.metrics[i] + " has no series for HTTPRoute " + redact.Line(p.scope.route.String()) +
		": the recording rule gives one while at least 10 requests come in five minutes; is it loaded, and is the name right?"
}
