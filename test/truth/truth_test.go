package truth

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// recorded are the messages of a file, as the stand-in for Slack has kept them.
func recorded(t *testing.T, file string) (out []Message) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func all(messages []Message) (out []Lie) {
	for _, m := range messages {
		out = append(out, Over(m)...)
	}
	return out
}

func told(lies []Lie, rule, words string) bool {
	return slices.ContainsFunc(lies, func(l Lie) bool { return l.Rule == rule && strings.Contains(l.Words, words) })
}

// Each rule finds a lie of its kind, and only a rule that does is one.
func TestEachRuleFindsItsLies(t *testing.T) {
	t.Parallel()
	caught := map[string]bool{}
	for name, find := range map[string]func(*testing.T, map[string]bool){
		"told before": toldBefore, "read before": readBefore, "deliberate": deliberate, "of an incident": againstIncidents,
	} {
		t.Run(name, func(t *testing.T) { find(t, caught) })
	}
	for _, r := range rules() {
		if !caught[r.name] {
			t.Errorf("no test has a lie against %q", r.name)
		}
	}
}

// toldBefore are versions that were recorded in sandboxes of a commit that told all of this.
func toldBefore(t *testing.T, caught map[string]bool) {
	t.Helper()
	for _, tt := range []struct{ file, rule, words string }{
		{"before/gpu", "fires", `"vLLMHighTPOT and 1 other firing", and the list has as firing [vLLMHighTPOT]`},
		{"before/tour", "answered", "asked about TTFT p95"},
		{"before/tour", "worse", "Queue time p95 2.4 s → 4.84 s"},
		{"before/tour", "planned", "throttle 184 → 129 rolled back"},
		{"before/prompts", "called", "@U0ALICE was called 47s ago"},
		{"before/prompts", "buttons", "has no buttons"},
	} {
		if lies := all(recorded(t, tt.file)); told(lies, tt.rule, tt.words) {
			caught[tt.rule] = true
		} else {
			t.Errorf("%s: no lie %q about %q among %v", tt.file, tt.rule, tt.words, lies)
		}
	}
}

// readBefore is what was read in messages and terminals of before, where no recording has it.
func readBefore(t *testing.T, caught map[string]bool) {
	t.Helper()
	for _, tt := range []struct{ rule, text string }{
		{
			"one cause", "🟠 llama-70b: TPOT p95 442 ms (target 150 ms)\nNo known cause: no diagnosis matches.\n" +
				"Why: One pod, or a few of many, is degraded and the others are healthy.",
		},
		{"fires", "🔴 llama-70b: vLLMHighAbortRate and 3 others firing\n• vLLMHighAbortRate (critical), resolved: many"},
		{"fires", "🟢 llama-70b: healthy, but vLLMGPUCacheFull and 5 others still firing\n• vLLMHighTPOT (warning): slow"},
		{"share", "🔴 llama-70b: Gateway cancels 104% (limit 10%)"},
		{"share", "Failing: 15.2 of 3.6 requests per second"},
		{"enough", "Throttle to 70% of the requests in flight (469 in flight). Sized for the load: at most 471 in flight"},
		{"enough", "Add at least 1 replica. Sized for the load: 372% of what the pool can serve"},
		{
			"limit", "Queue time p95 4.95 s, limit 3.51 s (half of TTFT p95)\n" +
				"Queue time p95 4.95 s → 4.84 s (limit 5 s)",
		},
		{
			"own change", "No known cause: no diagnosis matches.\nscale 2 → 4 (approved by Alice)\n" +
				"11:06 UTC: Deployment llama-70b: Scaled up replica set llama-70b-1 from 2 to 4",
		},
	} {
		if lies := InItself(Version{Text: tt.text}); told(lies, tt.rule, "") {
			caught[tt.rule] = true
		} else {
			t.Errorf("no lie %q in %q: %v", tt.rule, tt.text, lies)
		}
	}
}

// A question that is asked again, with a version without buttons between: a reply in this time may say why, and no
// other reply does.
func TestAReplySaysWhyAQuestionWasGone(t *testing.T) {
	t.Parallel()
	at := func(second int) time.Time { return time.Date(2026, 11, 27, 3, 0, second, 0, time.UTC) }
	for name, tt := range map[string]struct {
		reply string
		said  int
		lie   bool
	}{
		"rolled back by a person": {"Rolling back to 160: Throttle m from 160 to 112 (requested by @U0ALICE).", 11, false},
		"approved":                {"@U0ALICE approved: Throttle m from 160 to 112 parallel requests.", 11, false},
		"a smaller change":        {"@U0ALICE wants 4 instead: Throttle m from 160 to 4.", 11, false},
		"not what was chosen": {
			"Can't use 4, chosen by @U0ALICE: it is less than what runs now.", 11, false,
		},
		"kept":        {"@U0ALICE kept: Throttle m from 160 to 112. It won't be rolled back.", 11, false},
		"asked again": {"@U0ALICE asked again. Investigating.", 11, false},
		"snoozed": {
			"Snoozed by @U0ALICE until Nov 27, 05:00 UTC: this diagnosis isn't asked about on this pool until then.", 11, false,
		},
		"the moment it was asked": {"Approval expired; nothing was changed.", 10, false},
		"before it was asked":     {"Rolled back: m is 160 again.", 9, true},
		"after it came back":      {"Rolled back: m is 160 again.", 13, true},
		"it asks": {
			"@U0ALICE Approval needed by 03:10 UTC: Throttle m from 160 to 112 (denied before).", 11, true,
		},
		"of an alert": {"Resolved: vLLMHighTTFT on m (1 still firing).", 11, true},
	} {
		asks := Version{
			At: at(10), Text: "🔴 m: Requests waiting on each engine 40 (limit 5)\nThrottle to 112.",
			Buttons: []Button{{Text: "Throttle 160 → 112", Action: "approve"}},
		}
		bare, again := asks, asks
		bare.At, bare.Buttons, bare.Text = at(12), nil, "🔴 m: Requests waiting on each engine 40 (limit 5)\nPlan ready."
		again.At = at(13)
		m := Message{
			Versions: []Version{asks, bare, again},
			Thread:   []Version{{At: at(tt.said), Text: tt.reply + "\njournal `7a8413aea1b2`"}},
		}
		if lies := Over(m); told(lies, "buttons", "") != tt.lie {
			t.Errorf("%s: %v", name, lies)
		}
	}
}

// A list that is cut says nothing about what it leaves out.
func TestACutListIsNotHeldAgainstTheHeadline(t *testing.T) {
	t.Parallel()
	text := "🔴 llama-70b: vLLMGPUCacheFull and 2 others firing\n• vLLMGPUCacheFull (critical): full\n"
	if lies := InItself(Version{Text: text + "…and 4 more"}); len(lies) > 0 {
		t.Error(lies)
	}
	if !told(InItself(Version{Text: text}), "fires", "") {
		t.Error("the whole list is not held against it")
	}
}

// deliberate lies are put into the words of a story in which nothing is wrong. Without them it has none.
func deliberate(t *testing.T, caught map[string]bool) {
	t.Helper()
	if lies := all(recorded(t, "now/tour")); len(lies) > 0 {
		t.Fatalf("the story itself: %v", lies)
	}
	version := func(m *Message, head string) *Version {
		n := slices.IndexFunc(m.Versions, func(v Version) bool {
			return strings.Contains(v.headline(), head) && (head != "TTFT p95" || len(v.asked()) > 0)
		})
		if n < 0 {
			t.Fatalf("no version has %q", head)
		}
		return &m.Versions[n]
	}
	edit := func(head, from, to string) func(*Message) {
		return func(m *Message) {
			v := version(m, head)
			text := regexp.MustCompile(from).ReplaceAllString(v.Text, to)
			if text == v.Text {
				t.Fatalf("%q is not in %q", from, v.Text)
			}
			v.Text = text
		}
	}
	for _, tt := range []struct {
		name, rule string
		lie        func(*Message)
	}{
		{"another fires", "fires", edit("vLLMHighTPOT firing", "vLLMHighTPOT firing", "vLLMHighTPOT and 1 other firing")},
		{"a resolved alert fires", "fires", edit("vLLMHighTPOT firing", `\(warning\)`, "(warning), resolved")},
		{"no cause", "one cause", edit("TTFT p95", "Why:", "No known cause.\nWhy:")},
		{"green above trouble", "color", edit("vLLMHighTPOT firing", "^🟠", "🟢")},
		{"red above health", "color", edit("recovered", "^🟢", "🔴")},
		{"more than all", "share", edit("TTFT p95", "Why:", "Rejected 140% of requests\nWhy:")},
		{"two limits", "limit", edit("TTFT p95", "Why:", "TTFT p95 4 s (limit 7 s)\nWhy:")},
		{"the asked metric is left out", "answered", edit("recovered", "TTFT p95", "Prefix hits")},
		{"worse, without a word", "worse", edit("recovered", "TTFT p95", "Queue time p95 1 s → 3 s\nTTFT p95")},
		{"a number that wavers", "number", func(m *Message) {
			v := *version(m, "TTFT p95")
			v.Buttons = slices.Clone(v.Buttons)
			for n, b := range v.Buttons {
				v.Buttons[n].Text = strings.Replace(b.Text, "184 → 129", "184 → 120", 1)
			}
			at := slices.IndexFunc(m.Versions, func(o Version) bool { return len(o.asked()) > 0 })
			m.Versions = slices.Insert(m.Versions, at+1, v)
		}},
		{"buttons that vanish", "buttons", func(m *Message) {
			v := *version(m, "TTFT p95")
			bare := v
			bare.Text, bare.Buttons = v.headline()+"\nPlan ready. Checking who has to look at it.", nil
			at := slices.IndexFunc(m.Versions, func(o Version) bool { return len(o.asked()) > 0 })
			m.Versions = slices.Insert(m.Versions, at+1, bare, v)
		}},
		{"called twice", "called", func(m *Message) {
			n := slices.IndexFunc(m.Thread, func(v Version) bool { return calls.MatchString(v.Text) })
			again := m.Thread[n]
			again.At = again.At.Add(time.Minute)
			m.Thread = slices.Insert(m.Thread, n+1, again)
		}},
		{"a planned revert is a rollback", "planned", func(m *Message) {
			v := version(m, "reverting throttle")
			v.Text = "🔴 llama-70b: throttle 184 → 129 rolled back\nInvestigating again."
		}},
		{"the button of what was rolled back", "tried", func(m *Message) {
			v := version(m, "TTFT p95")
			v.Text += "\nThrottle 184 → 129 (approved by Alice): worse, rolled back to 184"
		}},
	} {
		m := recorded(t, "now/tour")[0]
		tt.lie(&m)
		if lies := Over(m); told(lies, tt.rule, "") {
			caught[tt.rule] = true
		} else {
			t.Errorf("%s: no lie %q among %v", tt.name, tt.rule, lies)
		}
	}
}

// againstIncidents are lies that only the incident knows.
func againstIncidents(t *testing.T, caught map[string]bool) {
	t.Helper()
	at := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	ttft := incident.Reading{
		Signal: incident.SignalTTFT, Title: "TTFT p95", Value: new(4.61), Threshold: new(2.0), Unit: incident.UnitSeconds,
		Direction: incident.HigherIsWorse, ThresholdFrom: incident.OriginSLO,
	}
	count := func(n float64) incident.Reading { return incident.Reading{Value: new(n), Unit: incident.UnitCount} }
	inc := incident.Incident{
		Pool: "llama-70b", State: incident.StateDeciding, Readings: map[string]incident.Reading{
			incident.SignalTTFT: ttft, "in_flight": count(469),
		},
		Alerts: []incident.Alert{
			{Labels: map[string]string{"alertname": "vLLMHighTTFT"}, Firing: true},
			{Labels: map[string]string{"alertname": "vLLMHighTPOT"}},
		},
	}
	healthy := inc
	healthy.State, healthy.HealthySince = incident.StateWatching, at
	throttled := inc
	throttled.Plan = &incident.Plan{Steps: []incident.Step{{
		Kind: incident.StepThrottle, State: incident.StepProposed, From: incident.Set("512"), To: incident.Set("471"),
	}}}
	for _, tt := range []struct {
		name, rule string
		inc        incident.Incident
		v          Version
	}{
		{"true", "", inc, Version{Text: "🔴 llama-70b: TTFT p95 4.61 s (target 2 s)"}},
		{"true of alerts", "", inc, Version{Text: "🔴 llama-70b: vLLMHighTTFT firing"}},
		{"an old value", "now", inc, Version{Text: "🔴 llama-70b: TTFT p95 7.2 s (target 2 s)"}},
		{"an old value, pushed", "now", inc, Version{Push: "llama-70b: TTFT p95 7.2 s (target 2 s). Approve"}},
		{"a resolved alert", "fires", inc, Version{Text: "🔴 llama-70b: vLLMHighTPOT firing"}},
		{"too many", "fires", inc, Version{Push: "llama-70b: vLLMHighTTFT and 1 other firing"}},
		{"green without health", "color", inc, Version{Text: "🟢 llama-70b: recovered"}},
		{"red in health", "color", healthy, Version{Text: "🔴 llama-70b: vLLMHighTTFT firing"}},
		{"the alert that fires is left out", "still firing", healthy, Version{Text: "🟢 llama-70b: recovered after throttle"}},
		{"a reading of before", "before", inc, Version{Text: "Why: slow.\nTTFT p95 7.2 s (target 2 s)"}},
		{
			"a reading of before, told so", "", inc,
			Version{Text: "Cause before the change: slow.\nTTFT p95 7.2 s (target 2 s)"},
		},
		{"a throttle above the load", "enough", throttled, Version{Text: "🔴 llama-70b: TTFT p95 4.61 s (target 2 s)"}},
	} {
		lies := Of(tt.inc, tt.v)
		if tt.rule == "" && len(lies) > 0 || tt.rule != "" && !told(lies, tt.rule, "") {
			t.Errorf("%s: %v, want %q", tt.name, lies, tt.rule)
		}
		caught[tt.rule] = true
	}
}

// docs/truth.md has each rule once.
func TestTheRulesAreDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/truth.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\| ([a-z][a-z ]*) \| (?:version|incident|course|version, incident) \| [a-z, ]+ \| `).
		FindAllStringSubmatch(string(text), -1)
	var described, have []string
	for _, m := range rows {
		described = append(described, m[1])
	}
	for _, r := range rules() {
		have = append(have, r.name)
	}
	slices.Sort(described)
	slices.Sort(have)
	described = slices.DeleteFunc(described, func(s string) bool { return s == "rule" })
	if !slices.Equal(described, have) {
		t.Errorf("described are %q, and there are %q", described, have)
	}
}
