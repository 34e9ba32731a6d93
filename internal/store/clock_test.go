package store_test

import (
	"context"
	"database/sql"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// skewed is a machine's clock that is wrong by so much.
type skewed struct {
	mu sync.Mutex
	by time.Duration
}

func (c *skewed) set(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.by = by
}

func (c *skewed) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Round(0).Add(c.by)
}

// Replicas on one PostgreSQL go by its clock, so that one whose own is minutes ahead does not take what the other works
// on. Each says how wrong it is.
func TestReplicasWhoseClocksDifferDoNotTakeEachOthersClaims(t *testing.T) {
	t.Parallel()
	u := storetest.PostgreSQL(t)
	var logged [2]lines
	var replicas [2]*store.Store
	for n, by := range []time.Duration{-4 * time.Minute, 4 * time.Minute} {
		machine := &skewed{by: by}
		replicas[n] = storetest.Open(t, u, func(o *store.Options) { o.Clock, o.Logger = machine.now, logged[n].logger() })
	}
	slow, fast := replicas[0], replicas[1]
	if d := fast.Now().Sub(slow.Now()).Abs(); d > 30*time.Second {
		t.Errorf("the replicas' times differ by %s", d)
	}
	ok(t, slow.Commit(t.Context(), incident.Change{Incident: fresh("inc-1", "llama"), DueAt: slow.Now(), Render: true}))
	_, err := slow.AddClick(t.Context(), slow.Now(), "", []byte("{}"))
	ok(t, err)
	if cs, err := slow.ClaimDue(t.Context(), "slow", slow.Now(), 2*time.Minute, 1); err != nil || len(cs) != 1 {
		t.Fatalf("ClaimDue = %d, %v", len(cs), err)
	}
	ms, err := slow.ClaimMessages(t.Context(), incident.SinkSlack, "slow", slow.Now(), 2*time.Minute, 1)
	if err != nil || len(ms) != 1 {
		t.Fatalf("ClaimMessages = %d, %v", len(ms), err)
	}
	if _, found, err := slow.ClaimClick(t.Context(), "slow", slow.Now(), 2*time.Minute); err != nil || !found {
		t.Fatalf("ClaimClick = %t, %v", found, err)
	}
	if cs, err := fast.ClaimDue(t.Context(), "fast", fast.Now(), 2*time.Minute, 1); err != nil || len(cs) != 0 {
		t.Errorf("the other one takes %d incidents that are claimed: %v", len(cs), err)
	}
	ms, err = fast.ClaimMessages(t.Context(), incident.SinkSlack, "fast", fast.Now(), 2*time.Minute, 1)
	if err != nil || len(ms) != 0 {
		t.Errorf("the other one takes %d messages that are claimed: %v", len(ms), err)
	}
	if _, found, err := fast.ClaimClick(t.Context(), "fast", fast.Now(), 2*time.Minute); err != nil || found {
		t.Errorf("the other one takes a click that is claimed: %v", err)
	}
	for n, s := range replicas {
		if got := s.ClockOffset().Abs(); got < 3*time.Minute || got > 5*time.Minute {
			t.Errorf("replica %d says that its clock is wrong by %s", n, s.ClockOffset())
		}
		if logged[n].count("this machine's clock differs from PostgreSQL's") != 1 {
			t.Errorf("replica %d does not say once that its clock is wrong: %s", n, &logged[n].b)
		}
	}
}

// A clock that agrees has nothing to say.
func TestAClockThatAgreesIsNotMentioned(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			var logged lines
			s := storetest.Open(t, e.URL(t), func(o *store.Options) { o.Logger = logged.logger() })
			if s.ClockOffset().Abs() > 2*time.Second || logged.count("clock") != 0 {
				t.Errorf("%s apart, %s", s.ClockOffset(), &logged.b)
			}
		})
	}
}

// putOff makes an incident, a message and a delivery wait for a time that the clock shows now, and claims another
// message.
func putOff(t *testing.T, s *store.Store) {
	t.Helper()
	at := s.Now()
	for _, id := range []string{"inc-1", "inc-2"} {
		ok(t, s.Commit(t.Context(), incident.Change{Incident: fresh(id, id), DueAt: at, Render: true}))
	}
	cs, err := s.ClaimDue(t.Context(), "me", at, time.Minute, 1)
	ok(t, err)
	ok(t, s.ReleaseClaim(t.Context(), cs[0].Incident.ID, cs[0].Fence, cs[0].Incident.Version, at.Add(time.Minute)))
	ms, err := s.ClaimMessages(t.Context(), incident.SinkSlack, "me", at, time.Minute, 2)
	ok(t, err)
	ms[0].NextAt = at.Add(time.Second)
	ok(t, s.SaveMessage(t.Context(), ms[0], true))
	_, err = s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: at})
	ok(t, err)
	d, found, err := claimDelivery(t.Context(), s, "me", at)
	if err != nil || !found {
		t.Fatalf("claimDelivery = %t, %v", found, err)
	}
	ok(t, s.FailDelivery(t.Context(), d, "later", at.Add(time.Minute)))
}

// due says what can be claimed a little later: nothing waits for a time that will not come for hours.
func due(t *testing.T, s *store.Store) (incidents, messages int, delivery bool) {
	t.Helper()
	at := s.Now().Add(2 * time.Minute)
	cs, err := s.ClaimDue(t.Context(), "me", at, time.Minute, 10)
	ok(t, err)
	ms, err := s.ClaimMessages(t.Context(), incident.SinkSlack, "me", at, time.Minute, 10)
	ok(t, err)
	_, delivery, err = claimDelivery(t.Context(), s, "me", at)
	ok(t, err)
	return len(cs), len(ms), delivery
}

func TestAClockThatIsSetBackStopsNothingAndIsSaid(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			machine, logged := &skewed{}, &lines{}
			s := storetest.Open(t, e.URL(t), func(o *store.Options) { o.Clock, o.Logger = machine.now, logged.logger() })
			back := func() { machine.set(-3 * time.Hour) }
			if e.Name == "postgres" {
				store.ShiftClock(s, 3*time.Hour) // as a primary whose clock is ahead, and whose standby takes its place
				back = func() { ok(t, store.MeasureClock(s, t.Context())) }
			}
			putOff(t, s)
			back()
			eventually(t, "it is said", func() bool { return logged.count("the clock was set back") == 1 })
			eventually(t, "what was put off is due", func() bool { return s.Ready(t.Context()) == nil && store.Healed(s) })
			if incidents, messages, delivery := due(t, s); incidents != 2 || messages != 2 || !delivery {
				t.Errorf("%d of 2 incidents, %d of 2 messages are due; the delivery: %t", incidents, messages, delivery)
			}
		})
	}
}

// A process that ends without giving back what it claimed, while PostgreSQL's clock is ahead, leaves claims that end in
// hours. The next one shortens them.
func TestClaimsOfAClockThatWasAheadBeforeTheStartEnd(t *testing.T) {
	t.Parallel()
	u := storetest.PostgreSQL(t)
	gone := storetest.Open(t, u)
	store.ShiftClock(gone, 3*time.Hour)
	ok(t, gone.Commit(t.Context(), incident.Change{Incident: fresh("inc-1", "llama"), DueAt: now}))
	if cs, err := gone.ClaimDue(t.Context(), "gone", gone.Now(), time.Minute, 1); err != nil || len(cs) != 1 {
		t.Fatalf("ClaimDue = %d, %v", len(cs), err)
	}
	ok(t, gone.Close())
	s := storetest.Open(t, u)
	claim := func(at time.Time) int {
		cs, err := s.ClaimDue(t.Context(), "me", at, time.Minute, 1)
		ok(t, err)
		return len(cs)
	}
	if claim(s.Now()) != 0 {
		t.Error("what somebody may be working on was taken at once")
	}
	ok(t, store.MeasureClock(s, t.Context()))
	if claim(s.Now().Add(2*time.Minute)) != 1 {
		t.Error("a claim that was told by another clock does not end")
	}
}

// The clock may be set back while no process looks.
func TestAClockThatWasSetBackBeforeTheStartStopsNothing(t *testing.T) {
	t.Parallel()
	u := storetest.Engines()[0].URL(t)
	machine := &skewed{by: 3 * time.Hour}
	s := storetest.Open(t, u, func(o *store.Options) { o.Clock = machine.now })
	putOff(t, s)
	ok(t, s.Close())
	machine.set(0)
	again := storetest.Open(t, u, func(o *store.Options) { o.Clock = machine.now })
	if incidents, messages, delivery := due(t, again); incidents != 2 || messages != 2 || !delivery {
		t.Errorf("%d of 2 incidents, %d of 2 messages are due; the delivery: %t", incidents, messages, delivery)
	}
}

// A replica that was cut off in the middle of a transaction holds its rows for a while. Another one starts all the
// same.
func TestAStartDoesNotWaitForRowsThatSomebodyHolds(t *testing.T) {
	t.Parallel()
	u := storetest.PostgreSQL(t)
	one := storetest.Open(t, u)
	for _, id := range []string{"inc-1", "inc-2"} {
		ok(t, one.Commit(t.Context(),
			incident.Change{Incident: fresh(id, id), DueAt: one.Now().Add(time.Hour), Render: true}))
	}
	ok(t, store.InTx(one, t.Context(), func(ctx context.Context, tx *sql.Tx) error {
		for _, q := range []string{
			`UPDATE incidents SET fence = 9 WHERE id = 'inc-1'`,
			`UPDATE messages SET fence = 9 WHERE incident = 'inc-1'`,
		} {
			if _, err := tx.ExecContext(ctx, q); err != nil {
				return err
			}
		}
		other := storetest.Open(t, u, impatient) //nolint:contextcheck // a replica of its own
		cs, err := other.ClaimDue(ctx, "other", other.Now(), time.Minute, 10)
		if len(cs) != 1 || cs[0].Incident.ID != "inc-2" {
			t.Errorf("%d incidents are looked at", len(cs))
		}
		return err
	}))
}
