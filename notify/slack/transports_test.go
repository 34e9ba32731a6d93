package slack

import (
	"cmp"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// newIn returns an office whose bot gets what people do by one of the transports.
type newIn func(t *testing.T, cfg InteractionsConfig, inc incident.Incident) *office

// overBoth runs a test for each transport: what people see must not depend on it.
func overBoth(t *testing.T, test func(t *testing.T, open newIn)) {
	t.Helper()
	for name, open := range map[string]newIn{
		"http": newOffice,
		"socket": func(t *testing.T, cfg InteractionsConfig, inc incident.Incident) *office {
			t.Helper()
			f, _ := newSocketOffice(t, cfg, inc)
			return f
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open)
		})
	}
}

func TestClicksDoTheSameOverBothTransports(t *testing.T) {
	t.Parallel()
	everybody := incident.Approvers{Users: []string{"U0ALICE", "U0BOB", "U0GUEST", "U0ROBOT", "U0LEFT", "U0STRANGER"}}
	other := "other"
	for _, tt := range []struct {
		name    string
		click   fakeslack.ClickRequest
		prepare func(f *office)
		want    string
		taken   incident.Verb // empty: refused
	}{
		{name: "approve", want: "Approved", taken: incident.Approve},
		{name: "deny", click: fakeslack.ClickRequest{ActionID: "deny_all"}, want: "Denied", taken: incident.Deny},
		{name: "no approver", click: fakeslack.ClickRequest{User: "U0CAROL"}, want: "You can't decide on this"},
		{name: "guest", click: fakeslack.ClickRequest{User: "U0GUEST"}, want: "Guests can't"},
		{name: "bot", click: fakeslack.ClickRequest{User: "U0ROBOT"}, want: "Bots can't"},
		{name: "deactivated", click: fakeslack.ClickRequest{User: "U0LEFT"}, want: "deactivated"},
		{name: "stranger", click: fakeslack.ClickRequest{User: "U0STRANGER"}, want: "other workspaces"},
		{name: "another app", click: fakeslack.ClickRequest{AppID: "A0OTHER"}, want: "another app"},
		{name: "another workspace", click: fakeslack.ClickRequest{TeamID: "T0OTHER"}, want: "another workspace"},
		{name: "another channel", click: fakeslack.ClickRequest{PayloadChannel: "C0OTHER"}, want: "not the incident's"},
		{name: "unknown value", click: fakeslack.ClickRequest{Value: &other}, want: "Unknown action"},
		{
			name: "no such account", want: "Could not read your account",
			prepare: func(f *office) {
				f.Fail("users.info", 1, fakeslack.Fault{Error: "user_not_found"})
			},
		},
		{
			name: "nobody may approve", want: "`approvers` is empty in the configuration",
			prepare: func(f *office) { f.desk.approvers = incident.Approvers{} },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			overBoth(t, func(t *testing.T, open newIn) {
				f := open(t, InteractionsConfig{AppID: fakeslack.AppID}, asked(t, incident.ModeApprove).inc)
				f.desk.approvers = everybody
				if tt.prepare != nil {
					tt.prepare(f)
				}
				c := tt.click
				c.User = cmp.Or(c.User, "U0ALICE")
				c.ActionID, c.Channel, c.MessageTS = cmp.Or(c.ActionID, "approve:p1-s3"), channel, f.desk.msg.TS
				if got := f.click(c); !strings.Contains(got, tt.want) {
					t.Errorf("answer = %q, want %q", got, tt.want)
				}
				taken := f.desk.decisions()
				if (tt.taken != "") != (len(taken) == 1) || (len(taken) == 1 && taken[0].Verb != tt.taken) {
					t.Errorf("decisions %+v", taken)
				}
			})
		})
	}
}

func TestADuplicateDecidesOnceOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		first, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WaitAnswers(t.Context(), first.ID, 1); err != nil {
			t.Fatal(err)
		}
		f.repeat(first.ID)
		if n := f.desk.decisions(); len(n) != 1 {
			t.Errorf("%d decisions", len(n))
		}
	})
}

// repeat delivers a click again, and waits until everything that was kept is finished, which it would be with the
// repeat.
func (f *office) repeat(id string) {
	f.t.Helper()
	if _, err := f.Click(f.t.Context(), fakeslack.ClickRequest{Replay: id}); err != nil {
		f.t.Fatal(err)
	}
	until(f.t, "all clicks are worked on", func() bool { return f.shelf.waiting() == 0 })
}

// Slack repeats what it got no answer to in time: an acknowledgment and the details are posted once.
func TestWhatIsDeliveredTwiceIsPostedOnceOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		for _, action := range []string{"ack", "details"} {
			f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
			first, err := f.Click(t.Context(), f.request("U0ALICE", action))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.WaitAnswers(t.Context(), first.ID, 1); err != nil {
				t.Fatal(err)
			}
			posted := len(f.Messages(channel)) + len(f.replies())
			f.repeat(first.ID)
			if got := len(f.Messages(channel)) + len(f.replies()); got != posted {
				t.Errorf("%s: %d messages, before the repeat %d", action, got, posted)
			}
			if n := len(f.desk.done()); action == "ack" && n != 1 {
				t.Errorf("%d acknowledgments", n)
			}
			if got := f.click(f.request("U0ALICE", action)); got == "" {
				t.Errorf("%s: a second click of the same person is not answered", action)
			}
		}
	})
}

// Lookups that take long hold up the clicks that wait for them, and no other.
func TestSlowLookupsHoldUpNoOtherClick(t *testing.T) {
	t.Parallel()
	for method, slow := range map[string]int{"usergroups.users.list": 20, "users.info": 5} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
			f.PutUsergroup(fakeslack.Usergroup{ID: "S0ONCALL", Users: []string{"U0BOB"}})
			f.desk.approvers = incident.Approvers{Users: []string{"U0ALICE"}, Groups: []string{"S0ONCALL"}}
			f.Fail(method, slow, fakeslack.Fault{DelayAnswer: 5 * time.Second})
			user := map[string]string{"users.info": "U0ALICE", "usergroups.users.list": "U0CAROL"}[method]
			var waiting []fakeslack.ClickResult
			for range slow {
				res, err := f.Click(t.Context(), f.request(user, "deny_all"))
				if err != nil {
					t.Fatal(err)
				}
				waiting = append(waiting, res)
			}
			until(t, "they wait for Slack", func() bool { return len(f.CallsTo(method)) >= min(slow, seats) })
			if got := f.click(f.request("U0ALICE", "approve:p1-s3")); !strings.Contains(got, "Approved.") {
				t.Errorf("answer = %q", got)
			}
			for _, res := range waiting {
				if answers := f.Answers(res.ID); len(answers) > 0 {
					t.Fatalf("a click that waited for Slack was answered first: %+v", answers)
				}
			}
			if n := len(f.CallsTo(method)); n > seats+1 {
				t.Errorf("%d calls at the same time", n)
			}
		})
	}
}

// Who finds no seat is told so in time, instead of keeping a place.
func TestALookupThatFindsNoSeatIsRefused(t *testing.T) {
	t.Parallel()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	var leave []func()
	for range seats {
		done, err := f.bot.accounts.queue.take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, done)
	}
	if got := f.click(f.request("U0ALICE", "approve:p1-s3")); !strings.Contains(got, "Could not read your account") {
		t.Errorf("answer = %q", got)
	}
	if n := len(f.CallsTo("users.info")) + len(f.desk.decisions()); n != 0 {
		t.Errorf("%d lookups or decisions without a seat", n)
	}
	leave[0]()
	if got := f.click(f.request("U0ALICE", "approve:p1-s3")); !strings.Contains(got, "Approved.") {
		t.Errorf("with a seat: %q", got)
	}
}

func TestALateClickIsRefusedOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		f.stop() // Slack still reaches the bot; nothing works on clicks any more
		res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if err != nil {
			t.Fatal(err)
		}
		f.shelf.age(6 * time.Minute)
		f.run(f.another(InteractionsConfig{}))
		answers, err := f.WaitAnswers(t.Context(), res.ID, 1)
		if err != nil || !strings.Contains(answers[0].Text, "click again") || len(f.desk.decisions()) != 0 {
			t.Errorf("answers %+v, %v, decisions %+v", answers, err, f.desk.decisions())
		}
	})
}

func TestAClickSurvivesARestartOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		f.stop()
		res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if err != nil || len(f.desk.decisions()) != 0 || f.shelf.waiting() != 1 {
			t.Fatalf("%v, %d decisions, %d clicks kept", err, len(f.desk.decisions()), f.shelf.waiting())
		}
		f.run(f.another(InteractionsConfig{}))
		if _, err := f.WaitAnswers(t.Context(), res.ID, 1); err != nil || len(f.desk.decisions()) != 1 {
			t.Errorf("%d decisions, %v", len(f.desk.decisions()), err)
		}
	})
}

// The work on a click takes longer than Slack waits; the click is acknowledged all the same.
func TestAClickIsAcknowledgedBeforeTheWorkOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		f.desk.slow = make(chan struct{})
		res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if err != nil || res.Took > time.Second {
			t.Errorf("acknowledged after %s, %v", res.Took, err)
		}
		close(f.desk.slow)
		if _, err := f.WaitAnswers(t.Context(), res.ID, 1); err != nil || len(f.desk.decisions()) != 1 {
			t.Errorf("%d decisions, %v", len(f.desk.decisions()), err)
		}
	})
}

func TestAClickThatCannotBeKeptIsAnErrorOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		f.shelf.mu.Lock()
		f.shelf.broken = errors.New("disk full")
		f.shelf.mu.Unlock()
		_, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if err != nil {
			t.Errorf("a store that cannot be read: %v", err)
		}
		f.shelf.failAdd(errors.New("disk full"))
		_, err = f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
		if !errors.Is(err, fakeslack.ErrRefused) && !errors.Is(err, fakeslack.ErrNoAnswer) {
			t.Errorf("a store that takes nothing: %v", err)
		}
		if n := f.desk.decisions(); len(n) != 0 {
			t.Errorf("decisions %+v", n)
		}
	})
}

// What was applied is rolled back, whichever way the click comes.
func TestAnUndoOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		s := asked(t, incident.ModeApprove).ran("p1-s3", verification(incident.VerdictImproved, cured()), false)
		diagnosis := diagnosisOf()
		diagnosis.Name = "other_cause"
		other := incident.Investigated{
			Evidence: evidenceOf(troubled()), Diagnosis: diagnosis, Steps: []incident.Step{throttleStep()},
			Healthy: incident.False,
		}
		s.do(time.Minute, other).do(time.Minute, other).do(time.Minute, other).
			do(time.Second, incident.Asked{ExpiresAt: start.Add(2 * time.Hour)})
		f := open(t, InteractionsConfig{}, s.inc)
		if got := f.click(f.request("U0CAROL", "undo:p1-s3")); !strings.Contains(got, "You can't decide on this") {
			t.Errorf("of a stranger: %q", got)
		}
		if got := f.click(f.request("U0ALICE", "undo:p1-s3")); !strings.Contains(got, "Rolling back") {
			t.Errorf("answer = %q", got)
		}
	})
}

// A form is opened, submitted and counted, whichever way the click and the form come.
func TestAFormOverBothTransports(t *testing.T) {
	t.Parallel()
	overBoth(t, func(t *testing.T, open newIn) {
		f := open(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
		f.desk.approvers.Reason = true
		got := f.clickAndFill(f.request("U0ALICE", "approve:p1-s3"), map[string]string{inputReason: "evening peak"})
		taken := f.desk.decisions()
		if !strings.Contains(got, "Approved") || len(taken) != 1 || taken[0].Reason != "evening peak" {
			t.Errorf("%q, %+v", got, taken)
		}
	})
}
