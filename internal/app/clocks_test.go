package app_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/notify"
)

// channel takes posts. The first ends when the test says so.
type channel struct {
	notify.Sink
	posts atomic.Int64
	begun chan struct{}
	end   chan struct{}
}

func (c *channel) Post(context.Context, string, incident.Incident) (string, error) {
	if c.posts.Add(1) == 1 {
		c.begun <- struct{}{}
		<-c.end
	}
	return "ts1", nil
}

// Find sees nothing: the post that is under way is not in the channel yet.
func (c *channel) Find(context.Context, string, string, string, int64, time.Time) (string, bool, error) {
	return "", false, nil
}

// Two replicas whose clocks are eight minutes apart show one message: a post that is under way in one is not taken for lost by the other.
func TestTwoReplicasWhoseClocksDifferPostOnce(t *testing.T) {
	t.Parallel()
	engines := storetest.Engines(t)
	if len(engines) == 1 {
		return // there is no PostgreSQL here; Engines fails in a run that must have it
	}
	u := engines[1].URL(t)
	slack := &channel{begun: make(chan struct{}), end: make(chan struct{})}
	replica := func(wrong time.Duration) (*notify.Dispatcher, *store.Store) {
		s := storetest.Open(t, u, func(o *store.Options) { o.Clock = func() time.Time { return time.Now().Add(wrong) } })
		d, err := notify.New(notify.Config{Owner: wrong.String(), Now: s.Now}, s, s, slack, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return d, s
	}
	slow, s := replica(-4 * time.Minute)
	fast, _ := replica(4 * time.Minute)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, s.Now())
	if err := s.Commit(t.Context(), incident.Change{Incident: inc, DueAt: s.Now(), Redraw: true}); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	deliver := func(d *notify.Dispatcher) {
		if _, err := d.Deliver(t.Context()); err != nil {
			t.Error(err)
		}
	}
	both.Go(func() { deliver(slow) })
	<-slack.begun
	if n, err := fast.Deliver(t.Context()); n != 0 || err != nil {
		t.Errorf("the other replica works on %d messages: %v", n, err)
	}
	close(slack.end)
	both.Wait()
	deliver(fast)
	if n := slack.posts.Load(); n != 1 {
		t.Errorf("the message was posted %d times", n)
	}
}

// ahead is a store whose time is not the machine's.
type ahead struct{ app.Store }

const aheadBy = 36 * time.Hour

func (a ahead) Now() time.Time { return a.Store.Now().Add(aheadBy) }

// Whatever is stored is told in the store's time, not in the machine's.
func TestTheBotGoesByTheStoresTime(t *testing.T) {
	t.Parallel()
	opts := options(t)
	var stored app.Store
	opts.Store = func(s app.Store) app.Store {
		stored = ahead{s}
		return stored
	}
	a := run(t, opts)
	begin := stored.Now()
	if code, body := ask(t, http.MethodPost, "http://"+a.Addr("api")+"/api/v1/alertmanager", "hook-secret", payload); code != 200 {
		t.Fatalf("%d %s", code, body)
	}
	var seen struct {
		Incidents []incident.Incident `json:"incidents"`
	}
	until(t, "the incident has been looked at", func() bool {
		_, body := ask(t, http.MethodGet, "http://"+a.Addr("api")+"/api/v1/incidents", "view-secret", "")
		if err := json.Unmarshal([]byte(body), &seen); err != nil {
			t.Fatal(err)
		}
		return len(seen.Incidents) == 1 && seen.Incidents[0].State == incident.StateWatching
	})
	inc := seen.Incidents[0]
	times := map[string]time.Time{"the opening": inc.OpenedAt}
	for name, r := range inc.Readings {
		times["the reading "+name] = r.At
	}
	if len(times) == 1 {
		t.Error("nothing was read")
	}
	for what, at := range times {
		if at.Before(begin.Add(-time.Minute)) || at.After(stored.Now()) {
			t.Errorf("%s is of %s, and the store's time is %s", what, at, begin)
		}
	}
	until(t, "the message is up to date in the store's time", func() bool {
		m, found, err := stored.Message(t.Context(), inc.ID)
		return err == nil && found && m.TS != "" && m.NextAt.After(begin.Add(-time.Minute))
	})
}
