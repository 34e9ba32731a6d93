package slack

import (
	"fmt"
	"strings"
	"testing"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// shownText is the mrkdwn of every section, a line each.
func shownText(v View) string {
	var out []string
	for _, b := range v.Blocks {
		if s, ok := b.(*slackgo.SectionBlock); ok {
			out = append(out, s.Text.Text)
		}
	}
	return strings.Join(out, "\n")
}

func TestCautionsStandUnderTheDiagnosisAtMostThreeOfAKind(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	text := shownText(Render(inc, links))
	if never, unusual := strings.Count(text, "✋ *Do not* "),
		strings.Count(text, "🔎 *Unusual:* "); never != 3 || unusual != 3 {
		t.Errorf("%d and %d lines:\n%s", never, unusual, text)
	}
	for _, want := range []string{
		"*Do not* raise max_num_seqs: more requests at once in a full KV cache lead to preemption\n",
		"*Unusual:* 12 min ago: Deployment llm/llama-70b: image", "prefix caches _…and 1 more_\n",
		"in 15 min). _…and 2 more_", "*41 (llama-70b-6d5f-x2x7k)*",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	cause, never, unusual, plan := strings.Index(text, "The KV cache is full"), strings.Index(text, "✋"),
		strings.Index(text, "🔎"), strings.Index(text, "1 · Throttle")
	if cause < 0 || never < cause || unusual < never || plan < unusual {
		t.Errorf("the order is %d, %d, %d, %d", cause, never, unusual, plan)
	}
}

// Symptoms of the chosen cause are named, so that nobody takes them for something that was overlooked; what does not
// hold is not.
func TestWhatHoldsTooIsNamed(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	inc.Others = []incident.Other{
		{Name: "queueing", Verdict: incident.True, Why: "it is a symptom"},
		{Name: "idle", Verdict: incident.False, Why: "running is 9"},
		{Name: "<b>", Verdict: incident.True},
		{Name: "c", Verdict: incident.True},
		{Name: "d", Verdict: incident.True},
		{Name: "e", Verdict: incident.True},
	}
	text := shownText(Render(inc, links))
	if !strings.Contains(text, "Also seen, likely a symptom: queueing, &lt;b&gt;, c, d, ") ||
		strings.Contains(text, "idle") {
		t.Errorf("shown:\n%s", text)
	}
}

func TestNothingIsSaidWhereNothingIsToBeSaid(t *testing.T) {
	t.Parallel()
	with := func(never, unusual []string) func(*incident.Incident) {
		return func(i *incident.Incident) { i.Diagnosis.Never, i.Diagnosis.Unusual = nevers(never...), unusual }
	}
	for name, change := range map[string]func(*incident.Incident){
		"none":         with(nil, nil),
		"empty":        with([]string{"", " \n"}, []string{"\x00"}),
		"no diagnosis": func(i *incident.Incident) { i.Diagnosis = nil },
		"running": func(i *incident.Incident) {
			i.State, i.Active = incident.StateSettling, &incident.Active{Step: "p1-s1", Phase: incident.PhaseSettle}
		},
		"healthy": func(i *incident.Incident) { i.HealthySince = start },
		"closed":  func(i *incident.Incident) { i.State, i.ClosedAt = incident.StateClosed, start },
	} {
		inc := stories(t)["09-deciding-cautions"].Clone()
		change(&inc)
		if text := shownText(Render(inc, links)); strings.ContainsAny(text, "✋🔎") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// After a step that did not help a person thinks of something else to do; what was unusual before it is old by then.
func TestWhatNotToDoStaysAfterAStepThatDidNotHelp(t *testing.T) {
	t.Parallel()
	text := shownText(Render(stories(t)["28-undo-offered-cautions"], links))
	if !strings.Contains(text, "✋ *Do not* raise max_num_seqs") || strings.Contains(text, "🔎") {
		t.Errorf("got\n%s", text)
	}
}

func TestCautionsAreHarmlessAndOnOneLine(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	inc.Diagnosis.Never = nevers("restart <!channel> <@U0ALICE>\n<https://evil.example|click>: " +
		strings.Repeat("&", 500))
	inc.Diagnosis.Unusual = []string{"2 min ago: <script>alert(1)</script>\n\n```*_~`@here " +
		strings.Repeat("long ", 500)}
	mustKeepLimits(t, inc)
	for l := range strings.SplitSeq(shownText(Render(inc, links)), "\n") {
		if len([]rune(l)) > 2000 {
			t.Errorf("a line of %d characters", len([]rune(l)))
		}
		if strings.HasPrefix(l, "✋") &&
			!strings.HasPrefix(l,
				"✋ *Do not* restart &lt;!channel&gt; &lt;@U0ALICE&gt; &lt;https://evil.example|click&gt;: &amp;") {
			t.Errorf("got %q", l)
		}
		if strings.HasPrefix(l, "🔎") &&
			!strings.HasPrefix(l, "🔎 *Unusual:* 2 min ago: &lt;script&gt;alert(1)&lt;/script&gt; ```*_~`@here long") {
			t.Errorf("got %q", l)
		}
		if strings.ContainsAny(l, "✋🔎") && (!strings.HasSuffix(l, "…") || len([]rune(l)) > maxCaution+20) {
			t.Errorf("not shortened: %q", l)
		}
	}
}

// The longer the rest, the less stands beside the cause: first what is unusual goes, then what not to do, and only then
// evidence.
func TestALongMessageDropsUnusualThenNeverThenEvidence(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	long := func(s string) string { return (s + ": " + strings.Repeat("because of this and that ", 20)) }
	for n := range inc.Diagnosis.Never {
		inc.Diagnosis.Never[n].Why = long(inc.Diagnosis.Never[n].Why)
	}
	for n := range inc.Diagnosis.Unusual {
		inc.Diagnosis.Unusual[n] = long(inc.Diagnosis.Unusual[n])
	}
	for n := range 3 {
		inc.Diagnosis.Evidence = append(inc.Diagnosis.Evidence,
			incident.Condition{Label: fmt.Sprintf("other_%d", n), Truth: incident.True})
	}
	base := inc.Plan.Steps[0]
	inc.Plan.Steps = nil
	for n := range 5 {
		s := base
		s.ID, s.Diff = fmt.Sprintf("p1-s%d", n+1), ""
		inc.Plan.Steps = append(inc.Plan.Steps, s)
	}
	seen := map[string]bool{}
	for filler := range 200 {
		for n := range inc.Plan.Steps {
			inc.Plan.Steps[n].Why, inc.Plan.Steps[n].Cost = strings.Repeat("w", filler), strings.Repeat("c", filler)
			inc.Plan.Steps[n].Speed, inc.Plan.Steps[n].Risk = strings.Repeat("s", filler), strings.Repeat("r", filler)
			inc.Plan.Steps[n].Diff = strings.Repeat("d", 3*filler)
		}
		text := shownText(Render(inc, links))
		unusual, never, evidence := strings.Contains(text, "🔎"), strings.Contains(text, "✋ *Do not* "),
			strings.Contains(text, "other_2")
		if unusual && !never || never && !evidence {
			t.Fatalf("filler %d: unusual %v, never %v, evidence %v", filler, unusual, never, evidence)
		}
		if !never && !strings.Contains(text,
			"✋ <https://medic.example.com/incidents/inc-7kq2mz4a|Do not do this now>: 4 on the incident's page") {
			t.Fatalf("filler %d hides that there is something not to do:\n%s", filler, text)
		}
		if stage := fmt.Sprint(unusual, never, evidence); !seen[stage] {
			seen[stage] = true
			mustKeepLimits(t, inc)
		}
	}
	for _, stage := range []string{"true true true", "false true true", "false false true", "false false false"} {
		if !seen[stage] {
			t.Errorf("no length shows unusual, never, evidence as %q: %v", stage, seen)
		}
	}
}
