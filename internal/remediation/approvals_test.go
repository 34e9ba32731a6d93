package remediation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// approvedBy is the pool with other approvers.
func approvedBy(a incident.Approvers) incident.Pool {
	p := llama()
	a.Expire = 30 * time.Minute
	p.Approvers = map[incident.StepKind]incident.Approvers{"": a}
	return p
}

// The only approver approves, a pause stops the step, and it is asked for again in the same plan: the approver can
// approve again.
func TestTheOnlyApproverApprovesAgainAfterAPause(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica(), throttle()))
	b.approve(inc)
	b.live.expect("recheck")
	b.store.once(claims, func() { b.pause("llama") })
	b.sweep()
	b.refusedStep(inc.ID, "paused")
	b.resume("llama")
	b.pass(time.Minute)
	inc = b.open("llama")
	if s, _ := inc.Step("p1-s1"); inc.State != incident.StateDeciding || s.State != incident.StepProposed {
		t.Fatalf("the incident is %s, the step %s: it is to be asked for again", inc.State, s.State)
	}
	b.approve(inc)
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}

// The bot is started anew with a higher count while a plan is open: the click of one person does not run it.
func TestAHigherCountReachesAPlanThatIsOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.restart(approvedBy(incident.Approvers{Users: []string{"U-ADA", "U-BOB"}, Count: 2}))
	b.approve(inc)
	b.sweep()
	got := b.read(inc.ID)
	if s, _ := got.Step("p1-s1"); got.State != incident.StateDeciding || s.Needs.Approvals != 2 || len(s.Approvals) != 1 {
		t.Fatalf("the incident is %s, the step needs %d and has %v", got.State, s.Needs.Approvals, s.Approvals)
	}
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	second := decision(inc, "p1-s1", incident.Approve)
	second.By = bob
	// The HTTP API comes through Act.
	if _, err := b.engine.Decide(t.Context(), inc.ID, second); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v after the second approval", got)
	}
}

// Whoever calls Decide, from whatever surface: an approval without the reason that the configuration asks for by now is
// refused, with what to add, and changes nothing.
func TestAnApprovalWithoutItsReasonIsRefusedOnEverySurface(t *testing.T) {
	t.Parallel()
	for _, by := range []incident.Actor{ada, {Kind: "kubernetes", ID: "ada@example.com"}} {
		b := newBench(t, []incident.Pool{llama()})
		inc := b.asked(sick(5, addReplica()))
		b.restart(approvedBy(incident.Approvers{Users: []string{ada.ID}, Reason: true}))
		for _, reason := range []string{"", " \n\t"} {
			d := decision(inc, "p1-s1", incident.Approve)
			d.By, d.Reason = by, reason
			_, err := b.engine.Decide(t.Context(), inc.ID, d)
			no, refused := errors.AsType[*incident.RefusedError](err)
			if !refused || !strings.Contains(no.Reason, "requires a reason") || !strings.Contains(no.Reason, "--reason") {
				t.Fatalf("%s with the reason %q: %v", by, reason, err)
			}
		}
		if got := b.read(inc.ID); got.State != incident.StateDeciding || len(got.Decisions) != 0 {
			t.Fatalf("%s: the incident is %s with %v", by, got.State, got.Decisions)
		}
		d := decision(inc, "p1-s1", incident.Approve)
		d.By, d.Reason = by, "evening peak"
		if got, err := b.engine.Decide(t.Context(), inc.ID, d); err != nil || got.State != incident.StateApplying {
			t.Errorf("%s with a reason: %s, %v", by, got.State, err)
		}
	}
}

// The configuration became stricter after the approval and before the write.
func TestTheApproversOfNowAreAskedForBeforeTheWrite(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		from incident.Pool
		now  incident.Pool
		want string
	}{
		{
			"a higher count", llama(), approvedBy(incident.Approvers{Users: []string{"U-ADA"}, Count: 2}),
			"1 of the 2 approvals needed now count",
		},
		{
			"the approver is none any more", llama(), approvedBy(incident.Approvers{Users: []string{"U-BOB"}}),
			"0 of the 1 approvals",
		},
		{"nobody may approve any more", llama(), approvedBy(incident.Approvers{}), "0 of the 1 approvals"},
		{
			"a group took the approver's place", llama(), approvedBy(incident.Approvers{Groups: []string{"S1"}}),
			"0 of the 1 approvals",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{tt.from})
			inc := b.asked(sick(5, addReplica()))
			b.approve(inc)
			b.restart(tt.now)
			b.sweep()
			b.refusedStep(inc.ID, tt.want)

			late := newBench(t, []incident.Pool{tt.from})
			inc = claimed(late, answer{err: errAway, lost: true})
			late.restart(tt.now)
			late.live.expect("observe")
			late.skip(5 * time.Second)
			late.sweep()
			if s, _ := late.read(inc.ID).Step("p1-s1"); s.State != incident.StepFailed || !strings.Contains(s.Reason, tt.want) {
				t.Errorf("the claimed step is %s because %q", s.State, s.Reason)
			}
			if got := late.live.written(); len(got) != 0 {
				t.Errorf("written %v", got)
			}
		})
	}
}

// One more approver takes nothing from those who have approved.
func TestAnApprovalHoldsWhenSomebodyIsAddedToTheApprovers(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.restart(approvedBy(incident.Approvers{Users: []string{"U-BOB", "U-ADA"}}))
	b.live.expect("recheck")
	b.live.expect("do apply")
	b.live.expect("rollout", rolled(incident.RolloutRunning))
	b.sweep()
	if got := b.live.written(); len(got) != 1 {
		t.Errorf("written %v", got)
	}
}

// What policy approved by itself is not written when policy would ask by now.
func TestPolicyDoesNotRunWhatItWouldAskAboutByNow(t *testing.T) {
	t.Parallel()
	for name, stricter := range map[string]func(*bench){
		"the mode":  func(b *bench) { b.restart(llama()) },
		"the kinds": func(b *bench) { b.cfg.Policy.Automatic = nil; b.restart(inMode(llama(), incident.ModeAuto)) },
		"the count": func(b *bench) {
			b.restart(inMode(approvedBy(incident.Approvers{Users: []string{"U-ADA"}, Count: 2}), incident.ModeAuto))
		},
		"nothing": nil,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas))
			b.sight.see(sick(5, addReplica()))
			b.live.expect("recheck", answer{err: errAway})
			b.deliver(alert("HighTTFT", "llama"))
			b.sweep()
			b.pass(5 * time.Second) // policy approves, and the check cannot be made
			inc := b.open("llama")
			if inc.State != incident.StateApplying {
				t.Fatalf("the incident is %s", inc.State)
			}
			if stricter == nil {
				b.live.expect("recheck")
				b.live.expect("do apply")
				b.live.expect("rollout", rolled(incident.RolloutRunning))
			} else {
				stricter(b)
			}
			b.skip(5 * time.Second)
			b.sweep()
			if stricter != nil {
				b.refusedStep(inc.ID, "policy no longer runs it automatically")
			}
			if got := len(b.live.written()); (got == 1) != (stricter == nil) {
				t.Errorf("written %v", b.live.written())
			}
		})
	}
}

// An API server that is away for a moment takes no plan from people, nor what they have approved of it. A diagnosis
// that is another one does when it lasts.
func TestAnAPIServerThatIsAwayTakesNoPlanAway(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{approvedBy(incident.Approvers{Users: []string{"U-ADA", "U-BOB"}, Count: 2})})
	inc := b.asked(sick(5, addReplica(), throttle()))
	b.approve(inc)
	b.live.refuse[incident.StepReplicas] = errAway
	b.pass(2 * time.Minute)
	got := b.read(inc.ID)
	if s, _ := got.Step("p1-s1"); got.State != incident.StateDeciding || got.Plan.Digest != inc.Plan.Digest ||
		len(s.Approvals) != 1 {
		t.Fatalf("the incident is %s with plan %d, the step %s with %v", got.State, got.Plan.Revision, s.State, s.Approvals)
	}
	if !strings.Contains(b.log.String(), errAway.Error()) {
		t.Errorf("the log does not say it: %s", b.log)
	}
	delete(b.live.refuse, incident.StepReplicas)
	b.pass(2 * time.Minute)
	if got := b.read(inc.ID); got.Plan.Revision != 1 || strings.Contains(inThread(got), "The plan is new") {
		t.Errorf("afterwards plan %d: %s", got.Plan.Revision, inThread(got))
	}
	b.live.refuse[incident.StepReplicas] = errAway
	other := sick(5, addReplica())
	other.diagnosis = "memory"
	b.sight.see(other)
	b.pass(time.Minute)
	if got := b.read(inc.ID); got.Plan.Revision != 1 || got.State != incident.StateDeciding {
		t.Errorf("one look with another diagnosis makes it %s with plan %d", got.State, got.Plan.Revision)
	}
	b.pass(3 * time.Minute)
	if got := b.read(inc.ID); got.Plan.Revision != 2 || got.State != incident.StateWatching {
		t.Errorf("with another diagnosis it is %s with plan %d", got.State, got.Plan.Revision)
	}
}
