package remediation_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// finding is what an investigation shows, and what the playbooks say of it.
type finding struct {
	diagnosis string
	steps     []incident.StepRequest
	healthy   incident.Truth
	ttft      *float64
	cluster   incident.Cluster
	note      string
	sampled   time.Time
}

func sick(ttft float64, steps ...incident.StepRequest) finding {
	return finding{diagnosis: "overload", steps: steps, healthy: incident.False, ttft: &ttft}
}

func well() finding { return finding{healthy: incident.True, ttft: new(0.2)} }

// blind is an investigation that brought nothing: no data, no diagnosis.
func blind() finding { return finding{healthy: incident.Undecided, note: "The readings are missing."} }

func (f finding) readings() map[string]incident.Reading {
	return map[string]incident.Reading{"ttft": {
		Signal: "ttft", Value: f.ttft, Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, Threshold: new(1.0),
	}}
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
	how    string
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

func (s *sight) FindOwners(_ context.Context, labels map[string]string) ([]incident.WorkloadRef, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.owners[labels["instance"]]
	if a == nil {
		s.t.Errorf("nobody was expected to ask for the owners of %v", labels)
		return nil, "", errors.New("unexpected")
	}
	a.used++
	return a.owners, a.how, a.err
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

// answer is one scripted answer of a cluster. The zero one lets the call do what it should.
type answer struct {
	err error
	// lost: the call answers err and changes nothing. Without it a write takes effect and then answers err.
	lost    bool
	rollout incident.Rollout
	then    func()
}

// cluster is an Executor on two objects that live in memory. Reads of the present value need no script; every other
// call takes the next answer of its script, and a call without one fails the test, as does an answer that was not asked
// for.
type cluster struct {
	t       testing.TB
	dry     bool
	mu      sync.Mutex
	objects map[incident.StepKind]*object
	refuse  map[incident.StepKind]error
	needs   map[incident.StepKind]incident.Needs
	script  map[string][]answer
	log     []string
	// markErr fails every Mark, reversalErr every Reversal; reversals counts these.
	markErr, reversalErr error
	reversals            int
}

type object struct {
	value   int
	writeID string
	// made are the ids of the writes that took effect; generation counts all changes. nameless: the object keeps no ids.
	made       []string
	generation int64
	nameless   bool
	by         string
}

func newCluster(t *testing.T, dry bool) *cluster {
	c := &cluster{
		t: t, dry: dry, refuse: map[incident.StepKind]error{}, needs: map[incident.StepKind]incident.Needs{},
		script: map[string][]answer{},
		objects: map[incident.StepKind]*object{
			incident.StepReplicas: {value: 2}, incident.StepThrottle: {value: 64},
			incident.StepMaxNumBatchedTokens: {value: 8192},
		},
	}
	t.Cleanup(func() {
		for call, left := range c.script {
			if len(left) > 0 {
				t.Errorf("%d of the answers to %q were not asked for", len(left), call)
			}
		}
	})
	return c
}

func (c *cluster) expect(call string, answers ...answer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(answers) == 0 {
		answers = []answer{{}}
	}
	c.script[call] = append(c.script[call], answers...)
}

func (c *cluster) next(call string) answer {
	if len(c.script[call]) == 0 {
		c.t.Errorf("an unexpected call: %s", call)
		return answer{err: errors.New("unexpected"), lost: true}
	}
	a := c.script[call][0]
	c.script[call] = c.script[call][1:]
	if a.then != nil {
		a.then()
	}
	return a
}

// left is how many answers to a call wait.
func (c *cluster) left(call string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.script[call])
}

// scale is somebody else who sets the replicas.
func (c *cluster) scale(v int) { c.set(incident.StepReplicas, v) }

// set is somebody else who sets a value.
func (c *cluster) set(kind incident.StepKind, v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.objects[kind]
	o.value, o.writeID, o.by = v, "somebody", "argocd-controller"
	o.generation++
}

// reversal is what Reversal says of an object whose value is not the wanted one.
func (o *object) reversal(want incident.Value) *incident.Reversal {
	if value(o.value) == want {
		return nil
	}
	return &incident.Reversal{Value: value(o.value), By: o.by}
}

func wanted(s incident.Step, op incident.Op) incident.Value {
	if op == incident.OpUndo {
		return s.Undo
	}
	return s.To
}

func (c *cluster) Mark(_ context.Context, _ incident.Pool, s incident.Step) (incident.Mark, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return incident.Mark{Generation: c.objects[s.Kind].generation + 1}, c.markErr
}

func (c *cluster) Reversal(
	_ context.Context, _ incident.Pool, s incident.Step, op incident.Op,
) (*incident.Reversal, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reversals++
	if c.reversalErr != nil {
		return nil, c.reversalErr
	}
	return c.objects[s.Kind].reversal(wanted(s, op)), nil
}

func (c *cluster) value(kind incident.StepKind) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.objects[kind].value
}

// written are the writes that took effect, in order.
func (c *cluster) written() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.log)
}

func (c *cluster) Propose(_ context.Context, pool incident.Pool, req incident.StepRequest) (incident.Step, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.refuse[req.Kind]; err != nil {
		return incident.Step{}, err
	}
	o := c.objects[req.Kind]
	to := o.value + int(req.Add)
	if req.Factor > 0 {
		to = int(float64(o.value) * req.Factor)
	}
	s := incident.Step{
		Kind: req.Kind, Title: fmt.Sprintf("Set %s to %d", req.Kind, to), Why: req.Why,
		Target: incident.Target{
			APIVersion: "v1", Kind: strings.ToUpper(string(req.Kind)), Namespace: "llm",
			Name: pool.Workload.Name, UID: "u1", Field: "f",
		},
		From: value(o.value), To: value(to), Undo: value(o.value), Needs: c.needs[req.Kind], State: incident.StepProposed,
		RevertAfter: req.RevertAfter, WarmUp: req.WarmUp,
	}
	return s, nil
}

func value(n int) incident.Value { return incident.Set(strconv.Itoa(n)) }

func (c *cluster) Recheck(_ context.Context, _ incident.Pool, s incident.Step) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.next("recheck")
	if got := value(c.objects[s.Kind].value); a.err == nil && got != s.From {
		return &incident.DriftError{Target: s.Target, Want: s.From, Got: got}
	}
	return a.err
}

func (c *cluster) Do(_ context.Context, _ incident.Pool, s incident.Step, op incident.Op, id string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.next("do " + string(op))
	if a.lost || c.dry {
		return a.err
	}
	o := c.objects[s.Kind]
	from, to := s.From, s.To
	if op == incident.OpUndo {
		from, to = s.To, s.Undo
	}
	switch {
	case o.writeID == id:
	case value(o.value) != from:
		return &incident.DriftError{Target: s.Target, Want: from, Got: value(o.value)}
	default:
		n, err := strconv.Atoi(to.Text)
		if err != nil {
			return err
		}
		o.value, o.writeID, o.by = n, id, "vllm-medic"
		o.made, o.generation = append(o.made, id), o.generation+1
		c.log = append(c.log, fmt.Sprintf("%s=%d", s.Kind, n))
	}
	return a.err
}

func (c *cluster) Observe(
	_ context.Context, _ incident.Pool, s incident.Step, op incident.Op, id string, before *incident.Mark,
) (incident.Observation, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.next("observe"); a.err != nil {
		return incident.Observation{}, a.err
	}
	o := c.objects[s.Kind]
	out := incident.Observation{
		Value: value(o.value), Ours: o.writeID == id, Made: incident.Undecided,
		Reversal: o.reversal(wanted(s, op)),
	}
	switch {
	case out.Ours, !o.nameless && slices.Contains(o.made, id):
		out.Made = incident.True
	case before != nil && before.Generation == o.generation+1:
		out.Made = incident.False
	}
	return out, nil
}

func (c *cluster) Rollout(context.Context, incident.Pool, incident.Step, incident.Op) (incident.Rollout, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.next("rollout")
	return a.rollout, a.err
}

func rolled(s incident.RolloutState) answer { return answer{rollout: incident.Rollout{State: s}} }

// faulty is the real store with faults before its calls.
type faulty struct {
	*store.Store

	mu sync.Mutex
	// beforeCommit may fail a commit, or change the world just before it.
	beforeCommit func(changes []incident.Change) error
	ledger       error
}

// once has f run before the next commit that it accepts, and never again.
func (f *faulty) once(accepts func(incident.Change) bool, do func()) {
	done := false
	f.onCommit(func(changes []incident.Change) error {
		if !done && slices.ContainsFunc(changes, accepts) {
			done = true
			do()
		}
		return nil
	})
}

func (f *faulty) onCommit(hook func([]incident.Change) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.beforeCommit = hook
}

func (f *faulty) Commit(ctx context.Context, changes ...incident.Change) error {
	f.mu.Lock()
	hook := f.beforeCommit
	f.mu.Unlock()
	if hook != nil {
		if err := hook(changes); err != nil {
			return err
		}
	}
	return f.Store.Commit(ctx, changes...)
}

func (f *faulty) CommitFolded(ctx context.Context, in incident.Folded) error {
	f.mu.Lock()
	hook := f.beforeCommit
	f.mu.Unlock()
	if hook != nil {
		if err := hook(in.Changes); err != nil {
			return err
		}
	}
	return f.Store.CommitFolded(ctx, in)
}

func (f *faulty) WritesSince(ctx context.Context, pool string, since time.Time) ([]incident.Write, error) {
	if f.ledger != nil {
		return nil, f.ledger
	}
	return f.Store.WritesSince(ctx, pool, since)
}

func (f *faulty) Locks(ctx context.Context) (map[string]string, error) {
	if f.ledger != nil {
		return nil, f.ledger
	}
	return f.Store.Locks(ctx)
}

func (f *faulty) Pauses(ctx context.Context) ([]incident.Pause, error) {
	if f.ledger != nil {
		return nil, f.ledger
	}
	return f.Store.Pauses(ctx)
}
