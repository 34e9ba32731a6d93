package truth

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Version is what a person read at one time.
type Version struct {
	At time.Time `json:"at"`
	// Push is the notification; empty where there is none.
	Push string `json:"push"`
	// Text is all that can be read, a line for each part. Marks of bold text don't count.
	Text string `json:"text"`
	// Past is what it says of before: the timeline of a page, the journal on a terminal.
	Past    string   `json:"past,omitempty"`
	Buttons []Button `json:"buttons,omitempty"`
}

// Button is one that can be pressed. Style is "primary" for the one that stands out.
type Button struct {
	Text   string `json:"text"`
	Action string `json:"action"`
	Style  string `json:"style,omitempty"`
}

// Message is all that a message said, and the lines of its thread, each the oldest first. The notifications of the
// thread are calls where they mention somebody.
type Message struct {
	Versions []Version `json:"versions"`
	Thread   []Version `json:"thread,omitempty"`
}

// Lie is words that can't be true, by the rule that they break.
type Lie struct {
	Rule  string
	Words string
}

// String is "fires: vLLMHighTTFT and 1 other firing: ...".
func (l Lie) String() string { return l.Rule + ": " + l.Words }

// Of holds one version against itself and against its incident.
func Of(inc incident.Incident, v Version) []Lie {
	out := InItself(v)
	for _, r := range rules() {
		if r.of != nil {
			out = append(out, r.broken(r.of(inc, v.plain()))...)
		}
	}
	return out
}

// InItself holds one version against itself.
func InItself(v Version) (out []Lie) {
	for _, r := range rules() {
		if r.in != nil {
			out = append(out, r.broken(r.in(v.plain()))...)
		}
	}
	return out
}

// Over holds all that a message said against itself and against what it said before.
func Over(m Message) (out []Lie) {
	plain := Message{Versions: slices.Clone(m.Versions), Thread: slices.Clone(m.Thread)}
	for n, v := range m.Versions {
		out = append(out, InItself(v)...)
		plain.Versions[n] = v.plain()
	}
	for n, v := range m.Thread {
		plain.Thread[n] = v.plain()
	}
	for _, r := range rules() {
		if r.over != nil {
			out = append(out, r.broken(r.over(plain))...)
		}
	}
	return out
}

// rule is one of the rules, with what it takes: a version alone, one with its incident, or all of a message. Each
// returns the words that break it, and is named and explained in docs/truth.md.
type rule struct {
	name string
	in   func(Version) []string
	of   func(incident.Incident, Version) []string
	over func(Message) []string
}

func (r rule) broken(words []string) (out []Lie) {
	for _, w := range words {
		out = append(out, Lie{Rule: r.name, Words: w})
	}
	return out
}

var emphasis = strings.NewReplacer("*", "", "`", "")

func (v Version) plain() Version {
	v.Text, v.Push = emphasis.Replace(v.Text), emphasis.Replace(v.Push)
	return v
}

// headline is the first line without its sign.
func (v Version) headline() string {
	first, _, _ := strings.Cut(v.Text, "\n")
	return strings.TrimSpace(strings.TrimLeft(first, signs))
}

// The signs of a headline, and what each stands for.
const (
	green = "🟢"
	signs = "🔴🟠🟡🟢✅⚪⚫🧪🔵 "
)

func (v Version) isGreen() bool {
	return strings.HasPrefix(v.Text, green) || strings.HasPrefix(v.Text, "✅")
}

// asked are the buttons that approve something, as "Throttle 184 → 129".
func (v Version) asked() (out []Button) {
	for _, b := range v.Buttons {
		if strings.HasPrefix(b.Action, "approve") || strings.HasPrefix(b.Action, "confirm") {
			out = append(out, b)
		}
	}
	return out
}

var turned = regexp.MustCompile(`^(?:Dry-run |\[DRILL\] )*(\w+)[^\d]*([\d,]+) → ([\d,]+)`)

// question is a change that a button would make: "Throttle" from "184" to "129".
type question struct {
	verb     string
	from, to float64
}

func (b Button) question() (question, bool) {
	m := turned.FindStringSubmatch(b.Text)
	if m == nil {
		return question{}, false
	}
	return question{strings.ToLower(m[1]), number(m[2]), number(m[3])}, true
}
