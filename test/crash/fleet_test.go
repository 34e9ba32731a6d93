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
	"k8s.io/client-go/dynamic"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	policies    = schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies",
	}
)

// The sizes that every run begins with.
const (
	replicas = 2
	limit    = 184
)

// fleet is what Prometheus scrapes: one overloaded engine for each run, which feels what was done to its objects at the
// next scrape. A step in the metrics at once, instead of a model of an engine, makes the runs short and alike. One
// watch on all objects serves every run.
type fleet struct {
	mu sync.Mutex
	// models are the namespaces of the engines, by model.
	models map[string]string
	// objects are what the watches have brought, by resource, namespace and name.
	objects map[string]*unstructured.Unstructured
	tokens  int
}

func newFleet(t *testing.T) (*fleet, *promtest.Prometheus) {
	t.Helper()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects)
	f := &fleet{models: map[string]string{}, objects: map[string]*unstructured.Unstructured{}}
	for _, g := range []schema.GroupVersionResource{deployments, policies} {
		go f.follow(t.Context(), c.Dynamic(t).Resource(g), g.Resource)
	}
	s := httptest.NewServer(f)
	t.Cleanup(s.Close)
	p := promtest.StartWith(t, promtest.Options{
		Targets: []promtest.Target{{Address: strings.TrimPrefix(s.URL, "http://")}}, ScrapeInterval: 250 * time.Millisecond,
	})
	return f, p
}

// follow watches all objects of a resource until the context ends. A watch begins with what is there, so one that
// breaks is begun again.
func (f *fleet) follow(ctx context.Context, client dynamic.ResourceInterface, resource string) {
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		if w, err := client.Watch(ctx, metav1.ListOptions{}); err == nil {
			for e := range w.ResultChan() {
				if o, ok := e.Object.(*unstructured.Unstructured); ok {
					f.saw(resource, o)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-again.C:
		}
	}
}

func (f *fleet) saw(resource string, o *unstructured.Unstructured) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects[resource+"/"+o.GetNamespace()+"/"+o.GetName()] = o
}

// begin adds a run's engine.
func (f *fleet) begin(r *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.models[r.name] = r.ns
}

// end takes a run's engine away: nobody asks about it any more.
func (f *fleet) end(r *run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.models, r.name)
}

// waiting is how many requests wait in each engine whose objects are known.
func (f *fleet) waiting() map[string]int {
	out := map[string]int{}
	for model, ns := range f.models {
		d, p := f.objects[deployments.Resource+"/"+ns+"/"+model], f.objects[policies.Resource+"/"+ns+"/"+model]
		if d != nil && p != nil {
			out[model] = waitingWith(number(d, "status", "readyReplicas"),
				number(p, "spec", "circuitBreaker", "maxParallelRequests"))
		}
	}
	return out
}

func (f *fleet) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens += 1000
	waiting := f.waiting()
	var b strings.Builder
	gauge := func(name string, value func(waiting int) float64) {
		fmt.Fprintf(&b, "# TYPE %s gauge\n", name)
		for model, n := range waiting {
			fmt.Fprintf(&b, "%s{model_name=%q,engine=\"0\"} %g\n", name, model, value(n))
		}
	}
	gauge("vllm:num_requests_waiting", func(n int) float64 { return float64(n) })
	gauge("vllm:num_requests_running", func(n int) float64 { return float64(min(n, 64)) })
	gauge("vllm:kv_cache_usage_perc", func(int) float64 { return 0.4 })
	fmt.Fprintf(&b, "# TYPE vllm:generation_tokens counter\n")
	for model := range waiting {
		fmt.Fprintf(&b, "vllm:generation_tokens_total{model_name=%q,engine=\"0\"} %d\n", model, f.tokens)
	}
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte(b.String())) // a scraper that is gone asks again
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
