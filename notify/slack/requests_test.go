package slack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

func askedIncident(t *testing.T) incident.Incident { return asked(t, incident.ModeApprove).inc }

func deniedIncident(t *testing.T) incident.Incident {
	return asked(t, incident.ModeApprove, scaleStep()).decide(incident.Deny, "p1-s1").inc
}

func approvedIncident(t *testing.T) incident.Incident {
	return asked(t, incident.ModeApprove).decide(incident.Approve, "p1-s3").inc
}

// replies are the messages in the incident's thread, without the message itself.
func (f *office) replies() []fakeslack.Message {
	return slices.DeleteFunc(f.Thread(channel, f.desk.msg.TS), func(m fakeslack.Message) bool {
		return m.TS == f.desk.msg.TS
	})
}

func TestWhatIsNoDecisionOnAStepIsCarriedOut(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, user, action, want string
		inc                      func(t *testing.T) incident.Incident
		event                    incident.EventKind
	}{
		{"seen, by anybody of the workspace", "U0CAROL", "ack", "Acknowledged.", askedIncident, incident.KindAcked},
		{"asked again, by an approver", "U0BOB", "ask_again", "Asking again", deniedIncident, incident.KindAskedAgain},
		{"stopped, by an approver", "U0BOB", "stop", "isn't applied.", approvedIncident, incident.KindAborted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, InteractionsConfig{}, tt.inc(t))
			if got := f.click(f.request(tt.user, tt.action)); !strings.Contains(got, tt.want) {
				t.Errorf("answer = %q, want %q in it", got, tt.want)
			}
			if len(f.desk.done()) != 1 || f.desk.done()[0].Kind() != tt.event {
				t.Errorf("acts %v, want %s", f.desk.done(), tt.event)
			}
			if n := f.desk.decisions(); len(n) != 0 {
				t.Errorf("decisions %v", n)
			}
		})
	}
}

func TestWhatIsNoDecisionOnAStepIsRefusedToo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, user, action, want string
		inc                      func(t *testing.T) incident.Incident
	}{
		{"seen, by a guest", "U0GUEST", "ack", "Guests can't", askedIncident},
		{"seen, by a bot", "U0ROBOT", "ack", "Bots can't", askedIncident},
		{"details, for a stranger", "U0STRANGER", "details", "other workspaces", askedIncident},
		{"asked again, by somebody else", "U0CAROL", "ask_again", "Approvers: <@U0ALICE> <@U0BOB>.", deniedIncident},
		{"stopped, by somebody else", "U0CAROL", "stop", "Approvers: <@U0ALICE> <@U0BOB>.", approvedIncident},
		{"denied, by somebody else", "U0CAROL", "deny_all", "Approvers: <@U0ALICE> <@U0BOB>.", askedIncident},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, InteractionsConfig{}, tt.inc(t))
			if got := f.click(f.request(tt.user, tt.action)); !strings.Contains(got, tt.want) {
				t.Errorf("answer = %q, want %q in it", got, tt.want)
			}
			if len(f.desk.done()) != 0 || len(f.desk.decisions()) != 0 {
				t.Errorf("it was taken: %v, %v", f.desk.done(), f.desk.decisions())
			}
			if n := len(f.replies()); n != 0 {
				t.Errorf("%d replies", n)
			}
		})
	}
}

// A button that no longer applies, or that this bot never made, is refused before anybody looks up who clicked.
func TestAButtonThatDoesNotApplyIsRefused(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).inc
	inc.Plan.ExpiresAt = time.Now().Add(time.Hour)
	digest, ofStep := inc.Plan.Digest, stepDigest(t, inc)
	for _, tt := range []struct {
		action string
		v      buttonValue
		want   string
	}{
		{actionAskAgain, buttonValue{Incident: inc.ID}, "message was updated"},
		{actionAskAgain, buttonValue{Incident: inc.ID, Digest: digest, Seen: 1}, "waiting for approval"},
		{actionAskAgain, buttonValue{Incident: inc.ID, Digest: "000000000000", Seen: 1}, "plan changed"},
		{actionStop, buttonValue{Incident: inc.ID}, "message was updated"},
		{actionStop, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: digest}, "message was updated"},
		{actionStop, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: digest, Seen: 1}, "plan changed"},
		{actionStop, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: ofStep, Seen: 1}, "nothing was stopped"},
		{actionKeep, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: digest}, "nothing to keep"},
		{actionUndo, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: digest}, "nothing to roll back"},
		{actionApprove, buttonValue{Incident: inc.ID, Digest: digest}, "Unknown action"},
		{actionApprove, buttonValue{Incident: inc.ID, Step: "p1-s3"}, "Unknown action"},
		{actionDenyAll, buttonValue{Incident: inc.ID}, "Unknown action"},
		{actionDenyAll, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: digest}, "Unknown action"},
		{actionDenyAll, buttonValue{Incident: inc.ID, Digest: "000000000000"}, "plan changed"},
	} {
		r, no := requested(inc, tt.action, tt.v, alice())
		if no == nil {
			no = r.possible(inc, incident.Approvers{}, nil, time.Now())
		}
		if no == nil || !strings.Contains(no.text, tt.want) {
			t.Errorf("%s %+v: %v", tt.action, tt.v, no)
		}
	}
	for _, id := range []string{"", "launch", "approve_all", "Approve:p1-s1"} {
		if got := actionOf(id); got != "" {
			t.Errorf("%q is taken for %q", id, got)
		}
	}
}

// The click of a second approver is held against the approvers of now, as it is in the end: they tell who somebody on
// the command line is. With a form the reason comes later than the click.
func TestTheSecondApproverMayComeAfterTheCommandLine(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		first, want string
		decided     bool
		reason      bool
	}{
		"another person":              {"ben", "Approved", true, false},
		"another person, with a form": {"ben", "Approved", true, true},
		"themselves":                  {"ana", "You already approved this", false, false},
		"a name of nobody known":      {"kubernetes-admin", "same channel", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule := incident.Approvers{
				Users: []string{"U0ALICE", "U0BOB"}, Count: 2, FourEyes: true, Reason: tc.reason,
				Identities: map[string]string{"U0ALICE": "ana", "U0BOB": "ben"},
			}
			inc := askedIncident(t)
			inc.Plan.ExpiresAt = time.Now().Add(time.Hour)
			d := incident.Decision{
				Step: "p1-s3", Digest: inc.Plan.Digest, Verb: incident.Approve, Reason: "seen",
				By: incident.Actor{Kind: "kubernetes", ID: tc.first},
			}
			res, err := incident.Apply(inc, incident.Decided{Decision: d, Approvers: &rule}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			f := newOffice(t, InteractionsConfig{}, res.Incident)
			f.desk.approvers = rule
			got := f.clickAndFill(f.request("U0ALICE", "approve:p1-s3"), map[string]string{inputReason: "as planned"})
			if !strings.Contains(got, tc.want) {
				t.Errorf("answer = %q, want %q in it", got, tc.want)
			}
			if n := len(f.desk.decisions()); (n == 1) != tc.decided {
				t.Errorf("%d decisions", n)
			}
		})
	}
}

// A rollback, and keeping a change, are about the step: a plan that is made between the click and its record changes
// nothing about them.
func TestANewPlanDoesNotRefuseARollback(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).
		ran("p1-s3", verification(incident.VerdictUnchanged, troubled()), false).inc
	if inc.UndoOffered != "p1-s3" {
		t.Fatalf("no rollback is offered: %s", inc.State)
	}
	old := inc.Plan.Digest
	later := inc
	plan := *inc.Plan
	plan.Digest, later.Plan = "of another plan", &plan
	for _, action := range []string{actionUndo, actionKeep} {
		for _, digest := range []string{stepDigest(t, inc), old} { // an older message has the plan's
			r, no := requested(inc, action, buttonValue{Incident: inc.ID, Step: "p1-s3", Digest: digest}, alice())
			if no != nil {
				t.Fatal(no)
			}
			if no := r.possible(later, incident.Approvers{}, nil, time.Now()); no != nil {
				t.Errorf("%s with the digest %s: %v", action, digest, no)
			}
		}
	}
}

func stepDigest(t *testing.T, inc incident.Incident) string {
	t.Helper()
	s, ok := inc.Step("p1-s3")
	if !ok || s.Digest == "" {
		t.Fatal("the plan has no such step")
	}
	return s.Digest
}

// What a button was made for has passed: the click, or the same click once more after a crash, must not stop what came
// after it, nor ask again after another no.
func TestAnOldButtonActsOnNothingNewer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, action, want string
		before             func(t *testing.T) *story
		after              func(s *story)
	}{
		{
			"stopped when it is applied", "stop", "already applied, so nothing was stopped. Roll it back instead",
			func(t *testing.T) *story { return asked(t, incident.ModeApprove).decide(incident.Approve, "p1-s3") },
			func(s *story) {
				s.do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).
					do(time.Second, incident.Written{Result: incident.ResultApplied})
			},
		},
		{
			"asked again after another no", "ask_again", "plan changed",
			func(t *testing.T) *story {
				return asked(t, incident.ModeApprove, scaleStep()).decide(incident.Deny, "p1-s1")
			},
			func(s *story) {
				s.do(time.Minute, incident.AskedAgain{By: alice()}).
					do(time.Minute, incident.Investigated{
						Evidence: evidenceOf(troubled()), Diagnosis: diagnosisOf(), Steps: []incident.Step{scaleStep()},
						Healthy: incident.False,
					}).
					do(time.Second, incident.Asked{ExpiresAt: start.Add(2 * time.Hour)}).
					decide(incident.Deny, "p2-s1")
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := tt.before(t)
			f := newOffice(t, InteractionsConfig{}, s.inc)
			tt.after(s)
			f.desk.mu.Lock()
			f.desk.inc = s.inc
			f.desk.mu.Unlock()
			if got := f.click(f.request("U0ALICE", tt.action)); !strings.Contains(got, tt.want) {
				t.Errorf("answer = %q, want %q in it", got, tt.want)
			}
			if len(f.desk.done()) != 0 {
				t.Errorf("it was taken: %v", f.desk.done())
			}
		})
	}
}

// A denial of everything is a decision on each step: who may not decide on one of them may not deny them all. To ask
// again it is enough to be an approver of one.
func TestADenialOfEverythingNeedsAnApproverOfEachStep(t *testing.T) {
	t.Parallel()
	only := func(kind incident.StepKind) Approvers {
		return func(_ string, of incident.StepKind) incident.Approvers {
			if of == kind {
				return incident.Approvers{Users: []string{"U0ALICE"}}
			}
			return incident.Approvers{Users: []string{"U0BOB"}}
		}
	}
	f := newOffice(t, InteractionsConfig{}, askedIncident(t))
	for _, tt := range []struct {
		kind  incident.StepKind
		every bool
		may   bool
	}{
		{incident.StepThrottle, true, false},
		{incident.StepReplicas, true, false},
		{incident.StepThrottle, false, true},
		{incident.StepReplicas, false, true},
		{incident.StepMaxNumBatchedTokens, false, false},
	} {
		i := &Interactions{
			client: f.client, accounts: accounts{client: f.client, now: time.Now}, groups: groups{client: f.client},
			approvers: only(tt.kind), now: time.Now,
		}
		r := request{
			action: actionDenyAll, every: tt.every, kinds: []incident.StepKind{incident.StepReplicas, incident.StepThrottle},
		}
		c := click{User: "U0ALICE", Team: "T0FAKE", UserTeam: "T0FAKE"}
		no := i.mayAsk(t.Context(), c, f.desk.inc, r)
		if (no == nil) != tt.may {
			t.Errorf("approver of %s, of each %t: %v", tt.kind, tt.every, no)
		}
	}
}

// The details are for everybody who reads along, so they go to the thread; and they change nothing.
func TestDetailsArePostedInTheThread(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, stories(t)["09-deciding-cautions"])
	if got := f.click(f.request("U0CAROL", "details")); got != "The details are in the thread." {
		t.Errorf("answer = %q", got)
	}
	replies := f.replies()
	if len(replies) != 1 {
		t.Fatalf("%d replies", len(replies))
	}
	mustFollow(t, strings.ReplaceAll(replies[0].VisibleText(), "*", ""), "Details, requested by",
		"Diagnosis: kv cache full",
		"KV cache 97% (limit 90%)",
		"undecided: Aborts no data", "Don't:", "raise max_num_seqs: more requests at once", "Unusual:", "standard deviations",
		"can't rule out: abort spike (no data for Aborts)", "Readings:", "TTFT p95 7.2 s (target 2 s)", "histogram_quantile",
		"Throttle BackendTrafficPolicy", "✓ mode: mode approve", "+    maxParallelRequests: 128", "blocked: availability")
	if len(f.desk.done()) != 0 || len(f.desk.decisions()) != 0 {
		t.Error("something was recorded")
	}
}

func TestDetailsThatCannotBePostedSaySo(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, askedIncident(t))
	f.Fail("chat.postMessage", 1, fakeslack.Fault{HTTPStatus: 503})
	if got := f.click(f.request("U0CAROL", "details")); !strings.Contains(got, "Could not post the details") {
		t.Errorf("answer = %q", got)
	}
}

// Whatever an incident holds, its details keep Slack's limits and call nobody but who asked for them.
func TestDetailsKeepEveryLimit(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		inc := newChaos(seed, strings.Repeat("ä&<", int(seed)*8)).incident()
		s := newValidator(t)
		parent := s.send("chat.postMessage", "", "", "parent", nil)
		blocks, text := renderDetails(inc, alice(), ViewOptions{})
		if n, err := size(blocks); err != nil || n > maxTotal {
			t.Errorf("seed %d: size %d, %v", seed, n, err)
		}
		s.send("chat.postMessage", "", parent, text, blocks)
		mustBeTame(t, s.s)
	}
}
