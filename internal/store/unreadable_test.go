package store_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// lines collects what the store logs.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.b.String(), what)
}

func (l *lines) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

// logged runs a test on every engine with a store whose log can be read.
func logged(t *testing.T, fn func(t *testing.T, s *store.Store, url string, log *lines)) {
	t.Helper()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			u, log := e.URL(t), &lines{}
			fn(t, storetest.Open(t, u, func(o *store.Options) { o.Logger, o.MaxDeliveryAttempts = log.logger(), 2 }), u, log)
		})
	}
}

func TestAnUnreadableDeliveryDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, url string, log *lines) {
		ctx := t.Context()
		_, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		good, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		_, err = raw(t, url).ExecContext(ctx, `UPDATE delivery_bodies SET body = '{"alerts": 7}' WHERE delivery < `+"2")
		ok(t, err)
		d, found, err := claimDelivery(ctx, s, "me", now)
		ok(t, err)
		if !found || d.ID != good {
			t.Fatalf("claimed %v %d, want %d", found, d.ID, good)
		}
		ok(t, finish(ctx, s, d))
		if _, found, err := claimDelivery(ctx, s, "me", now.Add(time.Hour)); err != nil || found {
			t.Errorf("the unreadable one came back: %v %v", found, err)
		}
		st, err := s.Stats(ctx)
		ok(t, err)
		if st.DeliveriesDead != 1 || st.DeliveriesWaiting != 0 {
			t.Errorf("counted %+v", st)
		}
		if n := log.count("level=ERROR"); n != 1 || log.count("delivery=1") != 1 {
			t.Errorf("%d errors were logged, want one that names the delivery: %s", n, log.b.String())
		}
	})
}

func TestAnUnreadableIncidentDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, url string, log *lines) {
		ctx := t.Context()
		create(t, s, "inc-bad", "a")
		create(t, s, "inc-good", "b")
		_, err := raw(t, url).ExecContext(ctx, `UPDATE incidents SET body = 'x' WHERE id = 'inc-bad'`)
		ok(t, err)
		if c := claimOne(t, s, now); c.Incident.ID != "inc-good" {
			t.Fatalf("claimed %s", c.Incident.ID)
		}
		// Not at the next sweep, and not after any lease.
		if c := claimOne(t, s, now.Add(time.Hour)); c.Incident.ID != "inc-good" {
			t.Fatalf("claimed %s", c.Incident.ID)
		}
		list, err := s.Incidents(ctx, incident.Filter{AllPools: true})
		ok(t, err)
		if len(list) != 1 || list[0].ID != "inc-good" {
			t.Errorf("the listing has %d incidents, want the readable one", len(list))
		}
		r, err := store.OpenReadOnly(ctx, url)
		ok(t, err)
		if _, err := r.Incidents(ctx, incident.Filter{AllPools: true}); err == nil ||
			!strings.Contains(err.Error(), "inc-bad") {
			t.Errorf("a reader, which logs nothing, leaves it out without a word: %v", err)
		}
		ok(t, r.Close())
		if _, _, err := s.OpenIncident(ctx, "a"); err == nil {
			t.Error("the pool of the unreadable incident looks as if it had none")
		}
		st, err := s.Stats(ctx)
		ok(t, err)
		if st.Unreadable != 1 {
			t.Errorf("counted %+v", st)
		}
		if n := log.count("incident=inc-bad"); n != 1 {
			t.Errorf("it was logged %d times", n)
		}
	})
}

// A newer program may be able to read it: a start looks again.
func TestARestartLooksAtUnreadableIncidentsAgain(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, url string, _ *lines) {
		create(t, s, "inc-a", "a")
		_, err := raw(t, url).ExecContext(t.Context(), `UPDATE incidents SET unreadable = 1`)
		ok(t, err)
		cs, err := s.ClaimDue(t.Context(), "me", now, time.Minute, 5)
		ok(t, err)
		if len(cs) != 0 {
			t.Fatalf("claimed %d", len(cs))
		}
		ok(t, s.Close())
		claimOne(t, storetest.Open(t, url), now)
	})
}

func TestADeliveryThatIsGivenUpIsAnError(t *testing.T) {
	t.Parallel()
	logged(t, func(t *testing.T, s *store.Store, _ string, log *lines) {
		ctx := t.Context()
		_, err := s.AddDelivery(ctx, incident.Delivery{ReceivedAt: now})
		ok(t, err)
		for n := range 2 {
			if log.count("level=ERROR") != 0 {
				t.Fatalf("after %d attempts: %s", n, log.b.String())
			}
			d, _, err := claimDelivery(ctx, s, "me", now.Add(time.Duration(n)*time.Hour))
			ok(t, err)
			ok(t, s.FailDelivery(ctx, d, "boom", now.Add(time.Duration(n)*time.Hour+time.Minute)))
		}
		if log.count("level=ERROR") != 1 || log.count("reason=boom") != 1 {
			t.Errorf("logged: %s", log.b.String())
		}
	})
}
