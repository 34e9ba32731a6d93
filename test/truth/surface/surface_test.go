package surface

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/truth"
)

// recorded is a page, or what a terminal has shown, of an incident from the question to the recovery.
func recorded(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// asked is what the incident was when it was recorded with a question, mended when it had recovered.
func asked() incident.Incident {
	read := func(label string, value float64, unit incident.Unit) incident.Reading {
		return incident.Reading{
			Short: label, Value: new(value), Threshold: new(0.5), ThresholdFrom: incident.OriginSLO, Unit: unit,
			Direction: incident.HigherIsWorse,
		}
	}
	fires := func(name string) incident.Alert {
		return incident.Alert{Labels: map[string]string{"alertname": name}, Firing: true}
	}
	return incident.Incident{
		Pool: "llama-70b", State: incident.StateDeciding,
		Alerts: []incident.Alert{fires("vLLMGPUCacheFull"), fires("vLLMHighTTFT")},
		Readings: map[string]incident.Reading{
			"ttft": read("TTFT p95", 9.35, incident.UnitSeconds), "in_flight": read("In flight", 160, incident.UnitCount),
			"kv_usage_peak": read("KV cache peak", 1, incident.UnitRatio),
		},
		Plan: &incident.Plan{Steps: []incident.Step{{
			ID: "p1-s1", Kind: incident.StepThrottle, State: incident.StepProposed, From: incident.Set("160"),
			To: incident.Set("112"),
		}}},
	}
}

func mended() incident.Incident {
	inc := asked()
	inc.State, inc.HealthySince = incident.StateWatching, time.Date(2026, 11, 18, 10, 42, 0, 0, time.UTC)
	inc.Readings, inc.Plan = nil, nil
	return inc
}

// lie is words put into what was recorded, and the rule that they break.
type lie struct {
	rule, file, from, to string
	// of changes the incident instead.
	of func(*incident.Incident)
}

func (l lie) told(t *testing.T, file string) string {
	t.Helper()
	text := recorded(t, file)
	if l.from == "" || file != l.file {
		return text
	}
	out := regexp.MustCompile(l.from).ReplaceAllString(text, l.to)
	if out == text {
		t.Fatalf("%s: %q is not in %s", l.rule, l.from, file)
	}
	return out
}

func (l lie) incident(file string) incident.Incident {
	inc := asked()
	if strings.HasPrefix(file, "mitigated") {
		inc = mended()
	}
	if l.of != nil {
		l.of(&inc)
	}
	return inc
}

const question, recovery = "deciding", "mitigated"

// pageLies are the deliberate lies of pages.
func pageLies() []lie {
	const page = question + ".html"
	const after = recovery + ".html"
	const headline = `TTFT p95 9.35 s \(target 500 ms\)</h1>`
	number := func(inc *incident.Incident, label string, value float64) {
		for name, r := range inc.Readings {
			if r.Short == label {
				r.Value = new(value)
				inc.Readings[name] = r
			}
		}
	}
	return []lie{
		{rule: "fires", file: page, from: headline, to: `vLLMHighTTFT and 3 others firing</h1>`},
		{rule: "fires", file: page, from: headline, to: `VLLMHighTTFT and 1 other firing</h1>`},
		{rule: "one cause", file: page, from: `<h2>Why</h2>`, to: `<p>No known cause: none matches.</p><h2>Why</h2>`},
		{rule: "color", file: page, from: `level-critical`, to: `level-healthy`},
		{rule: "color", file: after, from: `level-healthy`, to: `level-critical`},
		{rule: "now", file: page, of: func(inc *incident.Incident) { number(inc, "TTFT p95", 7) }},
		{rule: "before", file: page, of: func(inc *incident.Incident) { number(inc, "KV cache peak", .8) }},
		{rule: "share", file: page, from: `About half of the requests`, to: `About 140% of the requests`},
		{rule: "share", file: page, from: `(<ol class="timeline" reversed>)`, to: `$1<li>Gateway cancels 104%</li>`},
		{rule: "limit", file: page, from: `(<b class="bad">100%</b> <span class="soft">\(limit) 95%`, to: `$1 60%`},
		{
			rule: "worse", file: after, from: `(<th>After</th><th>Expected</th></tr>)`,
			to: `$1<tr><td>Queue time p95</td><td>1 s</td><td class="bad">3 s</td><td>limit 5 s</td></tr>`,
		},
		{rule: "enough", file: page, of: func(inc *incident.Incident) { number(inc, "In flight", 90) }},
		{
			rule: "own change", file: page, from: `<h2>Why</h2>`, to: `<p>No known cause.</p><p>Scale 2 → 4</p>` +
				`<p>Scaled up replica set llama-70b-1 from 2 to 4</p><h2>Why</h2>`,
		},
		{
			rule: "tried", file: page, from: `<h2>Why</h2>`, to: `<h2>Changes made</h2><section class="box">` +
				`<p>Throttle 160 → 112</p><p>rolled back 10:40</p></section><h2>Why</h2>`,
		},
		{rule: "still firing", file: after, from: `firing`, to: `resolved`},
	}
}

// terminalLies are those of terminals.
func terminalLies() []lie {
	const shown, after = question + ".txt", recovery + ".txt"
	all := []lie{
		{rule: "fires", file: shown, from: `(?m)^  TTFT p95 9.35 s .*$`, to: "  vLLMHighTTFT and 3 others firing"},
		{rule: "fires", file: shown, from: `(?m)^  TTFT p95 9.35 s .*$`, to: "  VLLMHighTTFT and 1 other firing"},
		{rule: "one cause", file: shown, from: `(?m)^  (alerts: .*)$`, to: "  $1\n  No known cause: no diagnosis matches."},
		{rule: "color", file: after, from: `llama-70b  recovered`, to: "llama-70b  monitoring"},
		{rule: "color", file: after, from: `Recovered, temporary throttle in place`, to: "45% of requests are rejected"},
		{rule: "share", file: shown, from: `KV cache peak 100%`, to: "KV cache peak 104%"},
		{rule: "share", file: shown, from: `(?m)^  (journal \(UTC\))$`, to: "  $1\n    10:30:00  Gateway cancels 104%"},
		{rule: "limit", file: shown, from: `KV cache peak 100% \(limit 95%\)`, to: "KV cache peak 100% (limit 60%)"},
		{rule: "worse", file: after, from: `(?m)^  (alerts: .*)$`, to: "  $1\n  Queue time p95 1 s → 3 s"},
		{
			rule: "own change", file: shown, from: `(?m)^  (alerts: .*)$`, to: "  $1\n  No known cause.\n  Scale 2 → 4\n" +
				"  Scaled up replica set llama-70b-1 from 2 to 4",
		},
		{rule: "before", file: after, from: `(?m)^  As diagnosed, .*$`, to: "", of: func(inc *incident.Incident) {
			inc.Readings = map[string]incident.Reading{"kv": {
				Short: "KV cache peak", Value: new(.475), Unit: incident.UnitRatio,
			}}
		}},
		{rule: "still firing", file: after, from: `(?m)^  alerts: .*\n`, to: ""},
	}
	for _, l := range pageLies() { // the incident is the same
		if l.from == "" && l.rule != "before" {
			l.file = shown
			all = append(all, l)
		}
	}
	return all
}

func lies(found []truth.Lie, rule string) bool {
	return slices.ContainsFunc(found, func(l truth.Lie) bool { return l.Rule == rule })
}

// What was recorded is true, and each lie put into it is found.
func TestDeliberateLiesAreFound(t *testing.T) {
	t.Parallel()
	read := map[string]func(text string) truth.Version{
		".html": func(text string) truth.Version {
			v, err := Page(text)
			if err != nil {
				t.Fatal(err)
			}
			return v
		},
		".txt": func(text string) truth.Version {
			for _, v := range Terminal(text) {
				return v
			}
			t.Fatal("nothing is read")
			return truth.Version{}
		},
	}
	for kind, all := range map[string][]lie{".html": pageLies(), ".txt": terminalLies()} {
		for _, name := range []string{question, recovery} {
			v := read[kind](recorded(t, name+kind))
			if found := truth.Of(lie{}.incident(name+kind), v); len(found) > 0 {
				t.Errorf("%s itself: %v\n%s", name+kind, found, v.Text)
			}
		}
		for _, l := range all {
			v := read[kind](l.told(t, l.file))
			if found := truth.Of(l.incident(l.file), v); !lies(found, l.rule) {
				t.Errorf("%s of %s: no lie among %v\n%s", l.rule, l.file, found, v.Text)
			}
		}
	}
}

// courseLies are lies that only the versions of a page together tell.
func courseLies(t *testing.T) map[string]func([]truth.Version) []truth.Version {
	t.Helper()
	replace := func(v *truth.Version, from, to string) {
		t.Helper()
		text := strings.ReplaceAll(v.Text, from, to)
		if text == v.Text {
			t.Fatalf("%q is not in %s", from, v.Text)
		}
		v.Text = text
	}
	return map[string]func([]truth.Version) []truth.Version{
		"answered": func(all []truth.Version) []truth.Version {
			replace(&all[2], "TTFT p95", "Prefix hits")
			return all
		},
		"number": func(all []truth.Version) []truth.Version {
			other := all[0]
			other.Buttons = slices.Clone(other.Buttons)
			other.Buttons[0].Text = strings.Replace(other.Buttons[0].Text, "112", "110", 1)
			return slices.Insert(all, 1, other)
		},
		"buttons": func(all []truth.Version) []truth.Version {
			headline, _, _ := strings.Cut(all[0].Text, "\n")
			return slices.Insert(all, 1, truth.Version{Text: headline + "\nPlan ready."}, all[0])
		},
		"planned": func(all []truth.Version) []truth.Version {
			return append(all, truth.Version{Text: "🔴 llama-70b: throttle 160 → 112 rolled back\nInvestigating again."})
		},
	}
}

func TestLiesOfACourseAreFound(t *testing.T) {
	t.Parallel()
	pages := func() (out []truth.Version) {
		for _, name := range []string{question, "applying", recovery} {
			v, err := Page(recorded(t, name+".html"))
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	if found := truth.Over(truth.Message{Versions: pages()}); len(found) > 0 {
		t.Errorf("the pages themselves: %v", found)
	}
	for rule, lie := range courseLies(t) {
		if found := truth.Over(truth.Message{Versions: lie(pages())}); !lies(found, rule) {
			t.Errorf("no lie %q among %v", rule, found)
		}
	}
}

// Each rule that docs/truth.md holds against pages and terminals has a lie there that it finds.
func TestEachRuleHasALieInEachPlace(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/truth.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]map[string]bool{"page": {}, "terminal": {}}
	for _, l := range pageLies() {
		have["page"][l.rule] = true
	}
	for _, l := range terminalLies() {
		have["terminal"][l.rule] = true
	}
	for rule := range courseLies(t) {
		have["page"][rule] = true
	}
	row := regexp.MustCompile(`(?m)^\| ([a-z][a-z ]*) \| [a-z, ]+ \| ([a-z, ]+) \| `)
	rows := row.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 17 {
		t.Fatalf("docs/truth.md has %d rules", len(rows))
	}
	for _, row := range rows {
		for place, rules := range have {
			if where := slices.Contains(strings.Split(row[2], ", "), place); row[1] != "rule" && where != rules[row[1]] {
				t.Errorf("%s of a %s: documented %t, with a lie %t", row[1], place, where, rules[row[1]])
			}
		}
	}
}

// The list of incidents names what fires, on the page as on a terminal.
func TestAListIsReadLineByLine(t *testing.T) {
	t.Parallel()
	page := List(`<section class="box level-critical"><p><a href="/incidents/inc-1"><strong>llama-70b: VLLMHighTTFT ` +
		`firing</strong></a></p></section><table><tr><td class="name"><a href="/incidents/inc-2">llama-70b</a></td>` +
		`<td>Recovered</td><td><span class="tag healthy">recovered</span></td></tr></table>`)
	if got := page["inc-1"].Text; got != "🔴 llama-70b: VLLMHighTTFT firing" {
		t.Errorf("a card is read as %q", got)
	}
	if got := page["inc-2"].Text; got != "🟢 llama-70b: Recovered\nrecovered" {
		t.Errorf("a row is read as %q", got)
	}
	table := Table("ID     POOL       STATE       SEVERITY  AGE  DIAGNOSIS  ALERTS\n" +
		"inc-1  llama-70b  monitoring  critical  5 s  -          vLLMHighTTFT and 2 more\n")
	if got := table["inc-1"].Text; !strings.HasPrefix(got, "🟠 llama-70b: vLLMHighTTFT and 2 others firing\n") {
		t.Errorf("a line is read as %q", got)
	}
	inc := asked()
	for _, v := range []truth.Version{page["inc-1"], table["inc-1"]} {
		if found := truth.Of(inc, v); !lies(found, "fires") {
			t.Errorf("no lie in %q: %v", v.Text, found)
		}
	}
}
