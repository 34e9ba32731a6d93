package slack

import (
	"context"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// desk is the store and the engine's door for decisions, with the domain's own rules.
type desk struct {
	// inKubernetes answers about the rights of people there; nil: everybody has all.
	inKubernetes func(user string, pause bool) error
	mu           sync.Mutex
	inc          incident.Incident
	msg          incident.Message
	approvers    incident.Approvers
	taken        []incident.Decision
	acts         []incident.Event
	readErr      error
	writeErr     error
	slow         chan struct{} // when set, reads wait for it
	// folded are the incidents of the digest whose message msg is.
	folded map[string]bool
}

func (d *desk) Unfold(_ context.Context, digest, id string) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writeErr != nil {
		return 0, d.writeErr
	}
	if _, joined := d.folded[id]; digest != d.msg.Incident || (id != "" && !joined) {
		return 0, incident.ErrNotFound
	}
	n := 0
	for one, is := range d.folded {
		if is && (id == "" || one == id) {
			d.folded[one] = false
			n++
		}
	}
	return n, nil
}

func (d *desk) Decide(_ context.Context, id string, dec incident.Decision) (incident.Incident, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writeErr != nil {
		return incident.Incident{}, d.writeErr
	}
	if id != d.inc.ID {
		return incident.Incident{}, incident.ErrNotFound
	}
	rule := d.approvers
	res, err := incident.Apply(d.inc, incident.Decided{Decision: dec, Approvers: &rule}, time.Now())
	if err != nil {
		return d.inc, err
	}
	d.inc = res.Incident
	d.taken = append(d.taken, dec)
	return d.inc, nil
}

func (d *desk) Act(_ context.Context, id string, ev incident.Event) (incident.Incident, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.writeErr != nil {
		return incident.Incident{}, d.writeErr
	}
	if id != d.inc.ID {
		return incident.Incident{}, incident.ErrNotFound
	}
	res, err := incident.Apply(d.inc, ev, time.Now())
	if err != nil {
		return d.inc, err
	}
	d.inc = res.Incident
	d.acts = append(d.acts, ev)
	return d.inc, nil
}

func (d *desk) Incident(ctx context.Context, id string) (incident.Incident, error) {
	if d.slow != nil {
		select {
		case <-d.slow:
		case <-ctx.Done():
			return incident.Incident{}, ctx.Err()
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.readErr != nil:
		return incident.Incident{}, d.readErr
	case id != d.inc.ID:
		return incident.Incident{}, incident.ErrNotFound
	}
	return d.inc, nil
}

func (d *desk) Message(_ context.Context, id string) (incident.Message, bool, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.msg, id == d.msg.Incident, d.readErr
}

func (d *desk) decisions() []incident.Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]incident.Decision{}, d.taken...)
}

// done returns what was done beside decisions. It is read while clicks may still be worked on.
func (d *desk) done() []incident.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.acts)
}

// holds replaces the incident, as if it had gone on meanwhile.
func (d *desk) holds(inc incident.Incident) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inc = inc
}

// office is a workspace with the incident's message in it and the bot behind its buttons.
type office struct {
	*workspace
	t    *testing.T
	desk *desk
	// shelf is the store's part that keeps clicks.
	shelf *shelf
	// booth is what commands read and do.
	booth *booth
	bot   *Interactions
	stop  func()
	url   string
}

func newOffice(t *testing.T, cfg InteractionsConfig, inc incident.Incident) *office {
	t.Helper()
	return newOfficeIn(t, fakeslack.Options{}, cfg, inc)
}

// newOfficeIn is newOffice in a workspace of its own kind.
func newOfficeIn(t *testing.T, o fakeslack.Options, cfg InteractionsConfig, inc incident.Incident) *office {
	t.Helper()
	f := &office{workspace: newWorkspace(t, o), t: t, shelf: &shelf{}, booth: &booth{}}
	if inc.Plan != nil && !inc.Plan.ExpiresAt.IsZero() {
		inc.Plan.ExpiresAt = time.Now().Add(time.Hour)
	}
	f.desk = &desk{inc: inc, approvers: incident.Approvers{Users: []string{"U0ALICE", "U0BOB"}}}
	f.desk.msg = incident.Message{Incident: inc.ID, Channel: channel, TS: f.post(t, inc)}
	f.bot = f.another(cfg)
	srv := httptest.NewServer(f.bot)
	f.url = srv.URL
	f.SetInteractivityURL(srv.URL)
	f.stop = f.run(f.bot)
	t.Cleanup(srv.Close)
	return f
}

func (f *office) request(user, action string) fakeslack.ClickRequest {
	return fakeslack.ClickRequest{User: user, Channel: channel, MessageTS: f.desk.msg.TS, ActionID: action}
}

// click sends a click and returns the private answer to it. A form that it opens is submitted as it is.
func (f *office) click(c fakeslack.ClickRequest) string {
	f.t.Helper()
	return f.clickAndFill(c, nil)
}

// clickAndFill is click with what is written into the form that opens, by input.
func (f *office) clickAndFill(c fakeslack.ClickRequest, written map[string]string) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), process.Patience)
	defer cancel()
	res, err := f.Click(ctx, c)
	if err != nil {
		f.t.Fatalf("click: %v", err)
	}
	values := map[string]map[string]string{}
	for input, text := range written {
		values[input] = map[string]string{input: text}
	}
	answers, err := f.Answered(ctx, c.User, res.ID, values)
	if err != nil || len(answers) == 0 {
		f.t.Errorf("no answer: %v", err)
		return ""
	}
	return answers[0].Text
}

// whispers are the private answers to alice without an address of a click.
func (f *office) whispers() []fakeslack.Ephemeral {
	return slices.DeleteFunc(f.Ephemerals(), func(e fakeslack.Ephemeral) bool {
		return e.User != "U0ALICE" || e.ClickID != ""
	})
}

func TestAllowedPersonDecides(t *testing.T) {
	t.Parallel()
	ran := func(t *testing.T) incident.Incident {
		return asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictUnchanged, troubled()), false).inc
	}
	for _, tt := range []struct {
		name, user, action string
		inc                func(t *testing.T) incident.Incident
		approvers          incident.Approvers
		want               string
		decision           incident.Decision
	}{
		{
			name: "by name", user: "U0ALICE", action: "approve:p1-s3", want: "applying *scale 2 → 3*",
			inc:      func(t *testing.T) incident.Incident { return asked(t, incident.ModeApprove).inc },
			decision: incident.Decision{Step: "p1-s3", Verb: incident.Approve},
		},
		{
			name: "by group", user: "U0BOB", action: "approve:p1-s3", want: "Approved",
			approvers: incident.Approvers{Groups: []string{"S0ONCALL"}},
			inc:       func(t *testing.T) incident.Incident { return asked(t, incident.ModeApprove).inc },
			decision:  incident.Decision{Step: "p1-s3", Verb: incident.Approve},
		},
		{
			name: "deny", user: "U0ALICE", action: "deny_all", want: "Denied. Nothing was changed.",
			inc:      func(t *testing.T) incident.Incident { return asked(t, incident.ModeApprove).inc },
			decision: incident.Decision{Verb: incident.Deny},
		},
		{
			name: "restart, confirmed", user: "U0ALICE", action: "approve_confirmed:p1-s1", want: "Approved",
			inc:      func(t *testing.T) incident.Incident { return asked(t, incident.ModeApprove, batchStep()).inc },
			decision: incident.Decision{Step: "p1-s1", Verb: incident.Approve, Confirm: true},
		},
		{
			name: "dry-run", user: "U0ALICE", action: "approve:p1-s3", want: "This is a dry run",
			inc:      func(t *testing.T) incident.Incident { return asked(t, incident.ModeDryRun).inc },
			decision: incident.Decision{Step: "p1-s3", Verb: incident.Approve},
		},
		{
			name: "one of two", user: "U0ALICE", action: "approve:p1-s1",
			want: "Approved (1 of 2): *scale 2 → 3*. Waiting for one more approver.",
			inc: func(t *testing.T) incident.Incident {
				s := scaleStep()
				s.Needs.Approvals = 2
				return asked(t, incident.ModeApprove, s).inc
			},
			decision: incident.Decision{Step: "p1-s1", Verb: incident.Approve},
		},
		{
			name: "undo", user: "U0BOB", action: "undo:p1-s3", want: "Rolling back: *scale 2 → 3* to *2*", inc: ran,
			decision: incident.Decision{Step: "p1-s3", Verb: incident.Undo},
		},
		{
			name: "keep", user: "U0BOB", action: "keep:p1-s3", want: "Keeping *3*.", inc: ran,
			decision: incident.Decision{Step: "p1-s3", Verb: incident.Keep},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, InteractionsConfig{}, tt.inc(t))
			if len(tt.approvers.Groups) > 0 {
				f.desk.approvers = tt.approvers
			}
			if got := f.click(f.request(tt.user, tt.action)); !strings.Contains(got, tt.want) {
				t.Errorf("answer = %q, want %q in it", got, tt.want)
			}
			got := f.desk.decisions()
			if len(got) != 1 || got[0].Step != tt.decision.Step || got[0].Verb != tt.decision.Verb ||
				got[0].Confirm != tt.decision.Confirm {
				t.Fatalf("decisions = %+v", got)
			}
			if by := (incident.Actor{Kind: "slack", ID: tt.user}); got[0].By != by {
				t.Errorf("decided by %v, want %v", got[0].By, by)
			}
		})
	}
}

func TestSecondClickAndReplayChangeNothing(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	first, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WaitAnswers(t.Context(), first.ID, 1); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, want string
		c          fakeslack.ClickRequest
	}{
		{"second click", "Already approved by <@U0ALICE>", f.request("U0BOB", "approve:p1-s3")},
		{"other button", "Another step is in progress.", f.request("U0BOB", "deny_all")},
	} {
		if got := f.click(tt.c); !strings.Contains(got, tt.want) {
			t.Errorf("%s: answer = %q", tt.name, got)
		}
	}
	f.repeat(first.ID)
	if answers := f.Answers(first.ID); len(answers) != 1 {
		t.Errorf("the replay was answered: %+v", answers)
	}
	if n := f.desk.decisions(); len(n) != 1 {
		t.Errorf("%d decisions", len(n))
	}
}

func TestManyClicksAtOnceAreOneDecision(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	var wg sync.WaitGroup
	for n := range 12 {
		wg.Go(func() {
			f.click(f.request([]string{"U0ALICE", "U0BOB"}[n%2], []string{"approve:p1-s3", "deny_all"}[n/2%2]))
		})
	}
	wg.Wait()
	if n := f.desk.decisions(); len(n) != 1 {
		t.Errorf("%d decisions", len(n))
	}
}

func TestClickOnAnOldVersionOfTheMessageIsRefused(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	fresh := asked(t, incident.ModeApprove, scaleStep()).inc
	fresh.Plan.Revision, fresh.Plan.ExpiresAt = 2, time.Now().Add(time.Hour)
	f.desk.holds(fresh)
	if err := f.notifier.Update(t.Context(), channel, f.desk.msg.TS, fresh); err != nil {
		t.Fatal(err)
	}
	c := f.request("U0ALICE", "approve:p1-s1")
	c.StaleVersion = 1
	if got := f.click(c); !strings.Contains(got, "plan changed") {
		t.Errorf("answer = %q", got)
	}
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("it was taken: %+v", n)
	}
	if got := f.click(f.request("U0ALICE", "approve:p1-s1")); !strings.Contains(got, "Approved") {
		t.Errorf("the new button: %q", got)
	}
}

func TestUndoOfAnEarlierStepOutlivesItsPlan(t *testing.T) {
	t.Parallel()
	s := asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictImproved, cured()), false)
	diagnosis := diagnosisOf()
	diagnosis.Name = "other_cause"
	other := incident.Investigated{
		Evidence: evidenceOf(troubled()), Diagnosis: diagnosis, Steps: []incident.Step{throttleStep()},
		Healthy: incident.False,
	}
	s.do(time.Minute, other).do(time.Minute, other).do(time.Minute, other).
		do(time.Second, incident.Asked{ExpiresAt: start.Add(2 * time.Hour)})
	if len(s.inc.AppliedEarlier) != 1 {
		t.Fatalf("applied earlier: %+v", s.inc.AppliedEarlier)
	}
	f := newOffice(t, InteractionsConfig{}, s.inc)
	again := f.request("U0ALICE", "undo:p1-s3")
	v, _ := buttonValue{Incident: s.inc.ID, Step: "p1-s3", Digest: "000000000000"}.encode()
	again.Value = &v
	if got := f.click(again); !strings.Contains(got, "plan changed") || len(f.desk.decisions()) != 0 {
		t.Errorf("an undo of another step: answer = %q, decisions %+v", got, f.desk.decisions())
	}
	if got := f.click(f.request("U0ALICE", "undo:p1-s3")); !strings.Contains(got, "Rolling back") {
		t.Errorf("answer = %q", got)
	}
}

func TestGroupIsAskedOnceInAWhile(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{GroupsFor: time.Hour}, asked(t, incident.ModeApprove).inc)
	f.desk.approvers = incident.Approvers{Groups: []string{"S0ONCALL"}}
	for range 3 {
		f.click(f.request("U0CAROL", "approve:p1-s3"))
	}
	if n := len(f.CallsTo("usergroups.users.list")); n != 1 {
		t.Errorf("asked %d times", n)
	}
	brief := groups{client: f.client, ttl: time.Nanosecond}
	for range 2 {
		if _, err := brief.members(t.Context(), "S0ONCALL"); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.CallsTo("usergroups.users.list")); n != 3 {
		t.Errorf("what has run out was used: asked %d times", n)
	}
}

func TestPeopleOfAnOrganisationMayDecideInTheirWorkspace(t *testing.T) {
	t.Parallel()
	i := &Interactions{}
	click1 := click{Team: "T1", Enterprise: "E1", UserTeam: "E1"}
	for _, tt := range []struct {
		name string
		c    click
		u    account
		want bool
	}{
		{"account names the workspace", click1, account{Team: "T1"}, true},
		{"account names the organisation", click1, account{Team: "E1", Enterprise: "E1", Teams: []string{"T2", "T1"}}, true},
		{"account is in other workspaces only", click1, account{Team: "E1", Enterprise: "E1", Teams: []string{"T2"}}, false},
		{"account of another organisation", click1, account{Team: "T9", Enterprise: "E9", Teams: []string{"T1"}}, false},
		{"installed for the organisation", click{Enterprise: "E1"}, account{Team: "T7", Enterprise: "E1"}, true},
		{"nothing known", click{}, account{}, false},
		{"no organisation", click{Team: "T1"}, account{Team: "T2"}, false},
	} {
		if got := i.sameWorkspace(tt.c, tt.u); got != tt.want {
			t.Errorf("%s: %t", tt.name, got)
		}
	}
}
