package remediation_test

import (
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

func pool(name string, match map[string]string) incident.Pool {
	return incident.Pool{Name: name, Match: match}
}

func TestTheMostSpecificPoolWins(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	pools := []incident.Pool{
		pool("everything of nobody", nil),
		pool("namespace", labels{"namespace": "llm"}),
		pool("model", labels{"namespace": "llm", "model_name": "llama"}),
		pool("canary", labels{"namespace": "llm", "model_name": "llama", "track": "canary"}),
	}
	for _, tt := range []struct {
		labels labels
		want   string
	}{
		{labels{"namespace": "llm"}, "namespace"},
		{labels{"namespace": "llm", "model_name": "qwen"}, "namespace"},
		{labels{"namespace": "llm", "model_name": "llama"}, "model"},
		{labels{"namespace": "llm", "model_name": "llama", "track": "canary", "pod": "x"}, "canary"},
		{labels{"model_name": "llama"}, ""},
		{labels{"namespace": "LLM"}, ""},
		{nil, ""},
	} {
		got, ok := remediation.MatchPool(pools, tt.labels)
		if got.Name != tt.want || ok != (tt.want != "") {
			t.Errorf("%v leads to %q (%v), want %q", tt.labels, got.Name, ok, tt.want)
		}
	}
}

func TestPoolsThatCannotBeToldApartAreAmbiguous(t *testing.T) {
	t.Parallel()
	type labels = map[string]string
	for _, tt := range []struct {
		name string
		a, b labels
		want bool
	}{
		{"the same", labels{"model_name": "x"}, labels{"model_name": "x"}, true},
		{"other labels", labels{"model_name": "x"}, labels{"namespace": "y"}, true},
		{"values contradict", labels{"model_name": "x", "namespace": "n"}, labels{"model_name": "y", "namespace": "n"}, false},
		{"one is more specific", labels{"model_name": "x"}, labels{"model_name": "x", "namespace": "n"}, false},
		{"one matches nothing", nil, labels{"model_name": "x"}, false},
		{"both match nothing", nil, nil, false},
	} {
		for _, swap := range []bool{false, true} {
			a, b := pool("a", tt.a), pool("b", tt.b)
			if swap {
				a, b = b, a
			}
			if got := remediation.Ambiguous(a, b); got != tt.want {
				t.Errorf("%s: ambiguous %v, want %v", tt.name, got, tt.want)
			}
		}
	}
}

func TestAnAlertWithOnlyAnInstanceLeadsToTheOwner(t *testing.T) {
	t.Parallel()
	deployment := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama"}
	replicaSet := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "llm", Name: "llama-7d4"}
	other := deployment
	other.Name = "other"
	elsewhere := deployment
	elsewhere.Namespace = "dev"
	foreign := deployment
	foreign.APIVersion = "example.com/v1"
	for _, tt := range []struct {
		name string
		ans  ownersAnswer
		want string
	}{
		{"the top owner", ownersAnswer{owners: []incident.WorkloadRef{replicaSet, deployment}, how: "by the pod's address"}, "llama"},
		{"an operator above it", ownersAnswer{owners: []incident.WorkloadRef{replicaSet, deployment, foreign}}, "llama"},
		{"another workload", ownersAnswer{owners: []incident.WorkloadRef{replicaSet, other}}, ""},
		{"another namespace", ownersAnswer{owners: []incident.WorkloadRef{elsewhere}}, ""},
		{"another group", ownersAnswer{owners: []incident.WorkloadRef{foreign}}, ""},
		{"nothing found", ownersAnswer{err: remediation.ErrNoWorkload}, ""},
		{"no owners", ownersAnswer{}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			b.sight.owned("10.0.0.1:8000", tt.ans)
			b.deliver(incident.Alert{Fingerprint: "f", Firing: true, StartsAt: start, Labels: map[string]string{"alertname": "HighTTFT", "instance": "10.0.0.1:8000"}})
			b.sweep()
			if got := b.all(); len(got) != 1 || got[0].Pool != tt.want {
				t.Errorf("led to %+v, want the pool %q", got, tt.want)
			}
		})
	}
}

func TestTheOwnerOfOneInstanceIsAskedForOnceInADelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	var alerts []incident.Alert
	for _, name := range []string{"HighTTFT", "QueueBuildUp", "KVCacheNearFull"} {
		alerts = append(alerts, incident.Alert{Fingerprint: name, Firing: true, StartsAt: start, Labels: map[string]string{"alertname": name, "instance": "10.0.0.1:8000"}})
	}
	b.deliver(alerts...)
	b.sweep()
	if got := b.sight.asked("10.0.0.1:8000"); got != 1 || len(b.open("llama").Alerts) != 3 {
		t.Errorf("asked %d times, %d alerts", got, len(b.open("llama").Alerts))
	}
}

func TestThePoolOfTheTopOwnerWins(t *testing.T) {
	t.Parallel()
	below := qwen()
	below.Workload = incident.WorkloadRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "llm", Name: "llama-7d4"}
	b := newBench(t, []incident.Pool{below, llama()})
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{below.Workload, llama().Workload}})
	b.deliver(incident.Alert{Fingerprint: "f", Firing: true, StartsAt: start, Labels: map[string]string{"alertname": "HighTTFT", "instance": "10.0.0.1:8000"}})
	b.sweep()
	if got := b.all(); len(got) != 1 || got[0].Pool != "llama" {
		t.Errorf("led to %+v", got)
	}
}

// The advice has an example for each model, and a hostile label stays a value in it.
func TestTheAdviceFitsTheAlerts(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("", ownersAnswer{err: remediation.ErrNoWorkload})
	b.deliver(alert("HighTTFT", "mixtral"), alert("QueueBuildUp", "mixtral"), alert("HighTTFT", "x\n  - name: llama"), alert("HighTTFT", "phi"), alert("HighTTFT", "gemma"))
	b.sweep()
	note := b.open("").Note
	_, text, _ := strings.Cut(note, "one like this:\n")
	var advice struct {
		Pools []struct {
			Name  string            `yaml:"name"`
			Match map[string]string `yaml:"match"`
		} `yaml:"pools"`
	}
	if err := yaml.Load([]byte(text), &advice, yaml.WithSingleDocument()); err != nil {
		t.Fatalf("the advice is no YAML: %v\n%s", err, note)
	}
	if len(advice.Pools) != 3 || advice.Pools[0].Match["model_name"] != "mixtral" || advice.Pools[1].Name != "x\n  - name: llama" {
		t.Errorf("got %+v from\n%s", advice.Pools, note)
	}
	if !strings.Contains(note, "and 1 more") {
		t.Errorf("what was left out is not said:\n%s", note)
	}
}
