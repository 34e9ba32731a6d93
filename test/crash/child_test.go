package crash

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"strings"
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
)

// child is the bot with failpoints. It runs until SIGTERM.
func child() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	files, err := catalog.Files()
	if err != nil {
		return err
	}
	cat, err := playbooks.Load(files, playbooks.Options{Window: 2 * time.Second, MaxWarmUp: time.Nanosecond})
	if err != nil {
		return err
	}
	cfg, err := config.Load(os.Getenv(envConfig), config.Options{Getenv: os.LookupEnv, Profile: cat.Profile})
	if err != nil {
		return err
	}
	f, err := newFailpoint(os.Getenv(envMode), os.Getenv(envAt), os.Getenv(envPoints))
	if err != nil {
		return err
	}
	a, err := app.New(ctx, app.Options{
		Config: cfg, Catalog: cat, Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Transport: func(service string, rt http.RoundTripper) http.RoundTripper { return calls{service, rt, f} },
		Store:     func(s app.Store) app.Store { return failing{s, f} },
		// The double of Slack shows a post at once.
		LookAfter: 300 * time.Millisecond,
	})
	if err != nil {
		return err
	}
	return a.Run(ctx)
}

// failing has a point before and after each commit.
type failing struct {
	app.Store
	f *failpoint
}

func (s failing) around(what string, commit func() error) error {
	s.f.reach("before", "store "+what)
	err := commit()
	s.f.reach("after", "store "+what)
	return err
}

func (s failing) Commit(ctx context.Context, changes ...incident.Change) error {
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
		err := s.Store.Commit(ctx, changes...)
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

func (s failing) FinishDelivery(ctx context.Context, d incident.Delivery) error {
	return s.around("finish delivery", func() error { return s.Store.FinishDelivery(ctx, d) })
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

func (s failing) AddClick(ctx context.Context, at time.Time, payload []byte) error {
	return s.around("add click", func() error { return s.Store.AddClick(ctx, at, payload) })
}

func (s failing) FinishClick(ctx context.Context, c incident.Click) error {
	return s.around("finish click", func() error { return s.Store.FinishClick(ctx, c) })
}

// The claims commit too, but one that found nothing has changed nothing.

func (s failing) ClaimDue(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Claimed, error) {
	got, err := s.Store.ClaimDue(ctx, owner, now, lease, limit)
	if len(got) > 0 {
		s.f.in(string(got[0].Incident.State))
		s.f.reach("after", "store claim incident "+string(got[0].Incident.State))
	}
	return got, err
}

func (s failing) ClaimDelivery(ctx context.Context, owner string, now time.Time, lease time.Duration) (incident.Delivery, bool, error) {
	d, ok, err := s.Store.ClaimDelivery(ctx, owner, now, lease)
	if ok {
		s.f.reach("after", "store claim delivery")
	}
	return d, ok, err
}

func (s failing) ClaimMessages(ctx context.Context, owner string, now time.Time, lease time.Duration, limit int) ([]incident.Message, error) {
	got, err := s.Store.ClaimMessages(ctx, owner, now, lease, limit)
	if len(got) > 0 {
		s.f.reach("after", "store claim message")
	}
	return got, err
}

func (s failing) ClaimClick(ctx context.Context, owner string, now time.Time, lease time.Duration) (incident.Click, bool, error) {
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
