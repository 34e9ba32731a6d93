package evidence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// fakeKube knows some pods, their owners and addresses. What it does not know does not exist.
type fakeKube struct {
	owners map[string][]incident.WorkloadRef
	// above is what is in the way above the owners of a pod.
	above map[string]error
	byIP  map[string][]cluster.PodAddress
	err   error
}

func (k fakeKube) Cluster(
	_ context.Context, ref incident.WorkloadRef, _ time.Time, knobs incident.ArgumentKnobs,
) incident.Cluster {
	one := int64(1)
	out := incident.Cluster{Workload: ref, Replicas: &one}
	if own := knobs[incident.StepMaxNumBatchedTokens]; own != nil {
		out.Args = map[string]float64{"max_num_batched_tokens": float64(own.Default)}
	}
	return out
}

func (k fakeKube) Owners(_ context.Context, namespace, pod string) ([]incident.WorkloadRef, error) {
	if err := k.above[namespace+"/"+pod]; err != nil {
		return k.owners[namespace+"/"+pod], err
	}
	if chain, ok := k.owners[namespace+"/"+pod]; ok {
		return chain, nil
	}
	return nil, fmt.Errorf("%w: Pod %s/%s does not exist", incident.ErrNoWorkload, namespace, pod)
}

func (k fakeKube) Named(context.Context, string, []string) ([]incident.Pod, error) { return nil, k.err }

func (k fakeKube) PodsAt(_ context.Context, namespace, ip string) ([]cluster.PodAddress, error) {
	if k.err != nil {
		return nil, k.err
	}
	return k.byIP[namespace+"|"+ip], nil
}

func llamaChain() []incident.WorkloadRef {
	return []incident.WorkloadRef{
		{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "llm", Name: "llama-abc"},
		{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama"},
	}
}

func chains(pod string, chain []incident.WorkloadRef) map[string][]incident.WorkloadRef {
	return map[string][]incident.WorkloadRef{pod: chain}
}

func seriesOf(labels ...string) string {
	return `{"metric":{` + strings.Join(labels, ",") + `},"value":[1,"1"]}`
}

func TestFindWorkloadFollowsLabels(t *testing.T) {
	t.Parallel()
	const instance = "10.0.0.7:8000"
	pod := seriesOf(`"namespace":"llm"`, `"pod":"llama-abc-1"`)
	kube := fakeKube{
		owners: map[string][]incident.WorkloadRef{
			"llm/llama-abc-1": llamaChain(),
			"llm/lone":        {{APIVersion: "v1", Kind: "Pod", Namespace: "llm", Name: "lone"}},
		},
		byIP: map[string][]cluster.PodAddress{
			"|10.0.0.7": {{Namespace: "llm", Name: "llama-abc-1", Ports: []int32{8000}}},
			"|10.0.0.8": {
				{Namespace: "kube-system", Name: "proxy", Ports: []int32{9}},
				{Namespace: "llm", Name: "llama-abc-1", Ports: []int32{8000}},
			},
			"|fd00::7":     {{Namespace: "llm", Name: "llama-abc-1"}},
			"llm|10.0.0.9": {{Namespace: "llm", Name: "llama-abc-1"}},
		},
	}
	for _, tt := range []struct {
		name   string
		alert  map[string]string
		answer *promtest.Reply
		asked  map[string]string
		want   incident.Trail
	}{
		{
			"namespace and pod",
			map[string]string{"namespace": "llm", "pod": "llama-abc-1"},
			nil, nil,
			incident.Trail{Kind: incident.TrailLabels, Pod: "llm/llama-abc-1"},
		},
		{
			"an exporter speaks of another pod",
			map[string]string{
				"namespace": "monitoring", "pod": "kube-state-metrics-1", "exported_namespace": "llm",
				"exported_pod": "llama-abc-1",
			},
			nil, nil,
			incident.Trail{Kind: incident.TrailLabels, Pod: "llm/llama-abc-1"},
		},
		{
			"older scrape labels",
			map[string]string{"kubernetes_namespace": "llm", "kubernetes_pod_name": "llama-abc-1"},
			nil,
			nil,
			incident.Trail{Kind: incident.TrailLabels, Pod: "llm/llama-abc-1"},
		},
		{
			"only an instance",
			map[string]string{"instance": instance},
			new(promtest.Vector(pod)),
			map[string]string{"instance": instance},
			incident.Trail{Kind: incident.TrailScrape, Instance: "10.0.0.7:8000", Pod: "llm/llama-abc-1"},
		},
		{
			"two jobs scrape the same pod",
			map[string]string{"instance": instance, "job": "vllm"},
			new(promtest.Vector(pod, seriesOf(`"namespace":"llm"`, `"pod":"llama-abc-1"`, `"exported_pod":""`))),
			map[string]string{"instance": instance, "job": "vllm"},
			incident.Trail{Kind: incident.TrailScrape, Instance: "10.0.0.7:8000", Pod: "llm/llama-abc-1"},
		},
		{
			"targets without pod labels",
			map[string]string{"instance": instance},
			new(promtest.Vector(seriesOf(`"namespace":"llm"`))),
			map[string]string{"instance": instance},
			incident.Trail{Kind: incident.TrailAddress, Instance: "10.0.0.7:8000", Pod: "llm/llama-abc-1"},
		},
		{
			"the port tells pods of one node apart",
			map[string]string{"instance": "10.0.0.8:8000"},
			new(promtest.Vector()),
			map[string]string{"instance": "10.0.0.8:8000"},
			incident.Trail{Kind: incident.TrailAddress, Instance: "10.0.0.8:8000", Pod: "llm/llama-abc-1"},
		},
		{
			"IPv6",
			map[string]string{"instance": "[fd00::7]:8000"},
			new(promtest.Vector()),
			map[string]string{"instance": "[fd00::7]:8000"},
			incident.Trail{Kind: incident.TrailAddress, Instance: "[fd00::7]:8000", Pod: "llm/llama-abc-1"},
		},
		{
			"a namespace narrows the search",
			map[string]string{"instance": "10.0.0.9:8000", "namespace": "llm"},
			new(promtest.Vector()),
			map[string]string{"instance": "10.0.0.9:8000", "namespace": "llm"},
			incident.Trail{Kind: incident.TrailAddress, Instance: "10.0.0.9:8000", Pod: "llm/llama-abc-1"},
		},
		{
			"Prometheus down, address known",
			map[string]string{"instance": instance},
			&promtest.Reply{Status: http.StatusBadRequest},
			map[string]string{"instance": instance},
			incident.Trail{Kind: incident.TrailAddress, Instance: "10.0.0.7:8000", Pod: "llm/llama-abc-1"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			if tt.answer != nil {
				f.Once(mustTargetQuery(t, tt.asked), *tt.answer)
			}
			ref, trail, err := newCollector(t, asking(f.Serve()), kube).FindWorkload(t.Context(), tt.alert)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(llamaChain()[1], ref); diff != "" || trail != tt.want {
				t.Errorf("trail %+v\n%s", trail, diff)
			}
		})
	}
	t.Run("a pod of its own", func(t *testing.T) {
		t.Parallel()
		ref, trail, err := newCollector(t, asking(newFakeProm(t).Serve()), kube).FindWorkload(t.Context(),
			map[string]string{"namespace": "llm", "pod": "lone"})
		if err != nil || ref.Kind != "Pod" || trail != (incident.Trail{Kind: incident.TrailLabels, Pod: "llm/lone"}) {
			t.Errorf("%v, %+v, %v", ref, trail, err)
		}
	})
}

//go:fix inline
func mustTargetQuery(t *testing.T, matchers map[string]string) string {
	t.Helper()
	q, err := targetQuery(matchers)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func TestFindWorkloadRefuses(t *testing.T) {
	t.Parallel()
	twoPods := new(promtest.Vector(seriesOf(`"namespace":"llm"`, `"pod":"a"`), seriesOf(`"namespace":"llm"`, `"pod":"b"`)))
	instance := map[string]string{"instance": "10.0.0.7:8000"}
	for _, tt := range []struct {
		name          string
		alert         map[string]string
		answer        *promtest.Reply
		kube          Kube
		none, several bool
		want          string
	}{
		{"no labels", map[string]string{"alertname": "x"}, nil, fakeKube{}, true, false, "no labels that lead to a pod"},
		{
			"a pod without a namespace",
			map[string]string{"pod": "x"},
			nil,
			fakeKube{},
			true, false,
			"no labels that lead to a pod",
		},
		{
			"a pod that is gone",
			map[string]string{"namespace": "llm", "pod": "x"},
			nil,
			fakeKube{},
			true, false,
			"Pod llm/x does not exist",
		},
		{
			"a name that is a path",
			map[string]string{"namespace": "llm", "pod": "../../secrets/x"},
			nil,
			fakeKube{},
			true,
			false, "which no pod can be called",
		},
		{
			"a namespace that is a path",
			map[string]string{"namespace": "..", "pod": "x"},
			nil,
			fakeKube{},
			true, false,
			"which no pod can be called",
		},
		{"an unknown instance", instance, new(promtest.Vector()), fakeKube{}, true, false, "no pod has that address"},
		{
			"an instance that is a name",
			map[string]string{"instance": "llama.llm:8000"},
			new(promtest.Vector()),
			fakeKube{},
			true,
			false, "it is not an IP address",
		},
		{
			"an instance that is too long",
			map[string]string{"instance": strings.Repeat("1", 600)},
			nil,
			fakeKube{},
			true,
			false, "more than 512",
		},
		{"Prometheus knows two pods", instance, twoPods, fakeKube{}, true, true, "pods llm/a, llm/b"},
		{
			"two pods have the address", instance, new(promtest.Vector()),
			fakeKube{byIP: map[string][]cluster.PodAddress{"|10.0.0.7": {
				{Namespace: "llm", Name: "a"},
				{Namespace: "llm", Name: "b"},
			}}},
			true, true, "pods llm/a, llm/b",
		},
		{
			"the pod at the address declares other ports", instance, new(promtest.Vector()),
			fakeKube{byIP: map[string][]cluster.PodAddress{"|10.0.0.7": {{Namespace: "llm", Name: "a", Ports: []int32{80}}}}},
			true, false, "no pod has that address",
		},
		{
			"Prometheus could not be asked", instance, &promtest.Reply{Status: http.StatusBadRequest},
			fakeKube{},
			false, false,
			"ask which pod 10.0.0.7:8000 is: Prometheus answered 400",
		},
		{
			"an answer in part", instance,
			&promtest.Reply{Body: `{"status":"success","isPartial":true,"data":{"resultType":"vector","result":[]}}`},
			fakeKube{},
			false,
			false, "the answer is partial",
		},
		{
			"Kubernetes could not be asked", instance, new(promtest.Vector()),
			fakeKube{err: errors.New("the right to list pods is missing")},
			false, false, "the right to list pods is missing",
		},
		{"no Kubernetes", instance, nil, nil, true, false, "no Kubernetes is configured"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFakeProm(t)
			if tt.answer != nil {
				f.Once(mustTargetQuery(t, map[string]string{"instance": tt.alert["instance"]}), *tt.answer)
			}
			ref, trail, err := newCollector(t, asking(f.Serve()), tt.kube).FindWorkload(t.Context(), tt.alert)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !ref.IsZero() ||
				trail != (incident.Trail{}) {
				t.Errorf("FindWorkload = %v, %+v, %v; want an error with %q", ref, trail, err, tt.want)
			}
			if errors.Is(err, incident.ErrNoWorkload) != tt.none || errors.Is(err, cluster.ErrAmbiguous) != tt.several {
				t.Errorf("none %v, ambiguous %v: %v", errors.Is(err, incident.ErrNoWorkload), errors.Is(err, cluster.ErrAmbiguous),
					err)
			}
		})
	}
}

func TestAHostileInstanceStaysAValue(t *testing.T) {
	t.Parallel()
	hostile := `x"} or vector(1) or up{y="`
	f := newFakeProm(t)
	f.Once(mustTargetQuery(t, map[string]string{"instance": hostile}), promtest.Vector())
	_, _, err := newCollector(t, asking(f.Serve()), fakeKube{}).FindWorkload(t.Context(),
		map[string]string{"instance": hostile})
	if !errors.Is(err, incident.ErrNoWorkload) {
		t.Errorf("err = %v", err)
	}
	for _, r := range f.Requests() {
		if n := len(selectorsOf(t, r.Form.Get("query"))); n != 2 {
			t.Errorf("%d selectors in %s", n, r.Form.Get("query"))
		}
	}
}

func TestTheClusterIsReadBesideTheReadings(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	c := newCollector(t, asking(f.Serve()), fakeKube{})
	if got := c.Collect(t.Context(), llmPool(), nil, CollectOptions{}).Cluster; got.Error != "" || *got.Replicas != 1 ||
		got.Workload != llmPool().Workload {
		t.Errorf("cluster = %+v", got)
	}
	known := llmPool()
	known.Knobs.Arguments = incident.ArgumentKnobs{incident.StepMaxNumBatchedTokens: {Min: 2048, Max: 8192, Default: 1024}}
	want := map[string]float64{"max_num_batched_tokens": 1024}
	if got := c.Collect(t.Context(), known, nil, CollectOptions{}).Cluster.Args; !maps.Equal(got, want) {
		t.Errorf("a budget that only the pool's configuration knows reads %v, want %v", got, want)
	}
	homeless := llmPool()
	homeless.Workload = incident.WorkloadRef{}
	if got := c.Collect(t.Context(), homeless, nil, CollectOptions{}).Cluster; got.Error != "the pool names no workload" {
		t.Errorf("cluster = %+v", got)
	}
}
