package slack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// live is each kind of formatting that mrkdwn has, and what calls people there.
const live = "*x* _y_ `z` :fire: > q ~s~ <!here> <@U0BOB> &amp; snake_case"

// posted is what a workspace makes of an incident's message. Nothing in it may call anybody or be a link.
func posted(t *testing.T, inc incident.Incident) fakeslack.Message {
	t.Helper()
	s := newValidator(t)
	v := Render(inc, ViewOptions{})
	m, ok := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", v.Text, v.Blocks))
	if !ok {
		t.Fatal("the message is not there")
	}
	if calls := s.s.LiveMentions(); len(calls) > 0 {
		t.Errorf("live: %v", calls)
	}
	found, emoji := mrkdwnOf(t, v.Blocks)
	for _, text := range found {
		if strings.Contains(text, "snake_case") {
			t.Errorf("the words of others are in mrkdwn: %q", text)
		}
	}
	if emoji {
		t.Error("a plain text takes :names: for emoji")
	}
	return m
}

// What a rule says of an alert is shown, and copied, as it was written.
func TestAlertsAreShownWithTheirOwnCharacters(t *testing.T) {
	t.Parallel()
	a := alertOf("vLLM_"+live, "*page*", "")
	a.Annotations = map[string]string{"summary": "S " + live}
	a.Labels["pod"] = "`p` " + live
	second := alertOf("vLLMQueueBacklog", "warning", "")
	second.Annotations = map[string]string{"description": "D " + live}
	inc := asked(t, incident.ModeApprove).inc
	inc.Diagnosis, inc.Plan, inc.Readings = nil, nil, nil
	inc.Alerts = []incident.Alert{a, second}
	for name, change := range map[string]func(*incident.Incident){
		"received":           func(i *incident.Incident) { i.State = incident.StateReceived },
		"watching":           func(i *incident.Incident) { i.State = incident.StateWatching },
		"without a pool":     func(i *incident.Incident) { i.State, i.Pool = incident.StateWatching, "" },
		"closed, unrouted":   func(i *incident.Incident) { i.State, i.Pool = incident.StateClosed, "" },
		"what is unreadable": func(i *incident.Incident) { i.State, i.Cluster.Error = incident.StateWatching, "E "+live },
	} {
		inc := inc.Clone()
		change(&inc)
		text := posted(t, inc).VisibleText()
		want := []string{"• vLLM_" + live[:10], "(*page*): S " + live, "• vLLMQueueBacklog (warning): D " + live}
		if inc.Pool == "" {
			want = append(want, "pod=`p` "+live)
		}
		if inc.Cluster.Error != "" {
			want = append(want, "⚠️ Kubernetes could not be read: E "+live)
		}
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%s", name, w, text)
			}
		}
	}
}

// A reason that somebody typed stands in the thread as it was typed; who it was is the only one who is named live.
func TestAReasonInTheThreadHasItsOwnCharacters(t *testing.T) {
	t.Parallel()
	s := newValidator(t)
	parent := s.send("chat.postMessage", "", "", "parent", nil)
	e := incident.Entry{Seq: 3, Said: incident.Note{
		Kind: incident.NoteDenied, By: incident.Actor{Kind: incident.ActorSlack, ID: "U0ALICE"}, Step: "Scale *2*",
		Why: live, Config: "a: |\n  ```\n  *b* <!here>",
	}}
	blocks, text := renderEntry(incident.Incident{ID: "inc-abc", DryRun: true}, e)
	m, _ := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", parent, text, blocks))
	want := "🧪 @U0ALICE denied: Scale *2*. Reason: " + live + "\na: |\n  ```\n  *b* <!here>"
	if got := m.VisibleText(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	mustBeTame(t, s.s)
	if n := len(s.s.LiveMentions()); n != 1 {
		t.Errorf("%d are live, want the one who denied it", n)
	}
	// Mentions notify as they always did, so an entry that calls people is in mrkdwn, with characters that look alike.
	e.Mention = []string{"U0BOB"}
	blocks, _ = renderEntry(incident.Incident{ID: "inc-abc"}, e)
	found, _ := mrkdwnOf(t, blocks)
	if len(found) != 1 || !strings.HasPrefix(found[0], "<@U0BOB> <@U0ALICE> denied: Scale ∗2∗.") {
		t.Errorf("mrkdwn = %q", found)
	}
}

// What others say in the details stands in no mrkdwn, and neither does what is folded.
func TestTheDetailsAndTheFoldHaveTheCharactersOfOthers(t *testing.T) {
	t.Parallel()
	inc := asked(t, incident.ModeApprove, batchStep()).inc
	inc.Diagnosis.Summary, inc.Diagnosis.Unusual = "S "+live, []string{"U " + live}
	inc.Diagnosis.Skipped = []string{"K " + live}
	inc.Diagnosis.Never = []incident.Never{{Why: "N " + live}}
	inc.Others = append(inc.Others, incident.Other{Name: "other", Verdict: incident.Undecided, Why: "O " + live})
	step := &inc.Plan.Steps[0]
	step.Why, step.Diff = "W "+live, "- `a`\n+ ```b"
	step.Guardrails = append(step.Guardrails,
		incident.Guardrail{Name: "_g_", Verdict: incident.GuardPass, Reason: "G " + live})
	s := newValidator(t)
	blocks, text := renderDetails(inc, incident.Actor{Kind: incident.ActorSlack, ID: "U0ALICE"}, ViewOptions{})
	m, _ := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", text, blocks))
	for _, want := range []string{
		"\nS " + live, "• U " + live, "• K " + live, "N " + live, "(O " + live + ")", "\nW " + live, "✓ _g_: G " + live,
		"- `a`\n+ ```b",
	} {
		if !strings.Contains(m.VisibleText(), want) {
			t.Errorf("no %q in\n%s", want, m.VisibleText())
		}
	}
	v := Render(inc, ViewOptions{})
	m, _ = s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", v.Text, v.Blocks))
	for _, want := range []string{"Skipped K " + live, "✓ G " + live} {
		if !strings.Contains(m.VisibleText(), want) {
			t.Errorf("no %q in\n%s", want, m.VisibleText())
		}
	}
	mustBeTame(t, s.s)
}

func TestPreformattedTextKeepsEveryCharacterAndCountsTheLinesThatAreLeftOut(t *testing.T) {
	t.Parallel()
	lines := func(elements []slackgo.RichTextElement) string {
		var out []string
		for _, e := range elements {
			out = append(out, richTexts(e)...)
		}
		return strings.Join(out, "|")
	}
	if got, want := lines(preformatted("\na\n```\n<!channel>\nb\nc", 3, 100)),
		"a\n```\n<!channel>|…and 2 more lines"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := lines(preformatted(strings.Repeat("x", 50), 3, 10)); got != "xxxxxxxxx…" {
		t.Errorf("too long: %q", got)
	}
	for _, nothing := range [][]slackgo.RichTextElement{
		preformatted("\n \n", 3, 100), preformatted("a", 0, 100), richBullets(nil, 3), richBullets([]richLine{{}}, 3),
	} {
		if len(nothing) != 0 {
			t.Errorf("Slack refuses what has no text: %v", nothing)
		}
	}
	three := []richLine{richLine{}.with("a", nil), richLine{}.with("b", asBold), {}, richLine{}.with("c", asCode)}
	if got := lines(richBullets(three, 2)); got != "• a|• b|…and 1 more" {
		t.Errorf("bullets: %q", got)
	}
}

func TestASentenceOfValuesIsCutBetweenOrWithinThem(t *testing.T) {
	t.Parallel()
	spans := []present.Span{
		{Text: "Asked ", Strong: true},
		{Person: incident.Actor{Kind: incident.ActorSlack, ID: "U0ALICE"}},
		{Text: " at "},
		{At: start},
		{Text: ": *x*. "},
		{Person: incident.Actor{Kind: incident.ActorKubernetes, ID: "<@U0BOB>"}},
		{At: time.Unix(-5, 0)},
	}
	for most, want := range map[int]string{
		200: "Asked <@U0ALICE> at 03:10 UTC: *x*. <@U0BOB>23:59 UTC", 30: "Asked <@U0ALICE> at 03:10 UTC: *…",
		20: "Asked <@U0ALICE> at …", 8: "Asked …", 4: "Ask…", 1: "…",
	} {
		line := richSentence(spans, most)
		if got := strings.Join(richTexts(slackgo.NewRichTextSection(line...)), ""); got != want {
			t.Errorf("%d: %q, want %q", most, got, want)
		}
		for _, e := range line {
			if user, ok := e.(*slackgo.RichTextSectionUserElement); ok && user.UserID != "U0ALICE" {
				t.Errorf("%d: calls %s", most, user.UserID)
			}
		}
	}
}

// Whatever others write is in a text of the list and the thread as it is, apart from line ends and what can't be seen.
func FuzzRichText(f *testing.F) {
	for _, s := range append(nasty, live) {
		f.Add(s, s)
		f.Add("x", s)
	}
	f.Fuzz(func(t *testing.T, name, said string) {
		s := newValidator(t)
		inc := incident.Incident{ID: "inc-abc", State: incident.StateWatching, Alerts: []incident.Alert{{
			Firing: true, Labels: map[string]string{"alertname": name}, Annotations: map[string]string{"summary": said},
		}}}
		v := Render(inc, ViewOptions{})
		m, _ := s.s.Message("C0INCIDENTS", s.send("chat.postMessage", "", "", v.Text, v.Blocks))
		want := "• " + cmp.Or(present.Clip(present.Line(name), 80), "alert without a name")
		if said := present.Clip(present.Line(said), details()[0].text); said != "" {
			want += ": " + said
		}
		if !slices.Contains(strings.Split(m.VisibleText(), "\n"), want) {
			t.Errorf("no line %q in\n%s", want, m.VisibleText())
		}
		note := incident.Note{Kind: incident.NoteDenied, Step: "x", Why: said}
		blocks, text := renderEntry(inc, incident.Entry{Seq: 1, Said: note})
		s.send("chat.postMessage", "", m.TS, text, blocks)
		if plain := present.Line(present.Plain(present.Spans(note))); len(plain) < 1000 {
			if got := strings.Join(texts(View{Blocks: blocks})[1:], "\n"); got != plain {
				t.Errorf("%q stands in the thread as %q", plain, got)
			}
		}
		if live := s.s.LiveMentions(); len(live) > 0 {
			t.Errorf("live: %v", live)
		}
	})
}

// The text of a list counts toward the size of a message, and each level of detail lists what it says.
func TestAlertsKeepToTheirLevelOfDetail(t *testing.T) {
	t.Parallel()
	inc := incident.Incident{ID: "inc-abc"}
	for n := range 30 {
		a := alertOf(fmt.Sprintf("%02d%s", n, strings.Repeat("`", 200)), "warning", strings.Repeat("*", 3000))
		inc.Alerts = append(inc.Alerts, a)
	}
	before := maxTotal
	for level, d := range details() {
		c := &composer{detail: d}
		c.alerts(inc)
		n, err := size(c.blocks)
		if least := d.alerts * (80 + d.text); err != nil || n < least || n > least+d.alerts*220+100 || n > before {
			t.Errorf("level %d: size %d (%v), before %d", level, n, err, before)
		}
		before = n
		lines := texts(View{Blocks: c.blocks})[1:]
		if len(lines) != d.alerts+1 || lines[d.alerts] != present.More(30-d.alerts) {
			t.Errorf("level %d: %d lines, the last is %q", level, len(lines), lines[len(lines)-1])
		}
	}
	mustKeepLimits(t, inc)
}
