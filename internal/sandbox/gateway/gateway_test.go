package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/gateway"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

const namespace = "llm"

// bench is a gateway for the route llama-70b, on a cluster whose time stands until it is told.
type bench struct {
	*testing.T

	now    time.Time
	kube   *kubeapi.Server
	gate   *gateway.Gateway
	limits []int // those that it was told to keep
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{T: t, now: time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC)}
	clock := func() time.Time { return b.now }
	var err error
	if b.kube, err = kubeapi.New(kubeapi.Options{Now: clock}); err != nil {
		t.Fatal(err)
	}
	if err := b.kube.MakeNamespace(namespace); err != nil {
		t.Fatal(err)
	}
	b.gate, err = gateway.New(b.kube, gateway.Options{
		Namespace: namespace, Name: "eg", Route: "llama-70b", Now: clock,
		SetLimit: func(n int) error { b.limits = append(b.limits, n); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// apply makes a policy for a route.
func (b *bench) apply(name, route, spec string) {
	b.Helper()
	var o unstructured.Unstructured
	text := `{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"BackendTrafficPolicy","metadata":{"namespace":"llm",
		"name":"` + name + `"},"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"` +
		route + `"}]` + spec + `}}`
	if err := utiljson.Unmarshal([]byte(text), &o.Object); err != nil {
		b.Fatal(err)
	}
	if err := kubeapi.Create(b.kube.As("kubectl"), gateway.Policies, &o); err != nil {
		b.Fatal(err)
	}
}

// change sets the limit of a policy.
func (b *bench) change(name string, limit int64) {
	b.Helper()
	at := &metav1.ObjectMeta{Namespace: namespace, Name: name}
	err := kubeapi.Change(b.kube.As("kubectl"), gateway.Policies, "", at, func(o *unstructured.Unstructured) error {
		return unstructured.SetNestedField(o.Object, limit, "spec", "circuitBreaker", "maxParallelRequests")
	})
	if err != nil {
		b.Fatal(err)
	}
}

// said is what the gateway says of a policy: status, reason and the generation that it has seen.
func (b *bench) said(name string) string {
	b.Helper()
	o, err := kubeapi.Get[unstructured.Unstructured](b.kube.As("test"), gateway.Policies, namespace, name)
	if err != nil {
		b.Fatal(err)
	}
	text, err := json.Marshal(o.Object["status"])
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

func (b *bench) step(limits ...int) {
	b.Helper()
	before := len(b.limits)
	if err := b.gate.Step(); err != nil {
		b.Fatal(err)
	}
	for i, got := range b.limits[before:] {
		if i >= len(limits) || got != limits[i] {
			b.Errorf("it was told to keep %v, want %v", b.limits[before:], limits)
		}
	}
	if len(b.limits)-before != len(limits) {
		b.Errorf("it was told to keep %v, want %v", b.limits[before:], limits)
	}
}

func (b *bench) says(name string, parts ...string) {
	b.Helper()
	got := b.said(name)
	for _, p := range parts {
		if !strings.Contains(got, p) {
			b.Errorf("of %s it says %s, want %s", name, got, p)
		}
	}
}

func TestAPolicyLimitsTheRouteAndIsAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.step(gateway.Limit) // Envoy's own
	b.apply("llama-70b", "llama-70b", `,"circuitBreaker":{"maxParallelRequests":184}`)
	b.step(184)
	b.says("llama-70b", `"type":"Accepted"`, `"status":"True"`, `"observedGeneration":1`,
		`"ancestorRef":{"group":"gateway.networking.k8s.io","kind":"Gateway","name":"eg","namespace":"llm"}`,
		`"lastTransitionTime":"2026-03-01T00:00:00Z"`)
	before := b.kube.Version()
	b.step()
	if b.kube.Version() != before {
		t.Error("a policy that hasn't changed was written again")
	}
	b.now = b.now.Add(time.Hour)
	b.change("llama-70b", 128)
	b.step(128)
	b.says("llama-70b", `"observedGeneration":2`, `"lastTransitionTime":"2026-03-01T00:00:00Z"`)
}

func TestAPolicyOfAnotherRouteLimitsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply("other", "other", `,"circuitBreaker":{"maxParallelRequests":1}`)
	b.step(gateway.Limit)
	if got := b.said("other"); got != "null" {
		t.Errorf("of a policy that isn't its own it says %s", got)
	}
}

func TestOfTwoPoliciesTheOlderCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply("z-older", "llama-70b", `,"circuitBreaker":{"maxParallelRequests":184}`)
	b.now = b.now.Add(time.Second)
	b.apply("a-younger", "llama-70b", `,"circuitBreaker":{"maxParallelRequests":64}`)
	b.step(184)
	b.says("z-older", `"status":"True"`)
	b.says("a-younger", `"status":"False"`, `"reason":"Conflicted"`)
}

func TestALimitThatWouldCloseTheRouteIsNotKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.apply("llama-70b", "llama-70b", `,"circuitBreaker":{"maxParallelRequests":0}`)
	b.step(gateway.Limit)
	b.says("llama-70b", `"status":"False"`, `"reason":"Invalid"`)
}
