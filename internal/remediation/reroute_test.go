package remediation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// rerouted is a bench whose incident without a pool stays open over an alert that leads nowhere, and has handed another
// one over to llama.
func rerouted(t *testing.T) (*bench, incident.Incident) {
	t.Helper()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
	strays(b, "first")
	b.sight.see(well())
	b.pass(2 * time.Minute)
	return b, b.open("llama")
}

// strays brings an alert of llama's that cannot be led there yet, beside one that never can, and then lets it be found.
func strays(b *bench, name string) {
	b.t.Helper()
	b.sight.owned("10.0.0.1:8000", ownersAnswer{err: errForbidden})
	b.deliver(from("PodRestarts", "nowhere"), from(name, "10.0.0.1:8000"))
	b.sweep()
	if got := b.open("").AlertNames(); !slices.Contains(got, name) {
		b.t.Fatalf("%s is not in the incident without a pool: %v", name, got)
	}
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
}

// The incident without a pool may be open for days. What it hands over the second time is another episode.
func TestASecondEpisodeIsReroutedToTheSamePool(t *testing.T) {
	t.Parallel()
	b, first := rerouted(t)
	b.deliver(resolved(from("first", "10.0.0.1:8000"), b.clock()))
	b.pass(10 * time.Minute)
	if got := b.read(first.ID).State; got != incident.StateClosed {
		t.Fatalf("the first episode is %s", got)
	}
	b.skip(incident.ReopenWithin)
	strays(b, "second")
	b.sight.see(well())
	b.pass(2 * time.Minute)
	second := b.open("llama")
	if second.ID == first.ID || !slices.Equal(second.AlertNames(), []string{"second"}) {
		t.Errorf("the second episode is %s (the first was %s) with %v", second.ID, first.ID, second.AlertNames())
	}
	if got := b.open("").AlertNames(); !slices.Equal(got, []string{"PodRestarts"}) {
		t.Errorf("left without a pool: %v", got)
	}
}

// The owners above may stay unreadable for days; the pool that the readable ones name hears of its alert all the same.
func TestAnAlertGoesToThePoolThatIsKnownBelowWhatIsNotAnswered(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
	strays(b, "HighTTFT")
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}, err: errSilent})
	b.sight.see(well())
	b.pass(2 * time.Minute)
	want := "Could not check whether HighTTFT belongs to another pool: the API server is away"
	if got := b.open("llama"); !slices.Equal(got.AlertNames(), []string{"HighTTFT"}) ||
		!strings.Contains(said(got), want) {
		t.Errorf("%v; the journal lacks %q:\n%s", got.AlertNames(), want, said(got))
	}
	if got := b.open("").AlertNames(); !slices.Equal(got, []string{"PodRestarts"}) {
		t.Errorf("left without a pool: %v", got)
	}
}

// dull answers for one instance only when it is asked no more.
type dull struct {
	*sight
	instance string
}

func (d dull) FindOwners(
	ctx context.Context, labels map[string]string,
) ([]incident.WorkloadRef, incident.Trail, error) {
	if labels["instance"] == d.instance {
		<-ctx.Done()
		return nil, incident.Trail{}, ctx.Err()
	}
	return d.sight.FindOwners(ctx, labels)
}

// What was found is moved, although the questions about the other alerts take longer than a turn.
func TestOwnersThatAreSlowToFindDoNotHoldUpARerouting(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()}, func(c *remediation.Config,
		_ *remediation.Deps,
	) {
		c.Timing.Lease = 3 * time.Second
	})
	b.sight.owned("slow", ownersAnswer{err: incident.ErrNoWorkload})
	b.sight.owned("10.0.0.1:8000", ownersAnswer{err: errForbidden})
	b.deliver(from("Known", "10.0.0.1:8000"), from("Slow", "slow"))
	b.sweep()
	b.sight.owned("10.0.0.1:8000", ownersAnswer{owners: []incident.WorkloadRef{llama().Workload}})
	b.deps.Collector = dull{b.sight, "slow"}
	b.restart(llama())
	b.skip(2 * time.Minute)
	b.sweep()
	if got := b.open("llama").AlertNames(); !slices.Equal(got, []string{"Known"}) {
		t.Errorf("moved %v", got)
	}
}

func TestAnAlertIsHandedOverOnce(t *testing.T) {
	t.Parallel()
	handsOver := func(changes []incident.Change) bool {
		return slices.ContainsFunc(changes, func(ch incident.Change) bool {
			return ch.Incident.Pool == "llama" &&
				ch.Expect == 0
		})
	}
	t.Run("a commit that fails hands over nothing", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
		strays(b, "HighTTFT")
		failed := false
		b.store.onCommit(func(changes []incident.Change) error {
			if !failed && handsOver(changes) {
				failed = true
				return errors.New("disk full")
			}
			return nil
		})
		b.skip(time.Minute)
		if err := b.trySweep(); err == nil || len(b.all()) != 1 || len(b.open("").Alerts) != 2 {
			t.Errorf("err %v, %d incidents", err, len(b.all()))
		}
		b.sight.see(well())
		b.pass(2 * time.Minute)
		if got := b.all(); len(got) != 2 || len(b.open("").Alerts) != 1 || len(b.open("llama").Alerts) != 1 {
			t.Errorf("in the end: %+v", got)
		}
	})
	t.Run("the end of an alert is not lost over it", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
		strays(b, "HighTTFT")
		b.store.once(func(ch incident.Change) bool { return handsOver([]incident.Change{ch}) }, func() {
			inc := b.open("")
			res, err := incident.Apply(inc,
				incident.AlertsReceived{Alerts: []incident.Alert{resolved(from("HighTTFT", "10.0.0.1:8000"), b.clock())}},
				b.clock())
			if err != nil {
				t.Fatal(err)
			}
			if err := b.store.Store.Commit(t.Context(), incident.Change{
				Incident: res.Incident, Expect: inc.Version,
				Entries: res.Entries,
			}); err != nil {
				t.Fatal(err)
			}
		})
		b.pass(2 * time.Minute)
		if got := b.all(); len(got) != 1 || len(got[0].Firing()) != 1 {
			t.Errorf("an alert that has ended was handed over: %+v", got)
		}
	})
	t.Run("a turn that lost its claim hands over nothing", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
		strays(b, "HighTTFT")
		b.store.once(func(ch incident.Change) bool { return handsOver([]incident.Change{ch}) }, func() {
			if got, err := b.store.ClaimDue(t.Context(), "bot-2", b.clock().Add(time.Hour), time.Minute, 1); err != nil ||
				len(got) != 1 {
				t.Errorf("steal the incident: %v %v", got, err)
			}
		})
		b.skip(time.Minute)
		b.sweep()
		if got := b.all(); len(got) != 1 || len(got[0].Alerts) != 2 {
			t.Errorf("the loser of the claim committed: %+v", got)
		}
	})
}
