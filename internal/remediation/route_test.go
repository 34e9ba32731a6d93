package remediation_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

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
		{
			"the top owner",
			ownersAnswer{owners: []incident.WorkloadRef{replicaSet, deployment}},
			"llama",
		},
		{"an operator above it", ownersAnswer{owners: []incident.WorkloadRef{replicaSet, deployment, foreign}}, "llama"},
		{"another workload", ownersAnswer{owners: []incident.WorkloadRef{replicaSet, other}}, ""},
		{"another namespace", ownersAnswer{owners: []incident.WorkloadRef{elsewhere}}, ""},
		{"another group", ownersAnswer{owners: []incident.WorkloadRef{foreign}}, ""},
		{"nothing found", ownersAnswer{err: incident.ErrNoWorkload}, ""},
		{"no owners", ownersAnswer{}, ""},
		{"an owner above it that may not be read", ownersAnswer{
			owners: []incident.WorkloadRef{replicaSet, deployment},
			err:    errForbidden,
		}, "llama"},
		{"an owner above it that is not there", ownersAnswer{
			owners: []incident.WorkloadRef{deployment},
			err:    incident.ErrNoWorkload,
		}, "llama"},
		{"another workload below one that may not be read", ownersAnswer{
			owners: []incident.WorkloadRef{other},
			err:    errForbidden,
		}, ""},
		{"nothing may be read", ownersAnswer{err: errForbidden}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			b.sight.owned("10.0.0.1:8000", tt.ans)
			b.deliver(incident.Alert{
				Fingerprint: "f", Firing: true, StartsAt: start,
				Labels: map[string]string{"alertname": "HighTTFT", "instance": "10.0.0.1:8000"},
			})
			b.sweep()
			if got := b.all(); len(got) != 1 || got[0].Pool != tt.want {
				t.Errorf("led to %+v, want the pool %q", got, tt.want)
			}
		})
	}
}

// errSilent is an API server that does not answer, errForbidden one that does not allow a question.
var (
	errSilent    = fmt.Errorf("the API server is away: %w", incident.ErrUnanswered)
	errForbidden = errors.New("the permission to get vllmruntimes in namespace llm is missing")
)

// from is an alert that carries only an instance.
func from(name, instance string) incident.Alert {
	return incident.Alert{
		Fingerprint: name + "/" + instance, Firing: true, StartsAt: start,
		Labels: map[string]string{"alertname": name, "instance": instance},
	}
}

// What may not be read is an answer about one object. The alerts after it are looked at in the same delivery, and their
// pool hears of them at once.
func TestAnOwnerThatMayNotBeReadHidesNoOtherAlert(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	replicaSet := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "llm", Name: "llama-7d4"}
	b.sight.owned("10.0.0.1:8000", ownersAnswer{err: errForbidden})
	b.sight.owned("10.0.0.2:8000", ownersAnswer{
		owners: []incident.WorkloadRef{replicaSet, llama().Workload},
		trail:  incident.Trail{Kind: incident.TrailAddress, Instance: "10.0.0.2:8000", Pod: "llm/llama-0"}, err: errForbidden,
	})
	b.sight.owned("10.0.0.3:8000", ownersAnswer{
		owners: []incident.WorkloadRef{qwen().Workload},
	})
	b.deliver(from("PodRestarts", "10.0.0.1:8000"), from("HighTTFT", "10.0.0.2:8000"), from("HighTTFT", "10.0.0.3:8000"))
	b.sweep()
	stray := b.open("")
	if !strings.Contains(said(stray), "The pool of PodRestarts could not be found: "+errForbidden.Error()) {
		t.Errorf("what may not be read is not said: %s", said(stray))
	}
	want := "The address 10.0.0.2:8000 is that of pod llm/llama-0, which belongs to ReplicaSet llama-7d4, then " +
		"Deployment llama. However, " + errForbidden.Error()
	if got := said(b.open("llama")); !strings.Contains(got, want) {
		t.Errorf("it is not said that the owners above are not known: %s", got)
	}
	if got := b.open("qwen"); len(got.Alerts) != 1 {
		t.Errorf("qwen has %d alerts", len(got.Alerts))
	}
	b.sight.owned("10.0.0.1:8000", ownersAnswer{err: errForbidden})
	b.sight.owned("10.0.0.4:8000", ownersAnswer{owners: []incident.WorkloadRef{deploymentOf("mixtral")}})
	b.deliver(from("HighTTFT", "10.0.0.4:8000"))
	b.sweep()
	mixtral := llama()
	mixtral.Name, mixtral.Workload, mixtral.Match = "mixtral", deploymentOf("mixtral"),
		map[string]string{"model_name": "mixtral"}
	b.restart(llama(), qwen(), mixtral)
	b.sight.seeAt("mixtral", well())
	b.sight.seeAt("llama", well())
	b.sight.seeAt("qwen", well())
	b.pass(2 * time.Minute)
	if got := b.open("mixtral"); len(got.Alerts) != 1 {
		t.Errorf("the reroute stopped at what may not be read: %d alerts", len(got.Alerts))
	}
	if got := b.open(""); len(got.Alerts) != 1 || got.Alerts[0].Name() != "PodRestarts" {
		t.Errorf("left without a pool: %v", got.AlertNames())
	}
}

func deploymentOf(name string) incident.WorkloadRef {
	return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: name}
}

// While nobody answers, a pool below what was not answered is not taken for the alert's: a pool may name the owner
// above it. When the patience is over, it is better than none.
func TestAPoolBelowSilenceIsTakenWhenThePatienceIsOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	const where = "10.0.0.1:8000"
	b.sight.owned(where, ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}, err: errSilent})
	b.deliver(from("HighTTFT", where))
	for n := range 5 {
		if got := b.all(); len(got) != 0 {
			t.Fatalf("led to %+v after %d tries", got, n)
		}
		b.sweep()
		b.skip(5 * time.Second)
	}
	if got := said(b.open("llama")); !strings.Contains(got,
		"Could not check whether HighTTFT belongs to another pool: the API server is away") {
		t.Errorf("the journal: %s", got)
	}
}

// A thousand alerts may each lead to something else that may not be read.
func TestOneDeliverySaysOnlySomeOfManyReasons(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	var alerts []incident.Alert
	for n := range 9 {
		where := fmt.Sprintf("10.0.0.%d:8000", n)
		b.sight.owned(where, ownersAnswer{err: fmt.Errorf("namespace %d may not be read", n)})
		alerts = append(alerts, from("HighTTFT", where))
	}
	b.deliverAll(incident.Delivery{ReceivedAt: start, Receiver: "medic", GroupKey: "g", Truncated: 7, Alerts: alerts})
	b.sweep()
	got := said(b.open(""))
	for _, want := range []string{
		"left 7 more alerts out", "namespace 0 may not be read", "namespace 2 may not be read",
		"6 more routing details omitted.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the journal lacks %q: %s", want, got)
		}
	}
	if strings.Contains(got, "namespace 3") {
		t.Errorf("the journal says more than three: %s", got)
	}
}

func TestTheOwnerOfOneInstanceIsAskedForOnceInADelivery(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	var alerts []incident.Alert
	for _, name := range []string{"HighTTFT", "QueueBuildUp", "KVCacheNearFull"} {
		alerts = append(alerts, incident.Alert{
			Fingerprint: name, Firing: true, StartsAt: start,
			Labels: map[string]string{"alertname": name, "instance": "10.0.0.1:8000"},
		})
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
	b.deliver(incident.Alert{
		Fingerprint: "f", Firing: true, StartsAt: start,
		Labels: map[string]string{"alertname": "HighTTFT", "instance": "10.0.0.1:8000"},
	})
	b.sweep()
	if got := b.all(); len(got) != 1 || got[0].Pool != "llama" {
		t.Errorf("led to %+v", got)
	}
}

// Rules that aggregate over a namespace leave no other label. With more than that, or more than one pool, it may be
// about something else.
func TestAnAlertThatNamesOnlyANamespaceLeadsToTheOnlyPoolThere(t *testing.T) {
	t.Parallel()
	elsewhere, nowhere, inCluster := qwen(), qwen(), llama()
	elsewhere.Match = map[string]string{"namespace": "chat", "model_name": "qwen"}
	elsewhere.Workload.Namespace = "chat"
	nowhere.Match, nowhere.Workload = map[string]string{"model_name": "qwen"}, incident.WorkloadRef{}
	inCluster.Match = map[string]string{"namespace": "llm", "model_name": "llama", "cluster": "east"}
	for name, c := range map[string]struct {
		pools  []incident.Pool
		labels map[string]string
		want   string
	}{
		"the only pool":               {[]incident.Pool{llama()}, nil, "llama"},
		"another one elsewhere":       {[]incident.Pool{llama(), elsewhere}, nil, "llama"},
		"labels of its Prometheus":    {[]incident.Pool{llama()}, map[string]string{"prometheus": "a/b"}, "llama"},
		"two pools":                   {[]incident.Pool{llama(), qwen()}, nil, ""},
		"one whose namespace unknown": {[]incident.Pool{llama(), nowhere}, nil, ""},
		"another model":               {[]incident.Pool{llama()}, map[string]string{"model_name": "phi"}, ""},
		"a volume":                    {[]incident.Pool{llama()}, map[string]string{"persistentvolumeclaim": "db"}, ""},
		"another namespace":           {[]incident.Pool{llama()}, map[string]string{"namespace": "db"}, ""},
		"another cluster":             {[]incident.Pool{inCluster}, map[string]string{"cluster": "west"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.pools)
			if c.want == "" {
				b.sight.owned("", ownersAnswer{err: incident.ErrNoWorkload})
			}
			a := incident.Alert{
				Fingerprint: "f", Firing: true, StartsAt: start,
				Labels: map[string]string{"alertname": "KServeTTFT", "namespace": "llm"},
			}
			maps.Copy(a.Labels, c.labels)
			b.deliver(a)
			b.sweep()
			if got := b.all(); len(got) != 1 || got[0].Pool != c.want {
				t.Errorf("led to %+v", got)
			}
		})
	}
}

// The advice has an example for each model, and a hostile label stays a value in it.
func TestTheAdviceFitsTheAlerts(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("", ownersAnswer{err: incident.ErrNoWorkload})
	b.deliver(alert("HighTTFT", "mixtral"), alert("QueueBuildUp", "mixtral"), alert("HighTTFT", "x\n  - name: llama"),
		alert("HighTTFT", "phi"), alert("HighTTFT", "gemma"))
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
	if len(advice.Pools) != 3 || advice.Pools[0].Match["model_name"] != "mixtral" ||
		advice.Pools[1].Name != "x\n  - name: llama" {
		t.Errorf("got %+v from\n%s", advice.Pools, note)
	}
	if !strings.Contains(note, "and 1 more") {
		t.Errorf("what was left out is not said:\n%s", note)
	}
}
