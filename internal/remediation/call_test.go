package remediation_test

import (
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// called are the lines of the thread that call people.
func called(inc incident.Incident, kind incident.NoteKind) []incident.Entry {
	return slices.DeleteFunc(slices.Clone(inc.Journal), func(e incident.Entry) bool {
		return e.Said.Kind != kind || !e.Thread
	})
}

func calling(a incident.Approvers) incident.Pool {
	p := llama()
	p.Approvers = map[incident.StepKind]incident.Approvers{"": a}
	return p
}

func TestPeopleAreCalledRemindedAndOthersCalled(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{calling(incident.Approvers{
		Users: []string{"U-ADA"}, Expire: 30 * time.Minute, Remind: 5 * time.Minute,
		Escalate: []incident.Escalation{
			{After: 10*time.Minute + 7*time.Second, Groups: []string{"S2"}}, {After: 20 * time.Minute, Users: []string{"U3"}},
		},
	})})
	inc := b.asked(sick(5, addReplica()))
	at := b.clock()
	when := func(kind incident.NoteKind) (out []time.Duration, who [][]string) {
		for _, e := range called(b.read(inc.ID), kind) {
			out, who = append(out, e.At.Sub(at)), append(who, e.Mention)
		}
		return out, who
	}
	for b.clock().Sub(at) < 31*time.Minute {
		b.skip(time.Second)
		b.sweep()
	}
	if got, who := when(incident.NoteApprovalNeeded); len(got) != 1 || got[0] != 0 ||
		!slices.Equal(who[0], []string{"U-ADA"}) {
		t.Errorf("asked after %v: %v", got, who)
	}
	if got, who := when(incident.NoteEscalated); len(got) != 2 || got[0] != 10*time.Minute+7*time.Second ||
		got[1] != 20*time.Minute || !slices.Equal(who[0], []string{"S2"}) || !slices.Equal(who[1], []string{"U3"}) {
		t.Errorf("others were called after %v: %v", got, who)
	}
	if got, who := when(incident.NoteReminder); len(got) != 1 || got[0] != 25*time.Minute ||
		!slices.Equal(who[0], []string{"U-ADA", "S2", "U3"}) {
		t.Errorf("reminded after %v: %v", got, who)
	}
	got := b.read(inc.ID)
	if got.MuteReason != incident.MutedExpired || len(b.writes("llama")) != 0 {
		t.Errorf("state %s, muted for %q: the end changes nothing", got.State, got.MuteReason)
	}
}

func TestNobodyIsRemindedWhereThatSaysNothing(t *testing.T) {
	t.Parallel()
	for name, a := range map[string]incident.Approvers{
		"never":              {Users: []string{"U-ADA"}, Expire: 10 * time.Minute},
		"the end was near":   {Users: []string{"U-ADA"}, Expire: 4 * time.Minute, Remind: 5 * time.Minute},
		"exactly as near":    {Users: []string{"U-ADA"}, Expire: 5 * time.Minute, Remind: 5 * time.Minute},
		"it expired already": {Users: []string{"U-ADA"}, Expire: 20 * time.Second, Remind: 10 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{calling(a)})
			inc := b.asked(sick(5, addReplica()))
			b.skip(a.Expire) // nobody looked in between
			b.sweep()
			b.pass(time.Minute)
			if got := called(b.read(inc.ID), incident.NoteReminder); len(got) != 0 {
				t.Errorf("%+v", got)
			}
		})
	}
}

// What is asked may have become untrue since the last look.
func TestNobodyIsCalledForWhatHasEnded(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{calling(incident.Approvers{
		Users: []string{"U-ADA"}, Expire: 30 * time.Minute, Remind: 5 * time.Minute,
		Escalate: []incident.Escalation{{After: 10 * time.Minute, Groups: []string{"S2"}}},
	})})
	inc := b.asked(sick(5, addReplica()))
	b.sight.see(well())
	b.skip(26 * time.Minute)
	b.sweep()
	got := b.read(inc.ID)
	if got.State != incident.StateWatching || len(called(got, incident.NoteReminder)) != 0 ||
		len(called(got, incident.NoteEscalated)) != 0 {
		t.Errorf("state %s, called %+v", got.State, got.Journal)
	}
}

// After the end of the process, and with another replica, everybody is called once.
func TestACallOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	pool := calling(incident.Approvers{
		Users: []string{"U-ADA"}, Expire: 30 * time.Minute, Remind: 5 * time.Minute,
		Escalate: []incident.Escalation{{After: 10 * time.Minute, Groups: []string{"S2"}}},
	})
	b := newBench(t, []incident.Pool{pool})
	inc := b.asked(sick(5, addReplica()))
	b.restart(pool)
	b.skip(27 * time.Minute) // nobody was there when they were to be called
	b.sweep()
	b.restart(pool)
	b.pass(2 * time.Minute)
	got := b.read(inc.ID)
	for kind, want := range map[incident.NoteKind]int{
		incident.NoteApprovalNeeded: 1, incident.NoteEscalated: 1, incident.NoteReminder: 1,
	} {
		if n := len(called(got, kind)); n != want {
			t.Errorf("%s: %d lines, want %d", kind, n, want)
		}
	}
}

func TestADryRunCallsPeopleAsADryRun(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeDryRun)})
	got := called(b.asked(sick(5, addReplica())), incident.NoteApprovalNeeded)
	if len(got) != 1 || got[0].Said.Mode != incident.ModeDryRun || len(got[0].Mention) == 0 {
		t.Errorf("%+v", got)
	}
}

// The configuration asks for four eyes while the one approval waits for its write.
func TestFourEyesCountAtTheWrite(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	inc := b.asked(sick(5, addReplica()))
	b.approve(inc)
	strict := incident.Approvers{Users: []string{"U-ADA", "U-BOB"}, FourEyes: true}
	b.restart(calling(strict))
	b.sweep()
	if got := b.read(inc.ID); len(b.writes("llama")) != 0 || got.State == incident.StateSettling {
		t.Errorf("state %s, writes %v", got.State, b.writes("llama"))
	}
}
