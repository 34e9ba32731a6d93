package slack

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// A signal is named once, with the limit that a person compares it with, and not again what the headline says.
func TestTheCauseHasEachReadingOnce(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Diagnosis.Evidence = append(inc.Diagnosis.Evidence, incident.Condition{
		Text: "waiting > 0.5 * limit", Truth: incident.True, Signal: "waiting", Label: "Waiting", Seen: "41",
		Relation: incident.RelationAbove, Threshold: "19.5 (50% of what runs)",
	})
	got := (&composer{detail: details()[0]}).numbers(inc)
	if want := "KV cache *97%* (limit 90%)  ·  Waiting *41* (limit 10)  ·  pods 2 of 2 ready"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	inc.Diagnosis.Evidence = inc.Diagnosis.Evidence[2:3]
	if got := (&composer{detail: details()[0]}).numbers(inc); !strings.HasPrefix(got, "TTFT p95 *7.2 s* (target 2 s)") {
		t.Errorf("the only reading is left out: %s", got)
	}
}

// What must not be zero and is has no limit that says more.
func TestWhatIsNotThereAtAllIsSaidInAWord(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	tokens := incident.Condition{
		Text: "tokens <= 0", Truth: incident.True, Signal: "tokens", Label: "Output tokens",
		Relation: incident.RelationAtMost, Threshold: "0/s",
	}
	inc.Diagnosis.Evidence = []incident.Condition{tokens}
	for want, r := range map[string]incident.Reading{
		"Output tokens: *none*": {Value: new(0.0), Threshold: new(0.0)},
		// Of another rule, or not quite none: the numbers say it.
		"Output tokens *0/s* (≤ 0/s)":               {Value: new(0.0), Threshold: new(5.0)},
		"Output tokens *≤ 0/s* (limit &gt; 0/s)":    {Value: new(0.0), Threshold: new(0.0), Bound: incident.AtMost},
		"Output tokens *no data* (limit &gt; 0/s)":  {Threshold: new(0.0)},
		"Output tokens *-0.5/s* (limit &gt; 0/s)":   {Value: new(-0.5), Threshold: new(0.0)},
		"Output tokens *error: x* (limit &gt; 0/s)": {Value: new(0.0), Threshold: new(0.0), Error: "x"},
	} {
		r.Unit, r.Direction = incident.UnitPerSecond, incident.LowerIsWorse
		inc.Readings["tokens"] = r
		if got := (&composer{detail: details()[0]}).numbers(inc); got != want+"  ·  pods 2 of 2 ready" {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// Nothing could be read: the headline says that there is no diagnosis, the alerts are listed once, and a list of all
// causes would say nothing.
func TestNothingReadIsSaidOnce(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.State, inc.Plan, inc.Diagnosis = incident.StateWatching, nil, nil
	inc.Others = []incident.Other{{Name: "queueing", Verdict: incident.Undecided}}
	for name, r := range inc.Readings {
		r.Value, r.Error = nil, "connection refused"
		inc.Readings[name] = r
	}
	inc.Readings["own_changes"] = incident.Reading{Value: new(1.0)}
	text := shownText(Render(inc, links))
	for said, want := range map[string]int{
		"no diagnosis": 1, "Still checking": 1, "connection refused": 1, "vLLMHighTTFT": 2, "vLLMQueueBacklog": 1,
	} {
		if n := strings.Count(strings.ToLower(text), strings.ToLower(said)); n != want {
			t.Errorf("%q is said %d times, want %d", said, n, want)
		}
	}
	if strings.Contains(text, "Can't rule out") {
		t.Error("what can't be ruled out is listed, and that is everything")
	}
	if t.Failed() {
		t.Log(text)
	}
	inc.Readings["busy"] = incident.Reading{Value: new(1.0), Query: "up"} // with one there is something to say
	if text := shownText(Render(inc, links)); !strings.Contains(text, "Can't rule out: queueing") {
		t.Errorf("what can't be ruled out is left out:\n%s", text)
	}
}

// What it may be instead is said with what decides, once, and as long as the diagnosis is what the incident is about.
func TestTheMessageSaysWhatItMayBeInstead(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	hits := incident.Condition{Label: "Prefix hit rate", Signal: "prefix_hit_rate", Seen: "74%", Threshold: "68%"}
	inc.Diagnosis.Doubts = []incident.Doubt{
		{Kind: incident.DoubtNear, Name: "warming-up", Conditions: []incident.Condition{hits}},
		{Kind: incident.DoubtBoth, Name: "prefill-interference"},
	}
	inc.Others = []incident.Other{
		{Name: "warming-up", Verdict: incident.Undecided}, {Name: "prefill-interference", Verdict: incident.True},
	}
	text := shownText(Render(inc, links))
	for said, want := range map[string]int{
		"Could also be warming up: Prefix hit rate 74%, close to 68%": 1, "warming up": 1,
		"Also seen: prefill interference": 1, "prefill interference": 1,
	} {
		if n := strings.Count(strings.ReplaceAll(text, "*", ""), said); n != want {
			t.Errorf("%q is said %d times, want %d", said, n, want)
		}
	}
	inc.Diagnosis.Doubts = nil
	if sure := shownText(Render(inc, links)); strings.Contains(sure, "Could also be") {
		t.Error("a doubt is told where there is none")
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestOnlyTheFirstSentenceOfACauseIsInTheMessage(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"It is full. So it waits.": "It is full.", "It is full.": "It is full.", "No stop": "No stop",
		"Version v0.9.2 is slow. Yes.": "Version v0.9.2 is slow.", "": "",
	} {
		if got := present.Cause(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestWhatManyPoolsDoNotHaveIsNoGap(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Readings = map[string]incident.Reading{
		"gpu": {Title: "GPU busy", Optional: true}, "queue": {Title: "Queue"},
		"spec": {Title: "Drafts", Optional: true, Error: "timeout"},
	}
	got := strings.Join((&composer{detail: details()[0]}).gaps(inc), "\n")
	if want := "⚠️ No data: Queue\n⚠️ Drafts could not be read: timeout"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Whatever is shown after a change is of after the change, or says that it was before.
func TestNoReadingOfBeforeAChangeIsShownAsAPresentOne(t *testing.T) {
	t.Parallel()
	all := stories(t)
	for _, name := range []string{"10-applying", "11-rollout", "12-settling", "23-undoing", "24-undone"} {
		v := Render(all[name], links)
		if text := shownText(v) + v.Text; strings.Contains(text, "7.2 s") || strings.Contains(text, "97%") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A severity that drops because one of the alerts resolved would look like news. That one fires no more is said.
func TestAResolvedAlertLeavesTheSeverityAndTheHeadline(t *testing.T) {
	t.Parallel()
	s := asked(t, incident.ModeApprove)
	s.inc.Readings, s.inc.Diagnosis = nil, nil
	before := headline(s.inc)
	resolved := alertOf("vLLMHighTTFT", "critical", "")
	resolved.Firing, resolved.EndsAt = false, start.Add(time.Minute)
	s.do(time.Minute, incident.AlertsReceived{Alerts: []incident.Alert{resolved}})
	if after := headline(s.inc); !strings.HasPrefix(before, "🔴 llama-70b: vLLMHighTTFT and 1 other firing") ||
		!strings.HasPrefix(after, "🔴 llama-70b: vLLMQueueBacklog firing") {
		t.Errorf("before %q, after %q", before, after)
	}
}

// The message names what a person must not do, without the reasons: those are in the details. After a step that did
// not help a person thinks of something else to do, so it stays; while it is healthy there is nothing to keep from.
func TestWhatNotToDoIsOneLine(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	want := "⚠️ *Don't* raise `max_num_seqs`, lower `gpu_memory_utilization`, restart pods or raise " +
		"`max_num_batched_tokens`.\n"
	if text := shownText(Render(inc, links)) + "\n"; !strings.Contains(text, want) {
		t.Errorf("got\n%s", text)
	}
	inc.Diagnosis.Never = append(inc.Diagnosis.Never, incident.Never{Change: "lower", Knob: "<!channel> ` x"})
	inc.Diagnosis.Never = inc.Diagnosis.Never[2:]
	text := shownText(Render(inc, links))
	if !strings.Contains(text, "or lower `&lt;!channel&gt; ' x`.") {
		t.Errorf("got\n%s", text)
	}
	for name, change := range map[string]func(*incident.Incident){
		"none":         func(i *incident.Incident) { i.Diagnosis.Never = nil },
		"empty":        func(i *incident.Incident) { i.Diagnosis.Never = []incident.Never{{Why: "because"}} },
		"no diagnosis": func(i *incident.Incident) { i.Diagnosis = nil },
		"healthy":      func(i *incident.Incident) { i.State, i.HealthySince = incident.StateWatching, start },
		"closed":       func(i *incident.Incident) { i.State, i.ClosedAt = incident.StateClosed, start },
	} {
		inc := stories(t)["09-deciding-cautions"].Clone()
		change(&inc)
		if text := shownText(Render(inc, links)); strings.Contains(text, "Don't") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A long message drops what ranks behind first: recent changes go before what not to do, and that is at least counted.
func TestALongMessageDropsChangesThenNevers(t *testing.T) {
	t.Parallel()
	inc := stories(t)["09-deciding-cautions"]
	inc.Cluster.Changes = []incident.RecentChange{
		{At: start.Add(-12 * time.Minute), Object: "Deployment llm/llama-70b", Text: "image"},
	}
	base := inc.Plan.Steps[0]
	inc.Plan.Steps = nil
	for n := range 8 {
		s := base
		s.ID = fmt.Sprintf("p1-s%d", n+1)
		inc.Plan.Steps = append(inc.Plan.Steps, s)
	}
	seen := map[string]bool{}
	for filler := range 400 {
		for n := range inc.Plan.Steps {
			s := &inc.Plan.Steps[n]
			s.Speed, s.Cost, s.Risk = strings.Repeat("s ", filler), strings.Repeat("c ", filler), strings.Repeat("&", 2*filler)
			s.Target.Name, s.Target.Field, s.Target.Setting = strings.Repeat("&", filler), strings.Repeat("f", filler), ""
		}
		inc.Diagnosis.Summary = strings.Repeat("&", filler)
		for n := range inc.Alerts {
			inc.Alerts[n].Annotations = nil
		}
		text := shownText(Render(inc, links))
		changed, never := strings.Contains(text, "🕑"), strings.Contains(text, "⚠️ *Don't*")
		if changed && !never {
			t.Fatalf("filler %d drops what not to do before what changed", filler)
		}
		if !never && !strings.Contains(text, "Changes that make this worse>: 4 on the incident's page.") {
			t.Fatalf("filler %d hides that there is something not to do:\n%s", filler, text)
		}
		seen[fmt.Sprint(changed, never)] = true
	}
	if !seen["true true"] {
		t.Errorf("seen %v", seen)
	}
	for level, want := range []string{"true true", "true true", "false true", "false false", "false false"} {
		c := &composer{opts: links, detail: details()[level]}
		c.draw(inc)
		text := shownText(View{Blocks: c.blocks})
		if got := fmt.Sprint(strings.Contains(text, "🕑"), strings.Contains(text, "⚠️ *Don't*")); got != want {
			t.Errorf("level %d shows changes and nevers: %s, want %s", level, got, want)
		}
	}
}

// A change that the bot made itself is no news, and neither is one of yesterday.
func TestOnlyForeignChangesOfTheLastHoursAreNamed(t *testing.T) {
	t.Parallel()
	inc := stories(t)["04-deciding"]
	inc.Cluster.Changes = []incident.RecentChange{
		{At: start.Add(-time.Minute), Object: "Deployment own", Text: "scaled", Own: true},
		{At: start.Add(-5 * time.Minute), Object: "Deployment <b>", Text: "image <!here>"},
		{At: start.Add(-26 * time.Hour), Object: "Deployment old", Text: "image"},
	}
	text := shownText(Render(inc, links))
	if strings.Count(text, "🕑") != 1 || !strings.Contains(text, "Deployment &lt;b&gt;: image &lt;!here&gt;") {
		t.Errorf("got\n%s", text)
	}
}
