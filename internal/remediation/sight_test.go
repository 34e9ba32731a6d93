package remediation_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// finding is what an investigation shows, and what the playbooks say of it.
type finding struct {
	diagnosis string
	steps     []incident.StepRequest
	healthy   incident.Truth
	ttft      *float64
	generated *float64
	cluster   incident.Cluster
	note      string
	sampled   time.Time
	spent     bool   // the load has gone
	calm      bool   // the newest samples show no trouble
	unsplit   string // why it is not known whether the pods have roles
}

func sick(ttft float64, steps ...incident.StepRequest) finding {
	return finding{diagnosis: "overload", steps: steps, healthy: incident.False, ttft: &ttft}
}

func well() finding { return finding{healthy: incident.True, ttft: new(0.2)} }

// blind is an investigation that brought nothing: no data, no diagnosis.
func blind() finding { return finding{healthy: incident.Undecided, note: "The readings are missing."} }

func (f finding) readings() map[string]incident.Reading {
	out := map[string]incident.Reading{"ttft": {
		Signal: "ttft", Value: f.ttft, Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, Threshold: new(1.0),
	}}
	if f.ttft != nil {
		load := map[string]float64{
			incident.SignalRunning: 40, incident.SignalWaiting: 12, incident.SignalLoadNow: 1, incident.SignalWaitingLately: 12,
		}
		if f.spent {
			load = map[string]float64{incident.SignalRunning: 4, incident.SignalWaiting: 0, incident.SignalLoadNow: .1}
		}
		if f.calm {
			load[incident.SignalWaitingLately] = 0
		}
		if f.unsplit != "" {
			out[incident.SignalPrefillPods] = incident.Reading{Signal: incident.SignalPrefillPods, Error: f.unsplit}
		}
		for name, v := range load {
			out[name] = incident.Reading{Signal: name, Value: &v, Unit: incident.NamedSignals()[name]}
		}
	}
	if f.generated != nil {
		out[incident.SignalGenerated] = incident.Reading{
			Signal: incident.SignalGenerated, Value: f.generated, Unit: incident.UnitPerSecond,
		}
	}
	return out
}

// doing is a finding while the pool generates so many tokens a second.
func (f finding) doing(generated float64) finding {
	f.generated = &generated
	return f
}

func addReplica() incident.StepRequest {
	return incident.StepRequest{Kind: incident.StepReplicas, Add: 1, Why: "more capacity"}
}

func throttle() incident.StepRequest {
	return incident.StepRequest{Kind: incident.StepThrottle, Factor: 0.5, Why: "less load"}
}

// sight is Collector and Diagnoser: what it sees is said beforehand. Being asked without that fails the test, and so
// does a finding at which nobody looked.
type sight struct {
	t testing.TB

	mu     sync.Mutex
	pools  map[string]*shownFinding
	given  map[string]finding // by the tag that the evidence carries
	owners map[string]*ownersAnswer
	during func() // once, while somebody collects
	now    func() time.Time
}

type shownFinding struct {
	finding finding
	used    int
}

type ownersAnswer struct {
	owners []incident.WorkloadRef
	trail  incident.Trail
	err    error
	used   int
}

func newSight(t *testing.T) *sight {
	s := &sight{t: t, pools: map[string]*shownFinding{}, given: map[string]finding{}, owners: map[string]*ownersAnswer{}}
	t.Cleanup(func() {
		for pool := range s.pools {
			s.supersede(pool)
		}
		for instance, a := range s.owners {
			if a.used == 0 {
				t.Errorf("nobody asked for the owners of %s", instance)
			}
		}
	})
	return s
}

// see says what the next investigations of llama show.
func (s *sight) see(f finding) { s.seeAt("llama", f) }

func (s *sight) seeAt(pool string, f finding) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.supersede(pool)
	s.pools[pool] = &shownFinding{finding: f}
}

func (s *sight) supersede(pool string) {
	s.t.Helper()
	if old := s.pools[pool]; old != nil && old.used == 0 {
		s.t.Errorf("nobody looked at %s while it was: %+v", pool, old.finding)
	}
}

// owned says what the owners of an instance are.
func (s *sight) owned(instance string, a ownersAnswer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owners[instance] = &a
}

// asked is how often the owners of an instance were asked for.
func (s *sight) asked(instance string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owners[instance].used
}

func (s *sight) Collect(
	_ context.Context, pool incident.Pool, signals []incident.Signal, _ incident.Scope,
) incident.Evidence {
	s.mu.Lock()
	defer s.mu.Unlock()
	if during := s.during; during != nil {
		s.during = nil
		s.mu.Unlock()
		during() // others may collect meanwhile
		s.mu.Lock()
	}
	cur := s.pools[pool.Name]
	if cur == nil || len(signals) != 1 || signals[0].Name != "ttft" {
		s.t.Errorf("an unexpected collection for %s of %v", pool.Name, signals)
		return incident.Evidence{}
	}
	cur.used++
	tag := fmt.Sprintf("evidence %d", len(s.given)+1)
	s.given[tag] = cur.finding
	return incident.Evidence{
		At: s.now(), Readings: cur.finding.readings(), Dialect: tag, Cluster: cur.finding.cluster,
		SampledAt: cur.finding.sampled,
	}
}

func (s *sight) FindOwners(
	_ context.Context, labels map[string]string,
) ([]incident.WorkloadRef, incident.Trail, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.owners[labels["instance"]]
	if a == nil {
		s.t.Errorf("nobody was expected to ask for the owners of %v", labels)
		return nil, incident.Trail{}, errors.New("unexpected")
	}
	a.used++
	return a.owners, a.trail, a.err
}

func (s *sight) Signals([]string) []incident.Signal { return []incident.Signal{{Name: "ttft"}} }

func (s *sight) Diagnose(in playbooks.Input) playbooks.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.given[in.Evidence.Dialect]
	if !ok {
		s.t.Errorf("a diagnosis from evidence that nobody collected: %+v", in.Evidence)
		return playbooks.Result{Healthy: incident.Undecided}
	}
	r := playbooks.Result{Steps: f.steps, Healthy: f.healthy, Note: f.note, Readings: in.Evidence.Readings}
	if f.diagnosis != "" {
		r.Diagnosis = &incident.Diagnosis{Playbook: "p", Name: f.diagnosis, Summary: "It is " + f.diagnosis +
			".", Healthy: []string{"ttft"}}
	}
	return r
}
