package drill

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// at is no time at which the series were written for a test.
var at = time.Date(2031, 4, 9, 3, 11, 0, 0, time.UTC)

// What a drill plays must lead today's playbooks to what people are told that it plays, and to something to decide on.
func TestEveryScenarioLeadsToItsDiagnosisAndToAStep(t *testing.T) {
	t.Parallel()
	// Neither the range of a bot's rates nor its clock has a part in what was recorded.
	c, err := catalog.Load(playbooks.Options{Window: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	recordings := &Recordings{}
	for _, s := range List() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			var names []string
			var alerts []incident.Alert
			for _, a := range s.Alerts {
				names = append(names, a.Name)
				alerts = append(alerts, incident.Alert{Firing: true, Labels: map[string]string{"alertname": a.Name}})
			}
			three := int64(3)
			now := incident.Cluster{
				Replicas: &three, Workload: incident.WorkloadRef{Kind: "Deployment", Namespace: "llm", Name: "llama"},
			}
			ev := recordings.Collect(t.Context(), s.Name, c.Signals(names), at, now)
			for name, r := range ev.Readings {
				if r.Error != "" || !r.At.Equal(at) {
					t.Errorf("%s was read at %v: %s", name, r.At, r.Error)
				}
			}
			if ev.ClusterNow().Replicas != &three || len(ev.Cluster.Pods) == 0 || ev.Cluster.Replicas != nil {
				t.Errorf("the guardrails are asked about %+v, the rules about %+v", ev.ClusterNow(), ev.Cluster)
			}
			pool := incident.Pool{Name: "mine", SLO: ev.Recorded.SLO}
			got := c.Diagnose(playbooks.Input{Alerts: alerts, Pool: pool, Evidence: ev})
			if got.Diagnosis == nil || got.Diagnosis.Name != s.Expected {
				t.Fatalf("diagnosed %+v, want %s", got.Diagnosis, s.Expected)
			}
			if !slices.ContainsFunc(got.Steps, func(r incident.StepRequest) bool { return r.Kind != incident.StepManual }) {
				t.Errorf("there is nothing to decide on: %+v", got.Steps)
			}
		})
	}
}

func TestAScenarioThatIsNotThereHasNoReadings(t *testing.T) {
	t.Parallel()
	r := &Recordings{}
	if _, ok := r.Scenario("flood"); ok {
		t.Error("there is a scenario that is not there")
	}
	ev := r.Collect(t.Context(), "flood", []incident.Signal{{Name: "waiting"}}, at, incident.Cluster{})
	if got := ev.Readings["waiting"]; got.Error == "" || got.Value != nil {
		t.Errorf("it reads %+v", got)
	}
}
