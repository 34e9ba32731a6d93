package crash

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	policies    = schema.GroupVersionResource{Group: "gateway.envoyproxy.io", Version: "v1alpha1", Resource: "backendtrafficpolicies"}
)

// The sizes that every run begins with.
const (
	replicas = 2
	limit    = 184
)

// fleet is what Prometheus scrapes: one overloaded engine for each run, which feels what was done to its objects. A step in the metrics at once,
// instead of a model of an engine, makes the runs short and alike.
type fleet struct {
	mu      sync.Mutex
	waiting map[string]int
	tokens  int
}

func newFleet(t *testing.T) (*fleet, *promtest.Prometheus) {
	t.Helper()
	f := &fleet{waiting: map[string]int{}}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	p := promtest.StartWith(t, promtest.Options{
		Targets: []promtest.Target{{Address: strings.TrimPrefix(s.URL, "http://")}}, ScrapeInterval: 250 * time.Millisecond,
	})
	return f, p
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens += 1000
	var b strings.Builder
	gauge := func(name string, value func(waiting int) float64) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", name)
		for model, n := range f.waiting {
			fmt.Fprintf(&b, "%s{model_name=%q,engine=\"0\"} %g\n", name, model, value(n))
		}
	}
	gauge("vllm:num_requests_waiting", func(n int) float64 { return float64(n) })
	gauge("vllm:num_requests_running", func(n int) float64 { return float64(min(n, 64)) })
	gauge("vllm:kv_cache_usage_perc", func(int) float64 { return 0.4 })
	fmt.Fprintf(&b, "# TYPE vllm:generation_tokens counter\n")
	for model := range f.waiting {
		fmt.Fprintf(&b, "vllm:generation_tokens_total{model_name=%q,engine=\"0\"} %d\n", model, f.tokens)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(b.String())) // a scraper that is gone asks again
}

func (f *fleet) set(model string, waiting int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting[model] = waiting
}

// follow makes a run's engine feel its objects until the context ends: a throttle helps a little, a replica heals.
func (f *fleet) follow(ctx context.Context, r *run) {
	client := r.c.Dynamic(r.t)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		d, err := client.Resource(deployments).Namespace(r.ns).Get(ctx, r.name, metav1.GetOptions{})
		if err != nil {
			continue // the next tick asks again
		}
		p, err := client.Resource(policies).Namespace(r.ns).Get(ctx, r.name, metav1.GetOptions{})
		if err != nil {
			continue
		}
		f.set(r.name, waitingWith(number(d, "status", "readyReplicas"), number(p, "spec", "circuitBreaker", "maxParallelRequests")))
	}
}

func waitingWith(ready, lets int64) int {
	switch {
	case ready > replicas:
		return 0
	case lets < limit:
		return 20
	default:
		return 40
	}
}

// number is 0 when the field is not there yet.
func number(o *unstructured.Unstructured, path ...string) int64 {
	n, _, err := unstructured.NestedInt64(o.Object, path...)
	if err != nil {
		return 0
	}
	return n
}
