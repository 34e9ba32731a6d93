package evidence

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

const (
	cancels     = "namespace_httproute:gateway_cancels:ratio_increase5m"
	cancelQuery = "max(" + cancels + ") and count(group by (namespace, httproute) (last_over_time(" + cancels +
		"[1d]))) == 1"
)

func cancelSignal() incident.Signal {
	return incident.Signal{
		Name: "gateway_cancel_ratio", Query: cancelQuery, Unit: incident.UnitRatio,
		Direction: incident.HigherIsWorse, Optional: true,
	}
}

// A gateway's series carry the route and nothing of the pods behind it, so the pool's route is all that can bound them.
func TestTheGatewaysSeriesAreBoundedByThePoolsRoute(t *testing.T) {
	t.Parallel()
	route := incident.RouteRef{Namespace: "edge", Name: "llama"}
	matchers := map[string]string{"namespace": "llm", "model_name": "m", "job": "vllm"}
	for _, tt := range []struct {
		name, query string
		scope       scope
		want        string
	}{
		{
			"the route replaces every matcher, in each selector", cancelQuery,
			scope{matchers, route},
			`max(` + cancels +
				`{httproute="llama",namespace="edge"}) and count(group by (namespace, httproute) (last_over_time(` + cancels +
				`{httproute="llama",namespace="edge"}[1d]))) == 1`,
		},
		{
			"no route: the matchers that it can carry, in each selector", cancelQuery,
			scope{matchers: map[string]string{"namespace": "llm", "model_name": "m"}},
			`max(` + cancels + `{namespace="llm"}) and count(group by (namespace, httproute) (last_over_time(` + cancels +
				`{namespace="llm"}[1d]))) == 1`,
		},
		{
			"without a namespace the route is enough", "max(" + cancels + ")",
			scope{map[string]string{"model_name": "m"}, route},
			`max(` + cancels + `{httproute="llama",namespace="edge"})`,
		},
		{
			"vLLM's own metrics keep the matchers", "sum(vllm:kv_cache_usage_perc)",
			scope{matchers, route},
			`sum(vllm:kv_cache_usage_perc{job="vllm",model_name="m",namespace="llm"})`,
		},
		{
			"so do those of others", "sum(my_gateway_total)",
			scope{matchers, route},
			`sum(my_gateway_total{job="vllm",model_name="m",namespace="llm"})`,
		},
		{
			"a query with a route of its own sees nothing but the pool's", `max(` + cancels + `{httproute="web"})`,
			scope{matchers, route},
			`max(` + cancels + `{httproute="llama",httproute="web",namespace="edge"})`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			expr, err := rewrite(tt.query, Dialect{}, tt.scope)
			if err != nil {
				t.Fatal(err)
			}
			if got := expr.String(); got != normal(t, tt.want) {
				t.Errorf("rewrite\n got %s\nwant %s", got, tt.want)
			}
			again, err := rewrite(expr.String(), Dialect{}, tt.scope)
			if err != nil || again.String() != expr.String() {
				t.Errorf("a second rewrite gives %v, %v", again, err)
			}
		})
	}
}

func TestARouteThatCannotBoundIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		scope scope
		want  string
	}{
		{
			"a route without a namespace",
			scope{map[string]string{"model_name": "m"}, incident.RouteRef{Name: "llama"}},
			"has no value",
		},
		{
			"a route with an over-long name",
			scope{nil, incident.RouteRef{Namespace: "llm", Name: strings.Repeat("a", 513)}},
			"513 bytes",
		},
		{"neither route nor namespace", scope{matchers: map[string]string{"model_name": "m"}}, "or set pools[].http_route"},
	} {
		if _, err := rewrite(cancelQuery, Dialect{}, tt.scope); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v; want %q in it", tt.name, err, tt.want)
		}
	}
}

func TestWhatTheReadingOfTheGatewaySays(t *testing.T) {
	t.Parallel()
	named := llmPool()
	named.HTTPRoute = incident.RouteRef{Namespace: "llm", Name: "llama"}
	const (
		bounded = `max(` + cancels + `{namespace="llm"}) and count(group by (namespace, httproute) (last_over_time(` +
			cancels + `{namespace="llm"}[1d]))) == 1`
		routes = `count(group by (namespace, httproute) (last_over_time(` + cancels + `{namespace="llm"}[1d])))`
		asked  = `label_replace(` + bounded + `, "medic_part", "value", "", "") or label_replace(` + routes +
			`, "medic_part", "routes", "", "")`
		own = `max(` + cancels +
			`{httproute="llama",namespace="llm"}) and count(group by (namespace, httproute) (last_over_time(` + cancels +
			`{httproute="llama",namespace="llm"}[1d]))) == 1`
		one     = `{"metric":{"medic_part":"routes"},"value":[1,"1"]}`
		two     = `{"metric":{"medic_part":"routes"},"value":[1,"2"]}`
		ratio   = `{"metric":{"medic_part":"value"},"value":[1,"0.3"]}`
		wide    = cancels + " has no label model_name: it was read without that matcher and may include other pools"
		nothing = cancels +
			" has no series for HTTPRoute llm/llama: the recording rule gives one while at least 10 requests come in five " +
			"minutes; is it loaded, and is the name right?"
	)
	for _, tt := range []struct {
		name  string
		pool  incident.Pool
		query string
		reply promtest.Reply
		value string
		note  string
		// told says that a person must hear that there is no data.
		told bool
	}{
		{"one route in the namespace", llmPool(), asked, promtest.Vector(ratio, one), "30%", wide, false},
		{"several routes", llmPool(), asked, promtest.Vector(two), "no data", wide + "; " + SeveralRoutes, true},
		{"no route at all", llmPool(), asked, promtest.Vector(), "no data", wide, false},
		{"the pool's own route", named, own, promtest.Value("0.3"), "30%", "", false},
		{"the pool's own route without series", named, own, promtest.Vector(), "no data", nothing, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			f.dialect(llmMatchers, v1Names(), nil)
			f.Once(tt.query, tt.reply)
			ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), tt.pool, []incident.Signal{cancelSignal()},
				CollectOptions{History: true})
			r := ev.Readings["gateway_cancel_ratio"]
			if r.Text() != tt.value || r.Warning != tt.note || r.Error != "" || r.Optional == tt.told {
				t.Errorf("%s, warning %q, error %q, optional %v\nwant %s, %q, %v", r.Text(), r.Warning, r.Error, r.Optional,
					tt.value, tt.note, !tt.told)
			}
		})
	}
}

// A signal of somebody's own may have a past, which is a range: the number of routes comes with it and is no pod.
func TestTheNumberOfRoutesComesWithAPastToo(t *testing.T) {
	t.Parallel()
	s := foreign("cancels", "max("+cancels+")")
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	query := `label_replace(max(` + cancels +
		`{namespace="llm"}), "medic_part", "value", "", "") or label_replace(count(` +
		`group by (namespace, httproute) (last_over_time(` + cancels +
		`{namespace="llm"}[1d]))), "medic_part", "routes", "", "")`
	f.AlwaysRange(query, promtest.Reply{Before: func(w http.ResponseWriter, r *http.Request) {
		end := r.Form.Get("end")
		promtest.Write(w, promtest.Success("matrix",
			`[{"metric":{"medic_part":"value"},"values":[[`+end+`,"0.4"]]},{"metric":{"medic_part":"routes"},"values":[[`+end+
				`,"2"]]}]`))
	}})
	ev := newCollector(t, asking(f.Serve()), nil).Collect(t.Context(), llmPool(), []incident.Signal{s},
		CollectOptions{History: true})
	r := ev.Readings["cancels"]
	if r.Text() != "0.4" || len(r.Pods) != 0 || len(r.Series) == 0 || !strings.Contains(r.Warning, SeveralRoutes) {
		t.Errorf("%s: %+v", r.Text(), r)
	}
}

func TestAnotherRouteIsAskedAboutAnew(t *testing.T) {
	t.Parallel()
	a, b := llmPool(), llmPool()
	b.HTTPRoute = incident.RouteRef{Namespace: "llm", Name: "llama"}
	if dialectKey(a) == dialectKey(b) {
		t.Error("a pool with a route and one without share what was found out about them")
	}
	c := b
	c.HTTPRoute.Name = `llama",x="`
	if dialectKey(b) == dialectKey(c) {
		t.Error("two routes share what was found out about them")
	}
}

func TestAPoolWithoutANamespaceCannotReadTheGateway(t *testing.T) {
	t.Parallel()
	_, err := Rewrite(cancelQuery, Dialect{}, map[string]string{"model_name": "m"})
	if _, ok := errors.AsType[*unboundedError](err); !ok {
		t.Errorf("got %v", err)
	}
}
