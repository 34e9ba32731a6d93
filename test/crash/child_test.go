package crash

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// The environment of a child.
const (
	envConfig = "CRASH_CONFIG"
	envMode   = "CRASH_MODE"
	envAt     = "CRASH_AT"
	envPoints = "CRASH_POINTS"
	envStore  = "CRASH_STORE"
)

// gauge is the one signal of the child: the last value that was scraped. On a busy machine a scrape comes too late now
// and then, and a gap would be read as "no data", which is another verdict than that of the run that was left alone.
const gauge = `
signals:
  - name: waiting_lately
    title: Requests waiting on each engine
    query: avg(last_over_time(vllm:num_requests_waiting[10s]))
    unit: count
    direction: higher_is_worse
    source: vLLM vllm/v1/metrics/loggers.py
  # What the guardrails ask for. The load is there as long as there is data, so that no text depends on the moment.
  - name: waiting
    title: Requests waiting
    query: sum(last_over_time(vllm:num_requests_waiting[10s]))
    unit: count
    direction: higher_is_worse
    source: the same
  - name: running
    title: Requests running
    query: sum(last_over_time(vllm:num_requests_running[10s]))
    unit: count
    direction: neutral
    source: the same
  - name: load_now
    title: Load now
    query: sum(last_over_time(vllm:num_requests_waiting[10s])) >= bool 0
    unit: ratio
    direction: neutral
    source: the same
`

// played is the one playbook of the child: the steps of the built-in queue-backlog on that gauge. The built-in ones
// make fifty queries in each investigation, which is most of what such a short incident costs, and they add no point at
// which anything is committed or changed.
const played = `
name: crash
title: Requests queue up
doc: docs/playbooks/queue-backlog.md
alerts: [vLLMQueueBacklog]
healthy:
  - rule: waiting_lately <= 5
diagnoses:
  - name: queueing
    rank: 50
    summary: Requests come in faster than the pool can begin them.
    source: the built-in playbook queue-backlog
    when: waiting_lately > 5
    steps:
      - throttle: {factor: 0.7}
        why: Fewer requests at once shorten the queue within seconds.
        undo: on_recovery
        revert_after: 30m
      - replicas: {add: 1}
        why: More capacity is the cure when the demand is real.
        undo: offer
`

// catalogOf is the built-in profiles with these signals and the one playbook.
func catalogOf() (*playbooks.Catalog, error) {
	files, err := catalog.Files()
	if err != nil {
		return nil, err
	}
	files = slices.DeleteFunc(files, func(f playbooks.File) bool { return f.Name != "builtin/profiles.yaml" })
	files = append(files, playbooks.File{Name: "signals.yaml", Data: []byte(gauge)},
		playbooks.File{Name: "crash.yaml", Data: []byte(played)})
	return playbooks.Load(files, playbooks.Options{Window: 2 * time.Second, MaxWarmUp: time.Nanosecond})
}

// child is the bot with failpoints. It runs until SIGTERM.
func child() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cat, err := catalogOf()
	if err != nil {
		return err
	}
	cfg, err := config.Load(os.Getenv(envConfig), config.Options{Getenv: os.LookupEnv, Profiles: cat})
	if err != nil {
		return err
	}
	f, err := newFailpoint(os.Getenv(envMode), os.Getenv(envAt), os.Getenv(envPoints))
	if err != nil {
		return err
	}
	claims, err := openDatabase(os.Getenv(envStore))
	if err != nil {
		return err
	}
	a, err := app.New(ctx, app.Options{
		Config: cfg, Catalog: cat, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Transport: func(service string, rt http.RoundTripper) http.RoundTripper { return calls{service, rt, f} },
		Store:     func(s app.Store) app.Store { return failing{s, f, claims, &sync.Mutex{}} },
		// The double of Slack shows a post at once.
		LookAfter: 300 * time.Millisecond,
		// It is ended at every instruction, and never by the incident itself.
		FreeCuts: 1_000_000,
	})
	if err != nil {
		return err
	}
	return errors.Join(a.Run(ctx), claims.Close())
}

// failing has a point before and after each commit.
type failing struct {
	app.Store
	f *failpoint
	// claims is for questions about what a claim will find, asked while writing keeps everything else from being
	// committed.
	claims  *sql.DB
	writing *sync.Mutex
}

func (s failing) around(what string, commit func() error) error {
	s.f.reach("before", "store "+what)
	s.writing.Lock()
	err := commit()
	s.writing.Unlock()
	s.f.reach("after", "store "+what)
	return err
}

func (s failing) Commit(ctx context.Context, changes ...incident.Change) error {
	return s.changing(changes, func() error { return s.Store.Commit(ctx, changes...) })
}

func (s failing) changing(changes []incident.Change, commit func() error) error {
	words := []string{"commit"}
	for _, c := range changes {
		words = append(words, string(c.Incident.State))
		if c.Incident.Active != nil {
			words = append(words, string(c.Incident.Active.Phase))
		}
		if c.Claim != nil {
			words = append(words, "claims", string(c.Claim.Op))
		}
		if c.Finish != nil {
			words = append(words, "finishes")
		}
	}
	return s.around(strings.Join(words, " "), func() error {
		err := commit()
		if err == nil && len(changes) > 0 {
			s.f.in(string(changes[0].Incident.State))
		}
		return err
	})
}

func (s failing) AddDelivery(ctx context.Context, d incident.Delivery) (id int64, err error) {
	err = s.around("add delivery", func() error { id, err = s.Store.AddDelivery(ctx, d); return err })
	return id, err
}

func (s failing) FailDelivery(ctx context.Context, d incident.Delivery, reason string, retryAt time.Time) error {
	return s.around("fail delivery", func() error { return s.Store.FailDelivery(ctx, d, reason, retryAt) })
}

func (s failing) CommitFolded(ctx context.Context, f incident.Folded) error {
	if len(f.Changes) == 0 {
		return s.around("finish delivery", func() error { return s.Store.CommitFolded(ctx, f) })
	}
	return s.changing(f.Changes, func() error { return s.Store.CommitFolded(ctx, f) })
}

func (s failing) RenewDeliveries(ctx context.Context, ds []incident.Delivery, until time.Time) error {
	return s.around("renew deliveries", func() error { return s.Store.RenewDeliveries(ctx, ds, until) })
}

func (s failing) ReleaseDelivery(ctx context.Context, d incident.Delivery) error {
	return s.around("release delivery", func() error { return s.Store.ReleaseDelivery(ctx, d) })
}

func (s failing) ReleaseClaim(ctx context.Context, id string, fence, version int64, dueAt time.Time) error {
	return s.around("release claim", func() error { return s.Store.ReleaseClaim(ctx, id, fence, version, dueAt) })
}

func (s failing) SaveMessage(ctx context.Context, m incident.Message, release bool) error {
	what := "save message"
	if m.TS != "" {
		what += " posted"
	}
	if !m.IntentAt.IsZero() {
		what += " intent"
	}
	return s.around(what, func() error { return s.Store.SaveMessage(ctx, m, release) })
}

func (s failing) AddClick(ctx context.Context, at time.Time, identity string, payload []byte) (added bool, err error) {
	err = s.around("add click", func() (err error) {
		added, err = s.Store.AddClick(ctx, at, identity, payload)
		return err
	})
	return added, err
}

func (s failing) FinishClick(ctx context.Context, c incident.Click) error {
	return s.around("finish click", func() error { return s.Store.FinishClick(ctx, c) })
}

// The claims commit too, but one that finds nothing changes nothing: it is no point. So the database is asked first,
// with the claim's own condition, and nothing else is committed in between.

func (s failing) before(ctx context.Context, what, query string, args ...any) {
	var state string
	switch err := s.claims.QueryRowContext(ctx, query+" LIMIT 1", args...).Scan(&state); {
	case err == nil:
		s.f.reach("before", strings.TrimSpace("store claim "+what+" "+state))
	case !errors.Is(err, sql.ErrNoRows) && ctx.Err() == nil:
		panic(fmt.Errorf("what would be claimed: %w", err))
	}
}

func (s failing) ClaimDue(ctx context.Context, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Claimed, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.before(ctx, "incident", `SELECT state FROM incidents WHERE due_at > 0 AND due_at <= ? AND lease_until <= ?`,
		now.UnixNano(), now.UnixNano())
	got, err := s.Store.ClaimDue(ctx, owner, now, lease, limit)
	if len(got) > 0 {
		s.f.in(string(got[0].Incident.State))
		s.f.reach("after", "store claim incident "+string(got[0].Incident.State))
	}
	return got, err
}

func (s failing) ClaimDeliveries(ctx context.Context, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Delivery, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.before(ctx, "delivery", `SELECT '' FROM deliveries WHERE state = 'new' AND held_until <= ?`, now.UnixNano())
	ds, err := s.Store.ClaimDeliveries(ctx, owner, now, lease, limit)
	if len(ds) > 0 {
		s.f.reach("after", "store claim delivery")
	}
	return ds, err
}

func (s failing) ClaimMessages(ctx context.Context, sink, owner string, now time.Time, lease time.Duration,
	limit int,
) ([]incident.Message, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.before(ctx, "message",
		`SELECT '' FROM messages WHERE (wanted > sent OR thread_wanted > thread_sent) AND next_at <= ? AND lease_until <= ?`,
		now.UnixNano(), now.UnixNano())
	got, err := s.Store.ClaimMessages(ctx, sink, owner, now, lease, limit)
	if len(got) > 0 {
		s.f.reach("after", "store claim message")
	}
	return got, err
}

func (s failing) ClaimClick(ctx context.Context, owner string, now time.Time, lease time.Duration) (incident.Click,
	bool, error,
) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.before(ctx, "click", `SELECT '' FROM clicks WHERE state = 'new' AND lease_until <= ?`, now.UnixNano())
	c, ok, err := s.Store.ClaimClick(ctx, owner, now, lease)
	if ok {
		s.f.reach("after", "store claim click")
	}
	return c, ok, err
}

// asChild runs the child and returns its exit code.
func asChild() int {
	if err := child(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
