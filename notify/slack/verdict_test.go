package slack

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const setBack = "Argo CD application models manages it and may set it back"

// warned is the question about two steps on one object that somebody else keeps as well.
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

// An approver must see a caution however long the message is: it is never one of the ticks, and no level of detail
// leaves it out.
func TestACautionIsShownAtEveryLevelOfDetail(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	for n, d := range details() {
		c := &composer{opts: links, detail: d}
		c.draw(inc)
		text := shownText(View{Blocks: c.blocks})
		if got := strings.Count(text, "⚠️ *Caution:* "+setBack); got != 2 {
			t.Errorf("level %d warns %d times, want once for each step:\n%s", n, got, text)
		}
		if strings.Contains(text, "✓ "+setBack) {
			t.Errorf("level %d ticks it", n)
		}
	}
	mustKeepLimits(t, inc)
}

func TestManyCautionsLeaveRoomForTheStep(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	s := &inc.Plan.Steps[0]
	s.Guardrails = nil
	for range 40 {
		s.Guardrails = append(s.Guardrails,
			incident.Guardrail{
				Name: "ownership", Verdict: incident.GuardCaution,
				Reason: strings.Repeat("somebody else keeps it <!channel> ", 20),
			})
	}
	mustKeepLimits(t, inc)
	text := shownText(Render(inc, links))
	if got := strings.Count(text, "⚠️ *Caution:* somebody"); got != maxCautions ||
		!strings.Contains(text, "_…and 37 more_") {
		t.Errorf("%d cautions:\n%s", got, text)
	}
}

// The verdicts are in a fixed order, but a step may have many of them: no refusal, no limit and no caution may fall off
// the end.
func TestWhatIsNoPassIsNeverCutOff(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	s := &inc.Plan.Steps[0]
	s.Guardrails = slices.Repeat([]incident.Guardrail{{Name: "n", Verdict: incident.GuardPass, Reason: "fine"}}, 40)
	s.Guardrails = append(s.Guardrails,
		incident.Guardrail{Name: "ownership", Verdict: incident.GuardCaution, Reason: "somebody else keeps it"},
		incident.Guardrail{Name: "bounds", Verdict: incident.GuardShrink, Reason: "smaller than asked"})
	text := string(golden(t, Render(inc, links)))
	for _, want := range []string{"⚠️ *Caution:* somebody else keeps it", "✂️ smaller than asked"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
}

// A policy has no pods that follow it, and a deployment has no gateway.
func TestWhatIsWaitedForAfterAWriteFitsTheStep(t *testing.T) {
	t.Parallel()
	for step, want := range map[string][2]string{
		"p1-s1": {"Waiting for the gateway to accept it.", "in effect"}, "p1-s3": {"*Rolling out.*", "rolled out"},
	} {
		run := asked(t, incident.ModeApprove).decide(incident.Approve, step).
			do(2*time.Second, incident.WriteClaimed{WriteID: "w-1", Before: troubled()}).do(time.Second,
			incident.Written{Result: incident.ResultApplied})
		text := shownText(Render(run.inc, links))
		if !strings.Contains(text, want[0]) || !strings.Contains(text, "⏳ "+want[1]) {
			t.Errorf("%s: %v is missing:\n%s", step, want, text)
		}
	}
}

func TestANotificationIsMadeOfWholeSentences(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	for summary, want := range map[string]string{
		"Cache is being written.":     "). Cache is being written. Needs approval: ",
		"Cache is being written":      "). Cache is being written. Needs approval: ",
		"Cache is being written...":   "). Cache is being written... Needs approval: ",
		"Is the cache being written?": "). Is the cache being written? Needs approval: ",
	} {
		inc.Diagnosis.Summary = summary
		if text := Render(inc, links).Text; !strings.Contains(text, want) {
			t.Errorf("%q, want %q in it", text, want)
		}
	}
}

// A verdict of a newer version refuses, and the message says so in the place of the buttons.
func TestAVerdictOfANewerVersionIsARefusal(t *testing.T) {
	t.Parallel()
	inc := warned(t)
	inc.Plan.Steps[0].Guardrails = []incident.Guardrail{
		{Name: "bounds", Verdict: incident.GuardPass},
		{Name: "capacity", Verdict: "hold", Reason: "no GPU is free"},
	}
	inc.Plan.Steps[1].Kind = "quarantine"
	text := shownText(Render(inc, links))
	for _, want := range []string{
		`⛔ *1 · `, "no GPU is free", `⛔ *2 · `,
		`this version doesn't know steps of the kind "quarantine"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if strings.Contains(string(golden(t, Render(inc, links))), actionApprove) {
		t.Error("the step has a button to approve it")
	}
}
