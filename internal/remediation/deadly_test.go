package remediation_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// The environment of a process that folds deliveries in until one of them ends it.
const (
	envDeadlyStore = "DEADLY_STORE"
	envDeadlyNow   = "DEADLY_NOW"
)

// mortal is a collector and an inbox on which the one delivery from the instance "poison" ends the process, as no
// recover can catch it.
type mortal struct{ *store.Store }

// die ends the process as a full stack does: no recover can catch it.
func die() { panic(fmt.Sprint(endless(0))) }

func endless(n int) int { return endless(n+1) + 1 } //nolint:staticcheck // that it does not end is what it is for

func (m mortal) FindOwners(
	context.Context, map[string]string,
) ([]incident.WorkloadRef, incident.Trail, error) {
	return []incident.WorkloadRef{llama().Workload}, incident.Trail{}, nil
}

func (m mortal) CommitFolded(ctx context.Context, f incident.Folded) error {
	if slices.ContainsFunc(f.Deliveries,
		func(d incident.Delivery) bool { return d.Alerts[0].Labels["instance"] == "poison" }) {
		die()
	}
	return m.Store.CommitFolded(ctx, f)
}

func (m mortal) Collect(context.Context, incident.Pool, []incident.Signal, incident.Scope) incident.Evidence {
	return incident.Evidence{}
}

func (m mortal) Signals([]string) []incident.Signal { return nil }

func (m mortal) Diagnose(playbooks.Input) playbooks.Result {
	return playbooks.Result{Healthy: incident.Undecided}
}

// sweepOnce is what the process does that TestADeliveryThatEndsTheProcessIsParked starts.
func sweepOnce(ctx context.Context, url string) (err error) {
	debug.SetMaxStack(1 << 20)
	now, err := time.Parse(time.RFC3339, os.Getenv(envDeadlyNow))
	if err != nil {
		return err
	}
	clock := func() time.Time { return now }
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	s, err := store.Open(ctx, url, store.Options{
		ChannelFor: func(string) string { return "" }, Logger: log,
		Clock: clock,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	m := mortal{s}
	e, err := remediation.New(remediation.Config{
		Owner: "bot", Pools: []incident.Pool{llama()}, Mode: incident.ModeApprove,
		Policy: policy.Defaults(),
	}, remediation.Deps{
		Incidents: s, Inbox: m, Ledger: s, Collector: m, Playbooks: m, Logger: log, Now: clock,
	})
	if err != nil {
		return err
	}
	_, err = e.Sweep(ctx)
	return err
}

// A delivery whose folding ends the process (out of memory, a stack overflow) ends it again after each start. It is
// given up then, and no other alert is lost or held up by it for long.
func TestADeliveryThatEndsTheProcessIsParked(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	for _, engine := range storetest.Engines() {
		t.Run(engine.Name, func(t *testing.T) {
			t.Parallel()
			url, now, log := engine.URL(t), time.Now(), &bytes.Buffer{}
			poisoned := []string{"a", "b", "c", "poisoned", "d", "e", "poisoned"}
			inStore(t, url, now, log, func(s *store.Store) {
				for n, group := range poisoned {
					a := alert("HighTTFT", "")
					delete(a.Labels, "model_name")
					a.Labels["instance"], a.Fingerprint = group, group+string(rune('0'+n))
					if n == 3 {
						a.Labels["instance"] = "poison"
					} else if group == "poisoned" {
						a.Labels["instance"] = "behind"
					}
					if _, err := s.AddDelivery(t.Context(), incident.Delivery{
						ReceivedAt: start, Receiver: "medic", GroupKey: group,
						Alerts: []incident.Alert{a},
					}); err != nil {
						t.Fatal(err)
					}
				}
			})
			deaths := 0
			for waiting := int64(1); waiting > 0 && deaths < 20; now = now.Add(10 * time.Minute) {
				out, died := deadlyChild(t, url, now)
				log.WriteString(out)
				if died {
					deaths++
				}
				inStore(t, url, now, log, func(s *store.Store) {
					if got := shown(t, s); deaths == 5 && len(got) < 5 {
						t.Errorf("after %d deaths only these alerts are known: %q", deaths, got)
					}
					stats, err := s.Stats(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					waiting = stats.DeliveriesWaiting
				})
			}
			if deaths < 2 || deaths > 10 {
				t.Errorf("the process ended %d times:\n%s", deaths, log)
			}
			inStore(t, url, now, log, func(s *store.Store) {
				want := []string{"a0", "b1", "c2", "d4", "e5", "poisoned6"}
				if got := shown(t, s); !slices.Equal(got, want) {
					t.Errorf("these alerts are known: %q, want %q", got, want)
				}
				stats, err := s.Stats(t.Context())
				if err != nil || stats.DeliveriesWaiting != 0 || stats.DeliveriesDead != 1 {
					t.Errorf("%+v, %v", stats, err)
				}
			})
			if want := "the process ended"; !strings.Contains(log.String(), want) ||
				!strings.Contains(log.String(), "a delivery was given up") {
				t.Errorf("the log does not say why it was given up:\n%s", log)
			}
		})
	}
}

// deadlyChild runs the process once, and says whether it died of the delivery.
func deadlyChild(t *testing.T, url string, now time.Time) (log string, died bool) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envDeadlyStore+"="+url, envDeadlyNow+"="+now.Format(time.RFC3339))
	out, err := cmd.CombinedOutput()
	text, _, _ := strings.Cut(string(out), "goroutine ")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return text, false
	case !errors.As(err, &exit) || !bytes.Contains(out, []byte("fatal error: stack overflow")):
		t.Fatalf("%v: %s", err, out)
	}
	return text, true
}

func inStore(t *testing.T, url string, now time.Time, log io.Writer, fn func(*store.Store)) {
	t.Helper()
	s, err := store.Open(t.Context(), url, store.Options{
		ChannelFor: func(string) string { return "" },
		Logger:     slog.New(slog.NewTextHandler(log, nil)), Clock: func() time.Time { return now },
	})
	if err != nil {
		t.Fatal(err)
	}
	fn(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// shown are the alerts of the open incidents.
func shown(t *testing.T, s *store.Store) []string {
	t.Helper()
	var out []string
	for _, pool := range []string{"llama", ""} { // whose pool may not have been looked for yet
		inc, _, err := s.OpenIncident(t.Context(), pool)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range inc.Alerts {
			out = append(out, a.Fingerprint)
		}
	}
	slices.Sort(out)
	return out
}
