package slack

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// shelf keeps clicks as the contract of Clicks says, with leases and fences. It outlives the Interactions on it.
type shelf struct {
	mu     sync.Mutex
	kept   []incident.Click
	known  map[string]bool
	leases map[int64]time.Time
	done   int
	add    func(ctx context.Context) error // when set, its error is AddClick's
	broken error                           // of the other calls
}

func (s *shelf) AddClick(ctx context.Context, at time.Time, identity string, payload []byte) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.add != nil {
		if err := s.add(ctx); err != nil {
			return false, err
		}
	}
	if s.known[identity] {
		return false, nil
	}
	if s.known == nil {
		s.known = map[string]bool{}
	}
	s.known[identity] = identity != ""
	s.kept = append(s.kept, incident.Click{ID: int64(s.done + len(s.kept) + 1), ReceivedAt: at, Payload: payload})
	return true, nil
}

func (s *shelf) ClaimClick(_ context.Context, _ string, now time.Time, lease time.Duration) (incident.Click, bool,
	error,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return incident.Click{}, false, s.broken
	}
	for n, c := range s.kept {
		if s.leases[c.ID].After(now) {
			continue
		}
		if s.leases == nil {
			s.leases = map[int64]time.Time{}
		}
		s.kept[n].Fence++
		s.leases[c.ID] = now.Add(lease)
		return s.kept[n], true, nil
	}
	return incident.Click{}, false, nil
}

func (s *shelf) FinishClick(_ context.Context, c incident.Click) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken != nil {
		return s.broken
	}
	for n, k := range s.kept {
		if k.ID == c.ID && k.Fence == c.Fence {
			s.kept = append(s.kept[:n:n], s.kept[n+1:]...)
			s.done++
			return nil
		}
	}
	return incident.ErrFenced
}

// failAdd makes AddClick fail from now on.
func (s *shelf) failAdd(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add = func(context.Context) error { return err }
}

func (s *shelf) waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.kept)
}

// age makes what is kept older, and ends all leases: the process was away.
func (s *shelf) age(by time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases = nil
	for n := range s.kept {
		s.kept[n].ReceivedAt = s.kept[n].ReceivedAt.Add(-by)
	}
}

// another is the bot after a restart, or another replica: the same store, nothing in memory. It does not run yet.
func (f *office) another(cfg InteractionsConfig) *Interactions {
	f.t.Helper()
	cfg.SigningSecret = f.SigningSecret
	i, err := NewInteractions(cfg, InteractionsDeps{
		Client: f.client, Decider: f.desk, Lookup: f.desk, Clicks: f.shelf, Digests: f.desk, Approvers: f.approvers,
		Logger:   f.log,
		Commands: f.booth, Rights: f.rights,
	})
	if err != nil {
		f.t.Fatal(err)
	}
	return i
}

// rights are those of the people's Kubernetes users: nobody is without any, unless the test says so.
func (f *office) rights(_ context.Context, user string, pause bool) error {
	f.desk.mu.Lock()
	defer f.desk.mu.Unlock()
	if f.desk.inKubernetes == nil {
		return nil
	}
	return f.desk.inKubernetes(user, pause)
}

func (f *office) approvers(pool string, _ incident.StepKind) incident.Approvers {
	f.desk.mu.Lock()
	defer f.desk.mu.Unlock()
	if pool != f.desk.inc.Pool {
		return incident.Approvers{}
	}
	return f.desk.approvers
}

// run runs a bot until the test ends, or until stop is called.
func (f *office) run(i *Interactions) (stop func()) {
	f.t.Helper()
	return background(f.t, i.Run)
}

// background runs something until the test ends, or until stop is called.
func background(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run = %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// until polls a condition.
func until(t *testing.T, what string, met func() bool) {
	t.Helper()
	deadline := time.After(process.Patience)
	for poll := time.NewTicker(5 * time.Millisecond); !met(); {
		select {
		case <-deadline:
			t.Fatalf("not in %s: %s", process.Patience, what)
		case <-poll.C:
		}
	}
}

func TestAClickSurvivesTheEndOfTheProcess(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.stop() // Slack still reaches the listener; nothing works on clicks any more
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	if n := f.desk.decisions(); len(n) != 0 || f.shelf.waiting() != 1 {
		t.Fatalf("%d decisions, %d clicks kept", len(n), f.shelf.waiting())
	}
	f.run(f.another(InteractionsConfig{}))
	if _, err := f.WaitAnswers(t.Context(), res.ID, 1); err != nil {
		t.Fatal(err)
	}
	if n := f.desk.decisions(); len(n) != 1 {
		t.Errorf("%d decisions", len(n))
	}
	until(t, "the click is forgotten", func() bool { return f.shelf.waiting() == 0 })
}

// Killed after the decision and before the click was finished: the next process meets the click again.
func TestAClickThatIsHandledTwiceDecidesOnce(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.stop()
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	killed := f.another(InteractionsConfig{})
	c, found, err := f.shelf.ClaimClick(t.Context(), "me", time.Now(), time.Minute)
	if err != nil || !found {
		t.Fatal(found, err)
	}
	if !killed.take(t.Context(), c) || len(f.desk.decisions()) != 1 {
		t.Fatalf("not decided: %v", f.desk.decisions())
	}
	f.shelf.age(time.Minute)
	f.run(f.another(InteractionsConfig{}))
	answers, err := f.WaitAnswers(t.Context(), res.ID, 2)
	if err != nil {
		t.Fatal(err)
	}
	if n := f.desk.decisions(); len(n) != 1 {
		t.Errorf("%d decisions after %d answers", len(n), len(answers))
	}
}

// Slack takes five answers to one click, however often the bot dies over it.
func TestAClickIsNotAnsweredForEver(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.stop()
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	for range 8 { // the store fails after the answer each time, so that the click comes back
		i := f.another(InteractionsConfig{})
		f.shelf.age(0)
		i.clicks = unfinished{f.shelf}
		if err := f.handleOne(i); err == nil {
			t.Fatal("the click was finished")
		}
	}
	f.run(f.another(InteractionsConfig{}))
	f.shelf.age(0)
	until(t, "the click is forgotten", func() bool { return f.shelf.waiting() == 0 })
	if answers, err := f.WaitAnswers(t.Context(), res.ID, maxAnswers); err != nil || len(answers) != maxAnswers ||
		len(f.desk.decisions()) != 1 {
		t.Errorf("%d answers, %d decisions, %v", len(answers), len(f.desk.decisions()), err)
	}
}

// handleOne has a bot handle the click that waits.
func (f *office) handleOne(i *Interactions) error {
	f.t.Helper()
	c, found, err := i.clicks.ClaimClick(f.t.Context(), i.cfg.Owner, i.now(), i.cfg.Lease)
	if err != nil || !found {
		f.t.Fatalf("no click waits: %v", err)
	}
	return i.do(f.t.Context(), c)
}

// unfinished cannot finish a click.
type unfinished struct{ *shelf }

func (unfinished) FinishClick(context.Context, incident.Click) error { return errors.New("killed") }

func TestAClickThatIsTooOldIsRefusedAndSaysSo(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.stop()
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	f.shelf.age(6 * time.Minute)
	f.run(f.another(InteractionsConfig{}))
	answers, err := f.WaitAnswers(t.Context(), res.ID, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(answers[0].Text, "click again") {
		t.Errorf("answer = %q", answers[0].Text)
	}
	until(t, "the click is forgotten", func() bool { return f.shelf.waiting() == 0 })
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("it was acted on: %+v", n)
	}
}

func TestALateClickWhoseAnswerFailsIsLoggedAndForgotten(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.stop()
	if _, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3")); err != nil {
		t.Fatal(err)
	}
	f.shelf.age(31 * time.Minute)
	f.Fail("response_url", 1, fakeslack.Fault{HTTPStatus: http.StatusNotFound})
	f.run(f.another(InteractionsConfig{}))
	until(t, "the click is forgotten", func() bool { return f.shelf.waiting() == 0 })
	if n := f.desk.decisions(); len(n) != 0 || !strings.Contains(f.logs.String(), "came too late") {
		t.Errorf("decisions %+v; log:\n%s", n, f.logs)
	}
}

func TestAClickThatCannotBeKeptIsAnErrorForThePerson(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for name, add := range map[string]func(context.Context) error{
		"an error":  func(context.Context) error { return errors.New("disk full") },
		"no answer": func(ctx context.Context) error { <-ctx.Done(); return context.Cause(ctx) },
	} {
		f.shelf.mu.Lock()
		f.shelf.add = add
		f.shelf.mu.Unlock()
		res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if !errors.Is(err, fakeslack.ErrRefused) || res.Status != http.StatusServiceUnavailable || res.Took > 3*time.Second {
			t.Errorf("%s: status %d after %s, %v", name, res.Status, res.Took, err)
		}
	}
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("decisions: %+v", n)
	}
}

func TestAStoreThatCannotBeReadIsReportedOnceAndClicksComeLater(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{Sweep: 5 * time.Millisecond, Workers: 1}, asked(t, incident.ModeApprove).inc)
	f.shelf.mu.Lock()
	f.shelf.broken = errors.New("database is locked")
	f.shelf.mu.Unlock()
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the error is logged", func() bool { return strings.Contains(f.logs.String(), "database is locked") })
	f.shelf.mu.Lock()
	f.shelf.broken = nil
	f.shelf.mu.Unlock()
	if _, err := f.WaitAnswers(t.Context(), res.ID, 1); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(f.logs.String(), "database is locked"); n != 1 {
		t.Errorf("logged %d times", n)
	}
}

func TestAClickHidesItsPayload(t *testing.T) {
	t.Parallel()
	c := incident.Click{ID: 7, Payload: []byte("secretpath")}
	l, log := newLogs(t, "secretpath")
	log.Info("click", "click", c)
	if !strings.Contains(l.String(), "7") {
		t.Error("nothing was logged")
	}
	asJSON, err := json.Marshal(c) // as slog's JSON handler does
	if err != nil {
		t.Fatal(err)
	}
	mustHide(t, fmt.Sprintf("%v %+v %#v %s %s", c, c, c, c, asJSON), "secretpath", fmt.Sprintf("%d", []byte("secretpath")),
		base64.StdEncoding.EncodeToString([]byte("secretpath")))
}

// What is not understood must not come back for ever.
func TestWhatIsNotAClickIsForgotten(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	for _, payload := range []string{"null", "{", `{"type":"view_closed"}`} {
		if got := send(t, f.bot, f.SigningSecret(), "payload="+url.QueryEscape(payload)).Code; got != http.StatusOK {
			t.Errorf("%s: %d", payload, got)
		}
	}
	until(t, "all is forgotten", func() bool { return f.shelf.waiting() == 0 })
}
