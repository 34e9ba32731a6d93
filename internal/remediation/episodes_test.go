package remediation_test

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// from delivers alerts of one Alertmanager.
func (b *bench) from(sender string, alerts ...incident.Alert) {
	b.t.Helper()
	b.deliverAll(incident.Delivery{
		ReceivedAt: b.clock(), Receiver: "medic", GroupKey: "g", Sender: sender,
		Alerts: alerts,
	})
}

// An HA pair of Prometheus keeps the start of an alert over its end. With a group_interval of a minute it fires again a
// minute later, and nobody says so once more for hours: the incident must not close over it.
func TestARefireWithTheOldStartKeepsTheIncidentOpen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, by string
		fires    bool
	}{{"of the Alertmanager that told the end", "am-1", true}, {"a late word of its peer", "am-2", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			b.sight.see(finding{healthy: incident.False, note: "Nothing holds."})
			a := alert("HighTTFT", "llama")
			b.from("am-1", a)
			b.sweep()
			b.pass(5 * time.Second)
			id := b.open("llama").ID
			b.from("am-1", resolved(a, b.clock()))
			b.pass(time.Minute)
			b.from(tt.by, a)
			b.sight.see(well())
			b.pass(20 * time.Minute)
			got := b.read(id)
			if fires := len(got.Firing()) == 1; fires != tt.fires || got.Open() != tt.fires {
				t.Errorf("fires %v, the incident is %s", fires, got.State)
			}
		})
	}
}

// Notifications of two Alertmanagers may be folded in any order. The end of an alert that comes before its "firing"
// opens nothing, and a later episode does.
func TestAFiringAfterItsOwnEndOpensNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		before func(b *bench)
		swept  bool
	}{
		{"nothing is known", func(*bench) {}, true},
		{"nothing is known, and both come together", func(*bench) {}, false},
		{"its incident has been closed for long", func(b *bench) {
			closed(b)
			b.skip(incident.ReopenWithin + time.Minute)
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			tt.before(b)
			known := len(b.all())
			a := alert("QueueBuildUp", "llama")
			a.StartsAt = b.clock()
			b.skip(time.Minute)
			b.from("am-1", resolved(a, b.clock()))
			if tt.swept {
				b.sweep()
			}
			b.from("am-2", a)
			b.sweep()
			if got := b.all(); len(got) != known {
				t.Fatalf("a ghost: %s with %v", got[0].State, got[0].Alerts)
			}
			a.StartsAt = b.clock().Add(time.Second)
			b.skip(2 * time.Second)
			b.from("am-2", a)
			b.sweep()
			if got := b.open("llama"); len(b.all()) != known+1 || len(got.Firing()) != 1 {
				t.Errorf("the next episode: %+v", got.Alerts)
			}
		})
	}
}

// The same when the pool has an incident, which began or ended meanwhile without knowing of that alert.
func TestAFiringAfterItsOwnEndJoinsNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		closed bool
	}{{"it is open", false}, {"it was closed just now", true}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{llama()})
			a := alert("QueueBuildUp", "llama")
			b.skip(time.Minute)
			b.from("am-1", resolved(a, b.clock()))
			b.sweep()
			b.sight.see(finding{healthy: incident.False, note: "Nothing holds."})
			other := alert("HighTTFT", "llama")
			b.from("am-1", other)
			b.sweep()
			b.pass(10 * time.Second)
			id := b.open("llama").ID
			if tt.closed {
				if _, err := b.engine.Act(t.Context(), id, incident.Closed{By: ada, Reason: "by hand"}); err != nil {
					t.Fatal(err)
				}
			}
			b.from("am-2", a)
			b.sweep()
			got := b.read(id)
			if got.Open() == tt.closed || len(got.Firing()) != 1 || got.Firing()[0].Name() != other.Name() {
				t.Errorf("%s, fires: %+v", got.State, got.Firing())
			}
			a.StartsAt = b.clock().Add(time.Second)
			b.skip(2 * time.Second)
			b.from("am-2", a)
			b.sweep()
			if got := b.read(id); !got.Open() || len(got.Firing()) != 2 {
				t.Errorf("the next episode: %s, %+v", got.State, got.Firing())
			}
		})
	}
}

// Alerts that keep coming are no reason to put off what waits for its time.
func TestDeliveriesDoNotPutOffAVerification(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := applied(b, sick(5, addReplica()), rolled(incident.RolloutDone))
	b.sight.see(sick(4, addReplica()))
	until := inc.Active.SettleUntil.Add(10 * time.Minute)
	for n := 0; b.clock().Before(until); n++ {
		b.deliver(alert(fmt.Sprint("Another", n), "llama"))
		b.sweep()
		b.skip(20 * time.Second)
	}
	if got := b.read(inc.ID); got.State == incident.StateSettling || got.State == incident.StateVerifying {
		t.Errorf("still %s, ten minutes after the signals had settled", got.State)
	}
}

// slowly answers whose instance it is, and the clock moves on meanwhile.
type slowly struct {
	*sight
	asked func()
}

func (s slowly) FindOwners(context.Context, map[string]string) ([]incident.WorkloadRef, incident.Trail, error) {
	s.asked()
	return []incident.WorkloadRef{llama().Workload}, incident.Trail{}, nil
}

// replicas are two engines on one store, whose clock moves on by some time with each question.
type replicas struct {
	mu   sync.Mutex
	now  time.Time
	one  *remediation.Engine
	two  *remediation.Engine
	each time.Duration
	asks int
	// sight is what the second one sees.
	sight *sight
}

func (r *replicas) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func newReplicas(
	t *testing.T, inbox remediation.Inbox, incidents remediation.Incidents, ledger remediation.Ledger, each time.Duration,
) *replicas {
	t.Helper()
	r := &replicas{now: start, each: each}
	engine := func(name string, sight *sight, asked func()) *remediation.Engine {
		sight.now = r.clock
		e, err := remediation.New(remediation.Config{
			Owner: name, Pools: []incident.Pool{llama()}, Mode: incident.ModeApprove,
			Policy: policy.Defaults(),
		}, remediation.Deps{
			Incidents: incidents, Inbox: inbox, Ledger: ledger, Collector: slowly{sight, asked}, Playbooks: sight,
			Logger: slog.New(slog.DiscardHandler), Now: r.clock,
		})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	pass := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now = r.now.Add(r.each)
		r.asks++
	}
	r.sight = newSight(t)
	mine := newSight(t)
	for _, s := range []*sight{r.sight, mine} {
		s.pools["llama"] = &shownFinding{finding: finding{healthy: incident.False, note: "Nothing holds."}, used: 1}
	}
	r.two = engine("bot-2", r.sight, pass)
	r.one = engine("bot-1", mine, func() {
		pass()
		if _, err := r.two.Sweep(t.Context()); err != nil { // the other replica looks all the time
			t.Error(err)
		}
	})
	return r
}

// strangers are alerts that carry only an instance.
func strangers(many int) incident.Delivery {
	d := incident.Delivery{ReceivedAt: start, GroupKey: "g"}
	for n := range many {
		a := alert("HighTTFT", "")
		delete(a.Labels, "model_name")
		a.Labels["instance"] = fmt.Sprintf("10.0.0.%d:8000", n)
		a.Fingerprint = fmt.Sprint(n)
		d.Alerts = append(d.Alerts, a)
	}
	return d
}

// Alerts whose owners take longer to find than a claim lasts are asked about once, however many replicas look.
func TestOwnersThatTakeLongerThanALeaseAreAskedForOnce(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			s := storetest.Open(t, engine.URL(t))
			if _, err := s.AddDelivery(t.Context(), strangers(5)); err != nil {
				t.Fatal(err)
			}
			r := newReplicas(t, s, s, s, 45*time.Second) // a claim lasts two minutes
			for range 10 {
				r.mu.Lock()
				r.now = r.now.Add(time.Second)
				r.mu.Unlock()
				if _, err := r.one.Sweep(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			inc, found, err := s.OpenIncident(t.Context(), "llama")
			if err != nil || !found || len(inc.Alerts) != 5 {
				t.Fatalf("found %v with %d alerts, %v", found, len(inc.Alerts), err)
			}
			if r.asks != 5 {
				t.Errorf("asked %d times for 5 owners", r.asks)
			}
			if stats, err := s.Stats(t.Context()); err != nil || stats.DeliveriesWaiting != 0 {
				t.Errorf("%d deliveries wait, %v", stats.DeliveriesWaiting, err)
			}
		})
	}
}

// Owners that take for ever to find hold up no delivery.
func TestOwnersThatTakeForEverToFindHoldUpNoDelivery(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.Engines()[0].URL(t), func(o *store.Options) { o.MaxDeliveryAttempts = 20 })
	for _, d := range []incident.Delivery{strangers(40), {
		ReceivedAt: start, GroupKey: "other",
		Alerts: []incident.Alert{alert("QueueBuildUp", "llama")},
	}} {
		if _, err := s.AddDelivery(t.Context(), d); err != nil {
			t.Fatal(err)
		}
	}
	r := newReplicas(t, s, s, s, 39*time.Second)
	sweep := func() {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
		defer cancel()
		if _, err := r.two.Sweep(ctx); err != nil {
			t.Fatal(err)
		}
	}
	fired := func(pool string) int {
		inc, _, err := s.OpenIncident(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		return len(inc.Alerts)
	}
	sweep()
	stats, err := s.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all := fired("llama") + fired(""); stats.DeliveriesWaiting != 0 || all != 41 {
		t.Errorf("%d deliveries wait, %d of 41 alerts are shown", stats.DeliveriesWaiting, all)
	}
}
