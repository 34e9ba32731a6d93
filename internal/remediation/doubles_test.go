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
)

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
	// unchosen is a value that is refused when a person chooses it.
	unchosen int
	script   map[string][]answer
	log      []string
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
	if n := int(req.Chosen); n != 0 {
		if c.unchosen == n {
			return incident.Step{}, &incident.RefusedError{Reason: "the quota has no room for it"}
		}
		to = n
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

func (c *cluster) Do(
	_ context.Context, _ incident.Pool, s incident.Step, op incident.Op, id string,
) (v incident.Versions, _ error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.next("do " + string(op))
	if a.lost || c.dry {
		return v, a.err
	}
	o := c.objects[s.Kind]
	from, to := s.From, s.To
	if op == incident.OpUndo {
		from, to = s.To, s.Undo
	}
	switch {
	case o.writeID == id:
	case value(o.value) != from:
		return v, &incident.DriftError{Target: s.Target, Want: from, Got: value(o.value)}
	default:
		n, err := strconv.Atoi(to.Text)
		if err != nil {
			return v, err
		}
		v = incident.Versions{Before: strconv.FormatInt(o.generation, 10), After: strconv.FormatInt(o.generation+1, 10)}
		o.value, o.writeID, o.by = n, id, "vllm-medic"
		o.made, o.generation = append(o.made, id), o.generation+1
		c.log = append(c.log, fmt.Sprintf("%s=%d", s.Kind, n))
	}
	return v, a.err
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

func (f *faulty) Recorded(ctx context.Context, w incident.WriteID) (bool, error) {
	if f.ledger != nil {
		return false, f.ledger
	}
	return f.Store.Recorded(ctx, w)
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
