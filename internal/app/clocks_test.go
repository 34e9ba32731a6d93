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
	notify.Notifier
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

// FindPosted sees nothing: the post that is under way is not in the channel yet.
func (c *channel) FindPosted(context.Context, string, string, string, int64, time.Time) (string, bool, error) {
	return "", false, nil
}

// Two replicas whose clocks are eight minutes apart show one message: a post that is under way in one is not taken for
// lost by the other.
func TestTwoReplicasWhoseClocksDifferPostOnce(t *testing.T) {
	t.Parallel()
	u := storetest.PostgreSQL(t)
	slack := &channel{begun: make(chan struct{}), end: make(chan struct{})}
	run, stop := context.WithCancel(t.Context())
	var both sync.WaitGroup
	t.Cleanup(both.Wait)
	t.Cleanup(stop)
	begin := func(wrong time.Duration) *claimCounter {
		//nolint:contextcheck // the store outlives the call
		s := storetest.Open(t, u, func(o *store.Options) { o.Clock = func() time.Time { return time.Now().Add(wrong) } })
		l := &claimCounter{Store: s}
		d, err := notify.New(notify.Config{Owner: wrong.String(), Now: s.Now, Sweep: 20 * time.Millisecond}, l, s, slack,
			slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		both.Go(func() {
			if err := d.Run(run); err != nil {
				t.Error(err)
			}
		})
		return l
	}
	slow := begin(-4 * time.Minute)
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, slow.Now())
	if err := slow.Commit(t.Context(), incident.Change{Incident: inc, DueAt: slow.Now(), Render: true}); err != nil {
		t.Fatal(err)
	}
	<-slack.begun
	fast := begin(4 * time.Minute)
	until(t, "the other replica has looked three times", func() bool { return fast.claims.Load() >= 3 })
	close(slack.end)
	until(t, "the message is on record", func() bool {
		stats, err := slow.Stats(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return stats.MessagesWaiting == 0
	})
	after := fast.claims.Load()
	until(t, "the other replica has looked again", func() bool { return fast.claims.Load() >= after+3 })
	if n := slack.posts.Load(); n != 1 || fast.claimed.Load() != 0 {
		t.Errorf("the message was posted %d times, and the other replica claimed %d", n, fast.claimed.Load())
	}
}

// claimCounter is a store that counts the claims of messages, and how many messages they were given.
type claimCounter struct {
	*store.Store
	claims, claimed atomic.Int64
}

func (l *claimCounter) ClaimMessages(ctx context.Context, sink, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Message, error) {
	out, err := l.Store.ClaimMessages(ctx, sink, owner, now, lease, limit)
	l.claimed.Add(int64(len(out)))
	l.claims.Add(1)
	return out, err
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
	if code, body := ask(t, http.MethodPost, "http://"+a.Addr("api")+"/api/v1/alertmanager", "hook-secret-of-tests",
		payload); code != 200 {
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
