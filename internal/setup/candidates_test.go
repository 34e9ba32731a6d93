package setup

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func deployment(name string) incident.WorkloadRef {
	return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: name}
}

func server(pod string, owners ...incident.WorkloadRef) Server {
	return Server{Namespace: "llm", Pod: pod, Owners: owners, Containers: []string{"vllm"}}
}

func model(name string, engines ...Engine) Model {
	return Model{
		Name: "llm/" + name, ModelName: name, Metric: "vllm:num_requests_running",
		Labels: map[string]string{"namespace": "llm", "model_name": name}, Engines: engines,
	}
}

func engine(pod string, labels ...string) Engine {
	e := Engine{Namespace: "llm", Pod: pod, Labels: map[string]string{"namespace": "llm", "pod": pod}}
	for i := 0; i < len(labels); i += 2 {
		e.Labels[labels[i]] = labels[i+1]
	}
	return e
}

// summary is what a test compares of a candidate.
func summary(c Candidate) string {
	out := c.Name + " " + labels(c.Labels)
	if c.Workload.Sure {
		out += " " + c.Workload.Value.String()
	}
	if c.Workload.Question != "" {
		out += " asks"
	}
	if c.NoMatch != "" {
		out += " no match"
	}
	return out
}

func TestCandidatesAreTheModelsOnTheirWorkloads(t *testing.T) {
	t.Parallel()
	both := Found{Prometheus: Prometheus{Asked: true}, Kubernetes: Kubernetes{Asked: true}}
	with := func(f Found, change func(*Found)) Found {
		change(&f)
		return f
	}
	rs := func(name string) incident.WorkloadRef {
		return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "llm", Name: name}
	}
	for _, tt := range []struct {
		name        string
		found       Found
		want, notes []string
	}{
		{
			"one workload", with(both, func(f *Found) {
				f.Models = []Model{model("a", engine("a-0"), engine("a-1"))}
				f.Servers = []Server{server("a-0", rs("a-6"), deployment("a")), server("a-1", rs("a-6"), deployment("a"))}
			}),
			[]string{"a {model_name: a, namespace: llm} Deployment llm/a"},
			nil,
		},
		{
			"two workloads, told apart by a label", with(both, func(f *Found) {
				f.Models = []Model{model("a", engine("p-0", "role", "prefill"), engine("d-0", "role", "decode"))}
				f.Servers = []Server{server("p-0", deployment("p")), server("d-0", deployment("d"))}
			}),
			[]string{
				"d {model_name: a, namespace: llm, role: decode} Deployment llm/d",
				"p {model_name: a, namespace: llm, role: prefill} Deployment llm/p",
			},
			nil,
		},
		{
			"two workloads, and no label is the same in all pods of one", with(both, func(f *Found) {
				f.Models = []Model{model("a", engine("p-0", "x", "1"), engine("p-1", "x", "2"), engine("d-0", "x", "3"))}
				f.Servers = []Server{
					server("p-0", deployment("p")), server("p-1", deployment("p")), server("d-0", deployment("d")),
				}
			}),
			[]string{"a {model_name: a, namespace: llm} asks"},
			nil,
		},
		{
			"a workload of two models is the first one's", with(both, func(f *Found) {
				f.Models = []Model{model("a", engine("x-0")), model("b", engine("x-0"))}
				f.Servers = []Server{server("x-0", deployment("x"))}
			}),
			[]string{"a {model_name: a, namespace: llm} Deployment llm/x", "b {model_name: b, namespace: llm}"},
			nil,
		},
		{
			"a pod of another cluster", with(both, func(f *Found) { f.Models = []Model{model("a", engine("a-0"))} }),
			[]string{"a {model_name: a, namespace: llm} asks"},
			nil,
		},
		{
			"an address instead of a pod", with(both, func(f *Found) {
				e := Engine{Labels: map[string]string{"instance": "10.1.0.1:8000"}}
				f.Models = []Model{model("a", e)}
				s := server("a-0", deployment("a"))
				s.IP = "10.1.0.1"
				f.Servers = []Server{s}
			}),
			[]string{"a {model_name: a, namespace: llm} Deployment llm/a"},
			nil,
		},
		{
			"without metrics now", with(both, func(f *Found) {
				m := model("a")
				m.Gone = true
				f.Models = []Model{m}
			}),
			nil,
			[]string{"llm/a had metrics in the last hour, and has none now. Run init again when it serves."},
		},
		{
			"series that cannot be told from others", with(both, func(f *Found) {
				m := model("a")
				m.Overlaps = []string{"llm/b"}
				f.Models = []Model{m}
			}),
			nil,
			[]string{"llm/a was left out: its series carry no label that distinguishes them from those of llm/b."},
		},
		{
			"vLLM that nobody scrapes", with(both, func(f *Found) { f.Servers = []Server{server("a-0", deployment("a"))} }),
			nil,
			[]string{
				"Deployment llm/a runs vLLM (pod a-0), and this Prometheus has no series of it. Is there a PodMonitor or a " +
					"ServiceMonitor for it?",
			},
		},
		{
			"without Prometheus",
			Found{Kubernetes: Kubernetes{Asked: true}, Servers: []Server{
				{Namespace: "llm", Pod: "a-0", Owners: []incident.WorkloadRef{deployment("a")}, ModelNames: []string{"m"}},
				{Namespace: "llm", Pod: "b-0", Owners: []incident.WorkloadRef{deployment("b")}},
			}},
			[]string{
				"a {model_name: m, namespace: llm} Deployment llm/a", "b {namespace: llm} Deployment llm/b no match",
			},
			nil,
		},
		{
			"without Kubernetes",
			Found{Prometheus: Prometheus{Asked: true}, Models: []Model{model("a", engine("a-0"))}},
			[]string{"a {model_name: a, namespace: llm} asks"},
			nil,
		},
		{
			"two namespaces", with(Found{Prometheus: Prometheus{Asked: true}}, func(f *Found) {
				other := model("a", engine("a-0"))
				other.Labels = map[string]string{"namespace": "dev", "model_name": "a"}
				f.Models = []Model{model("a", engine("a-0")), other}
			}),
			[]string{
				"llm-a {model_name: a, namespace: llm} asks", "dev-a {model_name: a, namespace: dev} asks",
			},
			nil,
		},
		{
			"labels that an alert could have of both", with(Found{Prometheus: Prometheus{Asked: true}}, func(f *Found) {
				a, b := model("a"), model("b")
				b.Labels = map[string]string{"namespace": "llm", "job": "b"}
				f.Models = []Model{a, b}
			}),
			[]string{"a {model_name: a, namespace: llm} asks", "b {job: b, namespace: llm} asks no match"},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, notes := Candidates(tt.found)
			var have []string
			for _, c := range got {
				have = append(have, summary(c))
			}
			if d := cmp.Diff(tt.want, have); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			if d := cmp.Diff(tt.notes, notes); d != "" {
				t.Errorf("notes (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheWorkloadIsTheHighestOwnerThatIsScaled(t *testing.T) {
	t.Parallel()
	at := func(apiVersion, kind string) incident.WorkloadRef {
		return incident.WorkloadRef{APIVersion: apiVersion, Kind: kind, Namespace: "llm", Name: "x"}
	}
	const group = "disaggregatedset.x-k8s.io/v1"
	unseen := server("p", at("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"), at(group, "DisaggregatedSet"))
	scaled := unseen
	scaled.Scaler, unseen.Unscaled = at(group, "DisaggregatedSetRoleScaler"), "the right to list is missing"
	for _, tt := range []struct {
		name   string
		server Server
		want   string
		words  string
	}{
		{"plain", server("p", at("apps/v1", "ReplicaSet"), at("apps/v1", "Deployment")), "Deployment", ""},
		{
			"below an operator", server("p", at("apps/v1", "Deployment"), at("serving.kserve.io/v1beta1", "InferenceService")),
			"Deployment", "belongs to InferenceService x, which is not scaled itself",
		},
		{
			"an operator that is scaled",
			server("p", at("apps/v1", "Deployment"), at("production-stack.vllm.ai/v1alpha1", "VLLMRuntime")), "VLLMRuntime", "",
		},
		{
			"a group", server("p", at("apps/v1", "StatefulSet"), at("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")),
			"LeaderWorkerSet", "",
		},
		{"no workload", server("p", at("ray.io/v1", "RayCluster")), "", "RayCluster x; see docs/platforms.md"},
		{"no owner", server("p"), "", "No owner of pod llm/p is known"},
		{
			"an owner that may not be read",
			Server{Namespace: "llm", Pod: "p", Unfollowed: "the right to get deployments is missing"},
			"",
			"the right to get deployments is missing",
		},
		{"an object that is made to be scaled", scaled, "DisaggregatedSetRoleScaler", "is made to scale it"},
		{"one that can't be seen", unseen, "LeaderWorkerSet", "made to scale it isn't known: the right to list is missing"},
		{"a name of one revision", unseen, "LeaderWorkerSet", "A rollout of DisaggregatedSet x may rename it"},
	} {
		ref, why, ok := workloadOf(tt.server)
		if ref.Kind != tt.want || ok != (tt.want != "") || !strings.Contains(why, tt.words) {
			t.Errorf("%s: %v, %q", tt.name, ref, why)
		}
	}
}

func TestTheContainerIsAQuestionWhereSeveralCouldRunVLLM(t *testing.T) {
	t.Parallel()
	one := Server{Containers: []string{"vllm"}}
	if g := containerOf([]Server{one, one}); g.Value != "vllm" || !g.Sure {
		t.Errorf("%+v", g)
	}
	two := Server{Containers: []string{"a", "b"}, Guessed: true}
	if g := containerOf([]Server{two}); g.Value != "" || g.Sure || g.Question == "" || len(g.Others) != 2 {
		t.Errorf("%+v", g)
	}
}
