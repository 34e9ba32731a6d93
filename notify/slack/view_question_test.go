package slack

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const setBack = "Argo CD application models manages it and may set it back"

// warned is the question about two steps on one object that someone else keeps as well.
func warned(t *testing.T) incident.Incident {
	t.Helper()
	with := func(s incident.Step) incident.Step {
		s.Guardrails = append(s.Guardrails,
			incident.Guardrail{Name: "ownership", Verdict: incident.GuardCaution, Reason: setBack})
		return s
	}
	return proposed(t, incident.ModeApprove, with(scaleStep()), with(batchStep())).do(0,
		incident.Asked{ExpiresAt: start.Add(30 * time.Minute)}).inc
}

// buttons are the labels of the message's buttons, with their style in front where they have one.
func buttons(v View) []string {
	var out []string
	for _, b := range v.Blocks {
		row, ok := b.(*slackgo.ActionBlock)
		if !ok {
			continue
		}
		for _, e := range row.Elements.ElementSet {
			if b, ok := e.(*slackgo.ButtonBlockElement); ok {
				out = append(out, strings.TrimSpace(string(b.Style)+" "+b.Text.Text))
			}
		}
	}
	return out
}

// mustFollow holds that a text has all of these, in this order.
func mustFollow(t *testing.T, text string, wants ...string) {
	t.Helper()
	rest := text
	for _, want := range wants {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Errorf("%q is missing, or not in its place:\n%s", want, text)
			return
		}
		rest = after
	}
}

// What is asked, why, and what it does are above the buttons; everything else is below them.
func TestAQuestionComesBeforeEverythingElse(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	inc.Cluster.Changes = []incident.RecentChange{
		{At: start.Add(-12 * time.Minute), Object: "Deployment llm/llama-70b", Text: "image v0.9.2 → v0.10.1"},
	}
	v := Render(inc, links)
	mustFollow(t, shownText(v),
		"TTFT p95 7.2 s (target 2 s)", "from 256 to 128?*", "Approve by ", "If no one responds, nothing changes.",
		"*Why:* The KV cache is full", "*97%* (limit 90%)", "*If you approve:*", "Throttle 256 → 128", "Deny",
		"*Scale 2 → 3 instead:*", "*Blocked:*", "⚠️ *Don't* raise `max_num_seqs`", "🕑 *Changed at ",
		"12 min before the first alert:* Deployment llm/llama-70b: image v0.9.2 → v0.10.1",
		"Exact change · 7 safety checks passed · 1 manual option", "*Exact change:* ", "Manual:", "abort spike",
		"✓ not paused")
	want := []string{"primary Throttle 256 → 128", "Scale 2 → 3 instead", "Deny", "Acknowledge", "Details"}
	if got := buttons(v); !slices.Equal(got, want) {
		t.Errorf("buttons %q, want %q", got, want)
	}
}

func TestAQuestionNamesWhoMayDecide(t *testing.T) {
	t.Parallel()
	s := scaleStep()
	s.Needs.Users, s.Needs.Groups = []string{"U0ALICE", "<!channel>", "u lower"}, []string{"S0ONCALL", "C0NOGROUP"}
	text := shownText(Render(asked(t, incident.ModeApprove, s).inc, links))
	mustFollow(t, text, "replicas?* <!subteam^S0ONCALL> <@U0ALICE>\nApprove by")
	if strings.Contains(text, "channel") || strings.Contains(text, "lower") || strings.Contains(text, "C0NOGROUP") {
		t.Errorf("what is no id is shown:\n%s", text)
	}
	for range 9 {
		s.Needs.Users = append(s.Needs.Users, fmt.Sprintf("U0MANY%d", len(s.Needs.Users)))
	}
	mustFollow(t, shownText(Render(asked(t, incident.ModeApprove, s).inc, links)), "<@U0MANY5> and 6 more\n")
}

func TestPartOfTheApprovalsIsTheNews(t *testing.T) {
	t.Parallel()
	text := shownText(Render(stories(t)["07-deciding-one-of-two"], links))
	mustFollow(t, text, "*1 of 2 approvals* (<@U0ALICE>). One more approver needed by ", ": *Scale Deployment")
}

func TestAStepThatRestartsPodsSaysSoInTheQuestion(t *testing.T) {
	t.Parallel()
	v := Render(stories(t)["06-deciding-restart"], links)
	mustFollow(t, shownText(v), "from 8192 to 4096?*", "⚠️ *This restarts the pods.*", "Approve by", "*Why:*")
	if got := buttons(v)[0]; got != "danger Restart with 4096" {
		t.Errorf("the button is %q", got)
	}
}

func TestADryRunSaysThatNothingWillChange(t *testing.T) {
	t.Parallel()
	v := Render(stories(t)["05-deciding-dry-run"], links)
	mustFollow(t, shownText(v), "🧪 [DRY RUN] ", "*Dry run: would you approve this?*",
		"Nothing will change.", "Dry-run throttle 256 → 128")
	if strings.Contains(shownText(v), "If no one responds") {
		t.Error("it says that nothing changes without an answer, as if something did with one")
	}
}

func TestADrillSaysSoEverywhere(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"07-deciding-drill": {
			"🧪 [DRILL] llama-70b: TTFT", "*DRILL: would you approve this?*", "Nothing will change.",
			"[DRILL] Throttle 256 → 128",
		},
		"08-drill-ended": {
			"🧪 [DRILL] llama-70b: drill ended, decided after 1 min 15 s",
			"*The drill ended: decided by <@U0ALICE>. Nothing was changed.*",
			"• Message after 2 s, first look after 1 min 15 s by <@U0ALICE>, decision after 1 min 15 s.", "• Would have set",
			"from 256 to 128; the API server accepted the dry run.",
			"• Would not have set Deployment llm/llama-70b spec.replicas (scale) from 2 to 3: no one approved it.",
		},
	} {
		inc := stories(t)[name]
		v := Render(inc, links)
		mustFollow(t, shownText(v), want...)
		if !strings.HasPrefix(v.Text, "🧪 [DRILL] llama-70b: ") {
			t.Errorf("the lock screen shows %q", v.Text)
		}
		for _, e := range inc.Journal {
			if _, push := renderEntry(inc, e); e.Thread && !strings.Contains(push, "🧪 [DRILL] ") {
				t.Errorf("a reply does not say that it is a drill: %q", push)
			}
		}
	}
	s := stories(t)["07-deciding-drill"].Plan.Steps[0]
	s.Needs.Confirm, s.Needs.Restart = true, true
	b, _ := approveButton(stories(t)["07-deciding-drill"], s, false)
	if text := b.Confirm.Text.Text; !strings.HasPrefix(text, "This is a drill: nothing is changed.") {
		t.Errorf("the dialog says %q", text)
	}
}

// A step that did not help is asked about alone: two questions at once would be answered with one click.
func TestAnOfferedRollbackIsTheOnlyQuestion(t *testing.T) {
	t.Parallel()
	v := Render(stories(t)["28-undo-offered-cautions"], links)
	mustFollow(t, shownText(v), "scale 2 → 3 didn't help", "*Roll back to 2?*", "it stays at 3.",
		"TTFT p95  7.2 s → *7.2 s* (target 2 s)", "Decide this first. Next option afterwards: throttle 256 → 128.",
		"*Don't* raise")
	want := []string{"primary Roll back to 2", "Keep 3", "Acknowledge", "Details"}
	if got := buttons(v); !slices.Equal(got, want) {
		t.Errorf("buttons %q, want %q", got, want)
	}
	if want := "Roll back to 2? If no one responds by 04:00 UTC, it stays at 3."; !strings.Contains(v.Text, want) {
		t.Errorf("the notification is %q", v.Text)
	}
}

// Of two changes to one value only the newer can be rolled back: the other would find a value that is not its own.
func TestOnlyTheNewerOfTwoChangesHasARollback(t *testing.T) {
	t.Parallel()
	inc := stories(t)["30-denied"]
	older := inc.Plan.Steps[0]
	older.ID, older.State, older.From, older.To = "p0-s1", incident.StepApplied, incident.Set("256"), incident.Set("128")
	older.Undo, older.AppliedAt = incident.Set("256"), inc.OpenedAt
	newer := older
	newer.ID, newer.Undo, newer.AppliedAt = "p0-s2", incident.Set("128"), inc.OpenedAt.Add(time.Minute)
	for name, earlier := range map[string][]incident.Step{"128": {older, newer}, "256": {older}} {
		inc.AppliedEarlier = earlier
		got := buttons(Render(inc, links))
		got = slices.DeleteFunc(got, func(b string) bool { return !strings.Contains(b, "Roll back") })
		if want := "Roll back to " + name; len(got) != 1 || !strings.HasSuffix(got[0], want) {
			t.Errorf("buttons %q, want only %q", got, want)
		}
	}
}

func TestWhatWasTurnedDownCanBeAskedAgain(t *testing.T) {
	t.Parallel()
	all := stories(t)
	for name, want := range map[string]bool{
		"30-denied": true, "31-expired": true, "33-observe": false, "24-undone": false, "40-closed": false,
		"20-recovered": false, "04-deciding": false,
	} {
		if got := slices.Contains(buttons(Render(all[name], links)), "Ask again"); got != want {
			t.Errorf("%s: asked again %t, want %t", name, got, want)
		}
	}
}

// An approver must see a caution however long the message is: it is never one of the ticks, and no level of detail
// leaves it out.
func TestACautionIsAboveTheButtonsAtEveryLevelOfDetail(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	for n, d := range details() {
		c := &composer{opts: links, detail: d}
		c.draw(inc)
		text := shownText(View{Text: "", Blocks: c.blocks})
		mustFollow(t, text, "⚠️ *Caution:* "+setBack, "Scale 2 → 3")
		if got := strings.Count(text, setBack); got != 1 {
			t.Errorf("level %d warns %d times, want once for both steps:\n%s", n, got, text)
		}
	}
	inc.Plan.Steps[0].Guardrails = nil
	mustFollow(t, shownText(Render(inc, links)), "⚠️ *Caution (set max_num_batched_tokens 8192 → 4096):* "+setBack)
	mustKeepLimits(t, inc)
}

func TestManyCautionsLeaveRoomForTheStep(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	s := &inc.Plan.Steps[0]
	s.Guardrails = nil
	for n := range 40 {
		s.Guardrails = append(s.Guardrails, incident.Guardrail{
			Name: "ownership", Verdict: incident.GuardCaution,
			Reason: fmt.Sprint(n, strings.Repeat(" someone keeps it <!channel>", 20)),
		})
	}
	mustKeepLimits(t, inc)
	text := shownText(Render(inc, links))
	if got := strings.Count(text, "⚠️ *Caution"); got != maxCautions || !strings.Contains(text, "_…and 38 more_") {
		t.Errorf("%d cautions:\n%s", got, text)
	}
}

// The verdicts are in a fixed order, but a step may have many of them: no limit and no caution may fall off the end.
func TestWhatIsNoPassIsNeverCutOff(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	s := &inc.Plan.Steps[0]
	s.Guardrails = slices.Repeat([]incident.Guardrail{{Name: "n", Verdict: incident.GuardPass, Reason: "fine"}}, 40)
	s.Guardrails = append(s.Guardrails,
		incident.Guardrail{Name: "ownership", Verdict: incident.GuardCaution, Reason: "someone else keeps it"},
		incident.Guardrail{Name: "bounds", Verdict: incident.GuardShrink, Reason: "smaller than asked"})
	mustFollow(t, shownText(Render(inc, links)), "(scale 2 → 3):* someone else keeps it", "smaller than asked")
}

// A verdict of a newer version refuses, and the message says so in the place of the buttons.
func TestAVerdictOfANewerVersionIsARefusal(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	inc.Plan.Steps[0].Guardrails = []incident.Guardrail{
		{Name: "bounds", Verdict: incident.GuardPass}, {Name: "capacity", Verdict: "hold", Reason: "no GPU is free"},
	}
	inc.Plan.Steps[1].Kind = "quarantine"
	v := Render(inc, links)
	mustFollow(t, shownText(v), "*Needs a human decision.*", "*Blocked:* Scale Deployment", "no GPU is free",
		"*Blocked:* Set --max", `this version doesn't know steps of the kind "quarantine"`)
	if strings.Contains(string(sent(t, v)), actionApprove) || strings.Contains(string(sent(t, v)), actionDenyAll) {
		t.Error("the step has a button to approve or deny it")
	}
}

func TestAStepThatWasTriedSaysSo(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Plan.Steps[0].Attempt = &incident.Attempt{
		At: time.Date(2026, 3, 1, 3, 12, 0, 0, time.UTC), Verdict: incident.VerdictWorse,
		UndoneBy: &incident.Actor{Kind: "slack", ID: "U0ALICE"},
	}
	mustFollow(t, shownText(Render(inc, ViewOptions{})),
		"The same change was tried at 03:12 UTC: worse, rolled back by <@U0ALICE>", "Throttle 256 → 128")
	tried, _ := approveButton(inc, inc.Plan.Steps[0], false)
	inc.Plan.Steps[0].Attempt = nil
	fresh, _ := approveButton(inc, inc.Plan.Steps[0], false)
	if tried.Style != slackgo.StyleDefault || fresh.Style != slackgo.StylePrimary {
		t.Errorf("the button of what was tried has the style %q, of what wasn't %q", tried.Style, fresh.Style)
	}
}

// What a lock screen shows: what is wrong, how bad it is, what is asked, until when.
func TestANotificationIsASentenceOfItsOwn(t *testing.T) {
	t.Parallel()
	all := stories(t)
	for name, want := range map[string]string{
		"04-deciding": "llama-70b: TTFT p95 7.2 s (target 2 s). Approve by 03:40 UTC: throttle 256 → 128. [inc-7kq2mz4a]",
		"05-deciding-dry-run": "🧪 [DRY RUN] llama-70b: TTFT p95 7.2 s (target 2 s). Dry run: would you throttle " +
			"256 → 128? Answer by 03:40 UTC. Nothing will change. [inc-7kq2mz4a]",
		"11-rollout":   "llama-70b: rolling out scale 2 → 3. No action needed. [inc-7kq2mz4a]",
		"20-recovered": "llama-70b: recovered after scale 2 → 3. No action needed. [inc-7kq2mz4a]",
		"26-drift":     "llama-70b: couldn't scale 2 → 3. Needs a human. [inc-7kq2mz4a]",
		"40-closed":    "llama-70b: resolved in 11 min. Changed: scale 2 → 3. [inc-7kq2mz4a]",
		"50-no-pool":   "vLLMHighTTFT: no pool configured. [inc-7kq2mz4a]",
	} {
		if got := Render(all[name], links).Text; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Whoever has approved one of several options wants to know whether others follow: that option is the question then.
func TestAnOptionThatWaitsForASecondApprovalIsAskedFirst(t *testing.T) {
	t.Parallel()
	first, second := throttleStep(), scaleStep()
	first.Needs.Approvals, second.Needs.Approvals = 2, 2
	s := asked(t, incident.ModeApprove, digested(first), digested(second)).decide(incident.Approve, "p1-s2")
	v := Render(s.inc, links)
	mustFollow(t, shownText(v), "*1 of 2 approvals* (<@U0ALICE>). One more approver needed by",
		"Scale Deployment llm/llama-70b", "Scale 2 → 3", "Throttle 256 → 128 instead")
	if !strings.Contains(v.Text, ": scale 2 → 3.") {
		t.Errorf("the notification is %q", v.Text)
	}
}

func TestAPauseIsSaidOnceAndFirst(t *testing.T) {
	t.Parallel()
	pause := incident.PausedError{Pause: incident.Pause{
		Pool: "llama-70b", Reason: "<!here> maintenance", By: incident.Actor{Kind: "slack", ID: "U0BOB"},
	}}
	steps := []incident.Step{throttleStep(), scaleStep()}
	for n := range steps {
		steps[n].Guardrails = passes(incident.Guardrail{
			Name: "pause", Verdict: incident.GuardRefuse, Cause: pause.Reason(),
		})
	}
	text := shownText(Render(proposed(t, incident.ModeApprove, steps...).inc, links))
	mustFollow(t, text, "*Changes are paused* for pool *llama-70b* by <@U0BOB>: &lt;!here&gt; maintenance.", "*Why:*",
		"*On hold while changes are paused:* throttle 256 → 128, scale 2 → 3")
	if strings.Count(text, "maintenance") != 1 || strings.Contains(text, "No automated fix") {
		t.Errorf("got\n%s", text)
	}
}

// What made it worse and what merely did nothing are two different reasons to roll back.
func TestAnOfferedRollbackSaysWhetherItGotWorse(t *testing.T) {
	t.Parallel()
	for verdict, want := range map[incident.Verdict]string{
		incident.VerdictWorse: "scale 2 → 3 made it worse", incident.VerdictUnchanged: "scale 2 → 3 didn't help",
	} {
		inc := asked(t, incident.ModeApprove).ran("p1-s3", verification(verdict, troubled()), false).inc
		if got := headline(inc); !strings.HasSuffix(got, want) {
			t.Errorf("%s: %q", verdict, got)
		}
	}
}
