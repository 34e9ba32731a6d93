package slack

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// askedFor is an office in which these are the approvers.
func askedFor(t *testing.T, change func(a *incident.Approvers)) *office {
	t.Helper()
	f := newOffice(t, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	change(&f.desk.approvers)
	return f
}

func throttleID(f *office) string {
	for _, s := range f.desk.inc.Plan.Steps {
		if s.Kind == incident.StepThrottle {
			return s.ID
		}
	}
	f.t.Fatal("no throttle in the plan")
	return ""
}

func TestADenialTakesAReason(t *testing.T) {
	t.Parallel()
	for name, written := range map[string]string{"with": "known load test", "without": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := askedFor(t, func(*incident.Approvers) {})
			got := f.clickAndFill(f.request("U0ALICE", "deny_all"), map[string]string{inputReason: written})
			taken := f.desk.decisions()
			if !strings.Contains(got, "Denied") || len(taken) != 1 || taken[0].Reason != written ||
				taken[0].Verb != incident.Deny || taken[0].Step != "" {
				t.Errorf("%q, %+v", got, taken)
			}
		})
	}
}

// What is chosen keeps the same diagnosis from being asked about; nothing is chosen unless somebody does.
func TestADenialSnoozes(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{"": 0, "4h0m0s": 4 * time.Hour} {
		f := askedFor(t, func(*incident.Approvers) {})
		written := map[string]string{}
		if value != "" {
			written[inputSnooze] = value
		}
		got := f.clickAndFill(f.request("U0ALICE", "deny_all"), written)
		if taken := f.desk.decisions(); len(taken) != 1 || taken[0].Snooze != want {
			t.Errorf("%q: %q, %+v", value, got, taken)
		}
	}
}

// A form that asks for longer than is offered asks for nothing.
func TestOnlyWhatIsOfferedSnoozes(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove).inc
	r := request{action: actionDenyAll, decision: &incident.Decision{Verb: incident.Deny, Digest: inc.Plan.Digest}}
	for _, given := range []string{"8760h0m0s", "-1h0m0s", "a while", "1h"} {
		if got := r.fill(inc, filled{Snooze: given}); got.decision.Snooze != 0 {
			t.Errorf("%q snoozes for %s", given, got.decision.Snooze)
		}
	}
}

// Until the form is submitted nothing has happened.
func TestAFormThatIsClosedDecidesNothing(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(*incident.Approvers) {})
	if _, err := f.Click(t.Context(), f.request("U0ALICE", "deny_all")); err != nil {
		t.Fatal(err)
	}
	until(t, "a form", func() bool { return len(f.Views()) == 1 })
	v := f.Views()[0]
	mustFollow(t, v.VisibleText(), "Deny", "Throttle", "Nothing is changed", "Reason")
	if err := f.CloseView("U0ALICE", v.ID); err != nil {
		t.Fatal(err)
	}
	until(t, "the click is forgotten", func() bool { return f.shelf.waiting() == 0 })
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("%+v", n)
	}
}

// Killed after the form was opened: the click is done again when the person has closed the form, and its trigger opens
// nothing any more. Neither is a denial.
func TestAFormThatWasClosedDecidesNothingWhenItsClickIsDoneAgain(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"expired_trigger_id", "exchanged_trigger_id", "internal_error", "ratelimited"} {
		t.Run(refusal, func(t *testing.T) {
			t.Parallel()
			f := askedFor(t, func(*incident.Approvers) {})
			f.stop()
			res, err := f.Click(t.Context(), f.request("U0ALICE", "deny_all"))
			if err != nil {
				t.Fatal(err)
			}
			killed := f.another(InteractionsConfig{})
			killed.clicks = unfinished{f.shelf}
			if err := f.handleOne(killed); err == nil {
				t.Fatal("the click was finished")
			}
			if err := f.CloseView("U0ALICE", f.Views()[0].ID); err != nil {
				t.Fatal(err)
			}
			f.Fail("views.open", 1, fakeslack.Fault{Error: refusal})
			f.shelf.age(0)
			f.run(f.another(InteractionsConfig{}))
			answers, err := f.WaitAnswers(t.Context(), res.ID, 1)
			if err != nil || !strings.Contains(answers[0].Text, "Click again") {
				t.Errorf("%+v, %v", answers, err)
			}
			if n := f.desk.decisions(); len(n) != 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}

// The repeat of a click whose form was closed neither opens it again nor counts as a denial without its form.
func TestADenialThatIsDeliveredTwiceDecidesNothing(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(*incident.Approvers) {})
	res, err := f.Click(t.Context(), f.request("U0ALICE", "deny_all"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a form", func() bool { return len(f.Views()) == 1 })
	if err := f.CloseView("U0ALICE", f.Views()[0].ID); err != nil {
		t.Fatal(err)
	}
	f.repeat(res.ID)
	if n := len(f.Views()); n != 1 {
		t.Errorf("%d forms were opened", n)
	}
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("%+v", n)
	}
}

// A denial is not lost when Slack refuses to open its form.
func TestADenialCountsWithoutItsForm(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{"expired_trigger_id", "invalid_arguments"} {
		f := askedFor(t, func(*incident.Approvers) {})
		f.Fail("views.open", 1, fakeslack.Fault{Error: refusal})
		if got := f.click(f.request("U0ALICE", "deny_all")); !strings.Contains(got, "Denied") {
			t.Errorf("%s: answer = %q", refusal, got)
		}
		if n := f.desk.decisions(); len(n) != 1 || n[0].Verb != incident.Deny {
			t.Errorf("%s: %+v", refusal, n)
		}
	}
}

// While nobody knows whether the form is open, the person decides in it, or clicks again.
func TestADenialDoesNotCountWhenItsFormMayBeOpen(t *testing.T) {
	t.Parallel()
	for _, fault := range []fakeslack.Fault{
		{Error: "exchanged_trigger_id"}, {Error: "internal_error"}, {HTTPStatus: 503}, {Error: "ratelimited"},
	} {
		f := askedFor(t, func(*incident.Approvers) {})
		f.Fail("views.open", 1, fault)
		if got := f.click(f.request("U0ALICE", "deny_all")); !strings.Contains(got, "Click again") {
			t.Errorf("%+v: answer = %q", fault, got)
		}
		if n := f.desk.decisions(); len(n) != 0 {
			t.Errorf("%+v: %+v", fault, n)
		}
	}
}

// An approval that needs a reason is none when its form can't be shown.
func TestAnApprovalIsRefusedWithoutItsForm(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(a *incident.Approvers) { a.Reason = true })
	f.Fail("views.open", 1, fakeslack.Fault{Error: "expired_trigger_id"})
	if got := f.click(f.request("U0ALICE", "approve:p1-s3")); !strings.Contains(got, "Slack didn't open the form") {
		t.Errorf("answer = %q", got)
	}
	if n := f.desk.decisions(); len(n) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestAnApprovalWithAReason(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(a *incident.Approvers) { a.Reason = true })
	got := f.clickAndFill(f.request("U0ALICE", "approve:p1-s3"), map[string]string{inputReason: " evening peak "})
	taken := f.desk.decisions()
	if !strings.Contains(got, "Approved") || len(taken) != 1 || taken[0].Reason != "evening peak" {
		t.Errorf("%q, %+v", got, taken)
	}
}

func TestAnApprovalWithTheProposedValueIsOne(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(a *incident.Approvers) { a.Narrow = true })
	if got := f.click(f.request("U0ALICE", "approve:"+throttleID(f))); !strings.Contains(got, "Approved") {
		t.Errorf("answer = %q", got)
	}
	if n := f.desk.decisions(); len(n) != 1 || n[0].Verb != incident.Approve {
		t.Errorf("%+v", n)
	}
}

// Another value is no approval: it is worked out, and asked about anew.
func TestAnApprovalWithAnotherValueIsAskedAboutAnew(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(a *incident.Approvers) { a.Narrow = true })
	id := throttleID(f)
	got := f.clickAndFill(f.request("U0ALICE", "approve:"+id), map[string]string{inputValue: "200"})
	if !strings.Contains(got, "Nothing is applied") || len(f.desk.decisions()) != 0 || len(f.desk.done()) != 1 {
		t.Fatalf("%q, %+v, %+v", got, f.desk.decisions(), f.desk.done())
	}
	ev, ok := f.desk.done()[0].(incident.Narrowed)
	if !ok || ev.Step != id || ev.To != incident.Set("200") || ev.By.ID != "U0ALICE" {
		t.Errorf("%+v", f.desk.done()[0])
	}
}

// Slack's own client holds the bounds; the domain holds them, too.
func TestTheFormBoundsTheValue(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(a *incident.Approvers) { a.Narrow = true })
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:"+throttleID(f)))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a form", func() bool { return len(f.Views()) == 1 && f.Views()[0].ClickID == res.ID })
	for _, value := range []string{"127", "256", "128.5", "many", ""} {
		_, err := f.SubmitView(t.Context(), fakeslack.SubmitRequest{
			User: "U0ALICE", ViewID: f.Views()[0].ID,
			Values: map[string]map[string]string{inputValue: {inputValue: value}},
		})
		if err == nil {
			t.Errorf("%q was submitted", value)
		}
	}
}

// What was true when the form opened may not be when it is submitted: everything is checked again.
func TestAFormIsCheckedWhenItIsSubmitted(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		meanwhile  func(t *testing.T, f *office)
	}{
		{"no approver any more", "You can't decide on this", func(_ *testing.T, f *office) {
			f.desk.approvers.Users = []string{"U0BOB"}
		}},
		{"decided by somebody else", "Already", func(t *testing.T, f *office) {
			if got := f.click(f.request("U0BOB", "approve:p1-s3")); got == "" {
				t.Fatal("not decided")
			}
		}},
		{"another plan", "plan changed", func(t *testing.T, f *office) {
			fresh := asked(t, incident.ModeApprove, scaleStep()).inc
			fresh.Plan.ExpiresAt = time.Now().Add(time.Hour)
			f.desk.holds(fresh)
		}},
		{"posted anew", "out of date", func(_ *testing.T, f *office) { f.desk.msg.TS = "1700000000.000001" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := askedFor(t, func(a *incident.Approvers) { a.Reason = true })
			res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
			if err != nil {
				t.Fatal(err)
			}
			until(t, "a form", func() bool { return len(f.Views()) == 1 && f.Views()[0].ClickID == res.ID })
			f.desk.mu.Lock()
			f.desk.approvers.Reason = false
			f.desk.mu.Unlock()
			tt.meanwhile(t, f)
			before := len(f.desk.decisions())
			_, err = f.SubmitView(t.Context(), fakeslack.SubmitRequest{
				User: "U0ALICE", ViewID: f.Views()[0].ID,
				Values: map[string]map[string]string{inputReason: {inputReason: "peak"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			until(t, "an answer", func() bool { return len(f.whispers()) == 1 })
			if got := f.whispers()[0].Text; !strings.Contains(got, tt.want) {
				t.Errorf("answer = %q, want %q", got, tt.want)
			}
			if n := len(f.desk.decisions()); n != before {
				t.Errorf("%d decisions, %d before", n, before)
			}
		})
	}
}

// A form that was kept while nobody could handle it is too late, like a click, and its sender hears of it.
func TestALateFormIsRefused(t *testing.T) {
	t.Parallel()
	f := askedFor(t, func(a *incident.Approvers) { a.Reason = true })
	res, err := f.Click(t.Context(), f.request("U0ALICE", "approve:p1-s3"))
	if err != nil {
		t.Fatal(err)
	}
	until(t, "a form", func() bool { return len(f.Views()) == 1 && f.Views()[0].ClickID == res.ID })
	f.stop()
	_, err = f.SubmitView(t.Context(), fakeslack.SubmitRequest{
		User: "U0ALICE", ViewID: f.Views()[0].ID, Values: map[string]map[string]string{inputReason: {inputReason: "peak"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	f.shelf.age(6 * time.Minute)
	f.run(f.another(InteractionsConfig{}))
	until(t, "an answer", func() bool { return len(f.whispers()) == 1 })
	if got := f.whispers()[0].Text; !strings.Contains(got, "click again") || len(f.desk.decisions()) != 0 {
		t.Errorf("answer = %q, decisions %+v", got, f.desk.decisions())
	}
}

func TestAFormThatThisBotDidNotMakeIsIgnored(t *testing.T) {
	t.Parallel()
	const alice, ours = `"user":{"id":"U0ALICE"},`, `"callback_id":"vllm_medic_decide"`
	for _, rest := range []string{
		``,
		`,` + alice + `"view":{"callback_id":"other"}`,
		`,` + alice + `"view":{` + ours + `}`,
		`,` + alice + `"view":{` + ours + `,"private_metadata":"{}"}`,
		`,"view":{` + ours + `,"private_metadata":"{\"a\":\"deny_all\",\"c\":\"C1\",\"m\":\"1.2\"}"}`,
	} {
		payload := `{"type":"view_submission"` + strings.TrimSuffix(rest, ",") + `}`
		if c, err := decodeClick([]byte(payload)); err == nil {
			t.Errorf("%s was read as %+v", payload, c)
		}
	}
}
