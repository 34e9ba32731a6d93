package remediation_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// While a pause covers the pool nothing is approved, nor is a value chosen: the answer says who paused, why, and how to
// resume. What writes nothing is still taken. The question stays open, so that the same approval counts after a resume.
func TestAPauseRefusesApprovalsAndLeavesTheQuestionOpen(t *testing.T) {
	t.Parallel()
	approve := func(b *bench, inc incident.Incident) error { return b.decide(inc, "p1-s1", incident.Approve) }
	narrow := func(b *bench, inc incident.Incident) error {
		_, err := b.engine.Act(b.t.Context(), inc.ID, incident.Narrowed{
			Step: "p1-s1", Digest: inc.Plan.Digest, To: incident.Set("48"), By: bob,
		})
		return err
	}
	for _, tt := range []struct {
		name, pause, want string
		pool              incident.Pool
		do                func(*bench, incident.Incident) error
	}{
		{
			"an approval, all pools", "", "Changes are paused for all pools by slack:U-BOB: maintenance. Nothing was changed. " +
				"Resume them with vllm-medic resume, or /vllm-medic resume in Slack. Then approve again.", llama(), approve,
		},
		{
			"an approval, the pool", "llama", "Changes are paused for pool llama by slack:U-BOB: maintenance. Nothing was " +
				"changed. Resume them with vllm-medic resume --pool llama, or /vllm-medic resume llama in Slack. Then approve " +
				"again.", llama(), approve,
		},
		{"an approval in a dry run", "", "Changes are paused", inMode(llama(), incident.ModeDryRun), approve},
		{"a smaller change", "llama", "Changes are paused for pool llama", llama(), narrow},
		{"an approval, another pool", "mixtral", "", llama(), approve},
		{
			"a denial", "", "", llama(),
			func(b *bench, inc incident.Incident) error { return b.decide(inc, "p1-s1", incident.Deny) },
		},
		{"an acknowledgment", "", "", llama(), func(b *bench, inc incident.Incident) error {
			_, err := b.engine.Act(b.t.Context(), inc.ID, incident.Acked{By: bob})
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{tt.pool})
			inc := b.asked(sick(5, throttle(), addReplica()))
			b.pause(tt.pause)
			err := tt.do(b, inc)
			if tt.want == "" {
				if err != nil {
					t.Fatalf("refused: %v", err)
				}
				return
			}
			no, refused := errors.AsType[*incident.RefusedError](err)
			if !refused || !strings.Contains(present.Plain(present.Refusal(no)), tt.want) {
				t.Fatalf("the answer is %v, want %q", err, tt.want)
			}
			if got := b.read(inc.ID); got.Version != inc.Version || got.State != incident.StateDeciding {
				t.Fatalf("the incident is %s and was changed: version %d, was %d", got.State, got.Version, inc.Version)
			}
			b.resume(tt.pause)
			if err := tt.do(b, inc); err != nil {
				t.Errorf("after the resume: %v", err)
			}
		})
	}
}

func TestAnApprovalIsNotTakenWhileThePausesCannotBeRead(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.store.ledger = errors.New("locked up")
	if err := b.decide(inc, "p1-s1", incident.Approve); err == nil || !strings.Contains(err.Error(), "locked up") {
		t.Errorf("the answer is %v", err)
	}
	if err := b.decide(inc, "p1-s1", incident.Deny); err != nil {
		t.Errorf("a denial needs no pauses: %v", err)
	}
}

// A pause that comes after the approval stops the write. The message says that the step comes back, nobody is told that
// their approval still stands, and people need not wait for the next look after the resume.
func TestWhatAPauseStoppedIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	b.pause("")
	b.live.expect("recheck")
	b.sweep()
	got := b.read(inc.ID)
	if want := "proposed again after the resume"; !strings.Contains(present.Said(got.Said), want) {
		t.Errorf("the note is %q, want %q in it", present.Said(got.Said), want)
	}
	no, refused := errors.AsType[*incident.RefusedError](b.decide(inc, "p1-s1", incident.Approve))
	if want := "on hold"; !refused || !strings.Contains(present.Plain(present.Refusal(no)), want) {
		t.Errorf("the answer to another approval is %v, want %q in it", no, want)
	}
	b.resume("")
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.AskedAgain{By: bob}); err != nil {
		t.Fatalf("to ask again: %v", err)
	}
	b.sweep()
	if got := b.open("llama"); got.State != incident.StateDeciding || len(got.Proposed()) != 1 {
		t.Errorf("the incident is %s and proposes %+v", got.State, got.Proposed())
	}
}

// A pause that lasts until the plan is looked at again withdraws the question. After the resume the same plan is asked
// about again, so that the approval that was refused counts.
func TestAfterALongPauseTheSameApprovalCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.pause("llama")
	b.pass(10 * time.Minute)
	held := b.read(inc.ID)
	if held.State != incident.StateWatching {
		t.Fatalf("the incident is %s during the pause", held.State)
	}
	b.resume("llama")
	b.pass(time.Minute)
	got := b.read(inc.ID)
	if got.State != incident.StateDeciding || got.Plan.Digest != inc.Plan.Digest || got.AskedAt().IsZero() {
		t.Fatalf("the incident is %s, plan %s, asked at %s", got.State, got.Plan.Digest, got.AskedAt())
	}
	if left := got.Plan.ExpiresAt.Sub(b.clock()); left != 30*time.Minute {
		t.Errorf("people have %s to decide", left)
	}
	b.approve(inc)
}
