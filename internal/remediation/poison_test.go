package remediation_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// ward is a process in which the turn on the incident of one pool ends everything that is under way beside it. It holds
// every turn until each incident that was claimed is looked at or given back, so that it is always the same ones which
// share that end.
type ward struct {
	*faulty
	*sight
	poison string

	mu      sync.Mutex
	pools   map[string]string // of the claimed incidents
	open    map[string]bool   // claimed, and neither looked at nor given back
	looked  map[string]bool
	changed chan struct{}
	// died is closed by the end.
	died chan struct{}
	over bool
	gone chan struct{}
}

func newWard(b *bench, poison string, gone chan struct{}) *ward {
	return &ward{
		faulty: b.store, sight: b.sight, poison: poison, pools: map[string]string{}, open: map[string]bool{},
		looked:  map[string]bool{},
		changed: make(chan struct{}), died: make(chan struct{}), gone: gone,
	}
}

func (w *ward) note(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
	if len(w.open) == 0 && w.looked[w.poison] && !w.over {
		w.over = true
		close(w.died)
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *ward) ClaimDue(
	ctx context.Context, owner string, now time.Time, lease time.Duration, limit int,
) ([]incident.Claimed, error) {
	got, err := w.faulty.ClaimDue(ctx, owner, now, lease, limit)
	w.note(func() {
		for _, c := range got {
			w.pools[c.Incident.ID], w.open[c.Incident.Pool] = c.Incident.Pool, true
		}
	})
	return got, err
}

func (w *ward) ReleaseClaim(ctx context.Context, id string, fence, version int64, dueAt time.Time) error {
	err := w.faulty.ReleaseClaim(ctx, id, fence, version, dueAt)
	w.note(func() { delete(w.open, w.pools[id]); delete(w.looked, w.pools[id]) })
	return err
}

func (w *ward) Commit(ctx context.Context, changes ...incident.Change) error {
	err := w.faulty.Commit(ctx, changes...)
	if c := changes[0]; c.Release {
		w.note(func() { delete(w.open, c.Incident.Pool); delete(w.looked, c.Incident.Pool) })
	}
	return err
}

func (w *ward) Collect(
	ctx context.Context, pool incident.Pool, signals []incident.Signal, a incident.Scope,
) incident.Evidence {
	w.note(func() { delete(w.open, pool.Name); w.looked[pool.Name] = true })
	for {
		w.mu.Lock()
		waits, ends, changed := len(w.open) > 0, w.looked[w.poison], w.changed
		w.mu.Unlock()
		switch {
		case waits:
			<-changed
		case ends:
			<-w.gone // nothing of this process goes on
			return incident.Evidence{Dialect: "gone"}
		default:
			return w.sight.Collect(ctx, pool, signals, a)
		}
	}
}

func (w *ward) Diagnose(in playbooks.Input) playbooks.Result {
	if in.Evidence.Dialect == "gone" {
		return playbooks.Result{Healthy: incident.Undecided}
	}
	return w.sight.Diagnose(in)
}

// Of the incidents that were under way each time the process ended only one is the reason. The others are not parked
// with it.
func TestWhatSharesTheEndOfAProcessIsNotParkedWithItsReason(t *testing.T) {
	t.Parallel()
	var pools []incident.Pool
	for _, name := range []string{"poison", "a", "b", "c"} {
		p := llama()
		p.Name, p.Match = name, map[string]string{"model_name": name}
		pools = append(pools, p)
	}
	b := newBench(t, pools)
	gone := make(chan struct{})
	var dead []chan error
	t.Cleanup(func() {
		close(gone)
		for _, ended := range dead { // what is left of a process may still ask the store
			if err := <-ended; err != nil {
				t.Log(err)
			}
		}
	})
	for _, p := range pools {
		b.deliver(alert("HighTTFT", p.Name))
		if p.Name != "poison" {
			b.sight.seeAt(p.Name, well())
		}
	}
	b.sweep()
	b.skip(5 * time.Second)
	deaths := 0
	for range 30 {
		w := newWard(b, "poison", gone)
		b.deps.Incidents, b.deps.Collector, b.deps.Playbooks = w, w, w
		b.restart(pools...)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := b.engine.Sweep(ctx)
			ended <- err
		}()
		select {
		case <-w.died:
			deaths++
			dead = append(dead, ended)
			cancel()
			b.skip(3 * time.Minute) // its leases run out
		case err := <-ended:
			if err != nil && !errors.Is(err, context.Canceled) {
				t.Error(err)
			}
			b.skip(2 * time.Second)
		}
		cancel()
	}
	if got := b.open("poison").Setback; got == nil || !got.Parked || deaths > 10 {
		t.Errorf("after %d deaths the reason is %+v", deaths, got)
	}
	for _, name := range []string{"a", "b", "c"} {
		got := b.open(name)
		if got.Setback != nil || got.State != incident.StateWatching {
			t.Errorf("%s after %d deaths: %s, %+v", name, deaths, got.State, got.Setback)
		}
	}
}
