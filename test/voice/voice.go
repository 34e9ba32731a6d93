// Package voice holds what nothing that a person reads may say, and finds it. The texts of Slack, the pages, the
// terminal and the documents are held against one list, so that a word which has gone from one of them does not stay in
// another.
package voice

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Finding is a place in a text that does not keep to the voice.
type Finding struct {
	// Line counts from 1.
	Line int
	// Found is what the text says there, Instead what to write.
	Found, Instead string
}

// String is "line 3: \"mistake\": write error".
func (f Finding) String() string { return fmt.Sprintf("line %d: %q: %s", f.Line, f.Found, f.Instead) }

// rule is a pattern that must not match, and what to do about it.
type rule struct {
	pattern *regexp.Regexp
	instead string
}

// idiom is a rule for whole words, in any case.
func idiom(words, instead string) rule {
	return rule{regexp.MustCompile(`(?i)\b(?:` + words + `)\b`), "write " + instead}
}

// idioms are words and phrases that nobody else in the field uses.
var idioms = []rule{
	idiom(`mistakes?`, `"error"`),
	idiom(`(?:is|are) sound`, `"valid" or "OK"`),
	idiom(`beware`, `"Warning"`),
	idiom(`stands`, `what it is: "is active", "appears", "is in place"`),
	idiom(`stop-?gaps?`, `"mitigation" or "temporary"`),
	idiom(`no answer means no|that means no`, `"if no one responds, nothing changes"`),
	idiom(`(?:not )?for (?:a person|you)(?: to do)?\)`, `"manual"`),
	idiom(`for a person`, `"manual" or "for a human"`),
	idiom(`(?:a|the) person must`, `"Needs a human."`),
	idiom(`nobody decided`, `"approval expired"`),
	idiom(`not asked for now|asks? nothing`, `"on hold" or "no action needed"`),
	idiom(`nothing (?:is|more is) asked`, `"no further proposals"`),
	idiom(`way back`, `"rollback" or "undo"`),
	idiom(`(?:takes?|taken) back`, `"reverts" or "rolled back"`),
	idiom(`told by`, `"detected by"`),
	idiom(`the outside|nothing outside`, `"external systems"`),
	idiom(`nothing (?:can be|is) turned|knobs? (?:is|are|was|were) turned`, `"applied" or "changed"`),
	idiom(`overtaken`, `"superseded" or "no longer needed"`),
	idiom(`cannot be told`, `"unknown" or "undecided"`),
	idiom(`as the rule demands`, `"needs"`),
	idiom(`also holds`, `"also seen"`),
	idiom(`at the last look|I look|one more look`, `"as of" or "check"`),
	idiom(`alert joined`, `"also firing"`),
	idiom(`alertmanager says`, `"resolved"`),
	idiom(`the metrics decide`, `"waiting for metrics to confirm"`),
	idiom(`gone on there`, `"moved to"`),
	idiom(`through the same door`, `"the same channel"`),
	idiom(`takes? nobody's word`, `"refuses"`),
	idiom(`nobody (?:asks?|knows|tells?|says?|feels)`, `"no requests" or "unknown"`),
	idiom(`somebody(?: else)?`, `"someone"`),
	idiom(`(?:is|are|was|were) told`, `"reported", "detected" or "notified"`),
	idiom(`(?:go|goes|gone|went) on`, `"continues"`),
	idiom(`beside`, `"in addition to", "besides" or "next to"`),
	idiom(`by (?:itself|themselves)`, `"automatically" or "on its own"`),
	idiom(`looked at`, `"checked"`),
	idiom(`weighed`, `"evaluated"`),
	idiom(`(?:thrown?|throws|throwing) (?:\w+ )?out`, `"preempted" or "rejected"`),
	idiom(`in place of`, `"instead of"`),
	idiom(`all the same`, `"anyway"`),
	idiom(`lately`, `"recently"`),
	idiom(`anew`, `"again" or "restarts"`),
	idiom(`for ever`, `"never" or "forever"`),
	idiom(`look again`, `"check again"`),
	idiom(`holds? too`, `"also true"`),
	idiom(`(?:it|trouble) is over`, `"recovered" or "closed"`),
	idiom(`clients? (?:that|who) (?:goes|go|went) away`, `"disconnect"`),
	idiom(`(?:first )?tokens? (?:come|comes|came) late`, `"TTFT is high" or "TPOT is high"`),
	idiom(`half again as`, `"50% more"`),
	idiom(`on each engine`, `"per engine"`),
	idiom(`starting values, not truths`, `"starting values"`),
	{
		regexp.MustCompile(`(?:^|[^\w/&'’.-])I(?: [a-z]|['’](?:m|ll|ve|d)\b)`),
		`name the bot, or leave the subject out: "Monitoring."`,
	},
}

// formal are phrases that a document must not use. A message may: it quotes the reasons that people give.
var formal = []rule{
	idiom(`by hand`, `"manually" or "manual"`),
	idiom(`nothing is to be done`, `"no action needed"`),
	idiom(`of before|present (?:value|limit|one)`, `"previous" or "current"`),
	idiom(`people who serve`, `"teams that run"`),
}

// spellings are those of British English, and a possessive that only grammar books know.
var spellings = []rule{
	idiom(`utilis\w+|organis\w+|recognis\w+|summaris\w+|neighbours?|behaviours?|(?:re)?labell\w+|cancell(?:ed|ing)`,
		"the US spelling"),
	idiom(`time-outs?`, `"timeout"`),
	{regexp.MustCompile(`(?:^|[^'’\w])Prometheus['’](?:\s|$)`), `write "Prometheus's"`},
}

// figures are notations that are for machines.
var figures = []rule{
	{
		regexp.MustCompile(`\b\d+h(?:\d+m)?(?:\d+(?:\.\d+)?s)\b|\b\d+m\d+(?:\.\d+)?s\b`),
		`write the duration as people do: "10 min"`,
	},
	{regexp.MustCompile(`\d[\s\x{a0}]+%(?:$|[^\w%])`), `write the percentage without a space: "97%"`},
	{regexp.MustCompile(`[^./\s]\.\.(?:$|[^./\w{])`), "end the sentence once"},
}

// inside are a playbook's expressions and the names by which the code knows steps and diagnoses.
var inside = []rule{
	{regexp.MustCompile(`\bp\d+-s\d+\b`), "call the step by its title"},
	{
		regexp.MustCompile(`\bsignals(?:\.\w+|\[)|&&|\|\||\w\)? (?:==|!=|>=|<=) \S`),
		"say what the rule means, not its source",
	},
	{regexp.MustCompile(`(?i)\b(?:higher|lower)_is_worse\b|\bno_data\b|\bat_(?:least|most)\b`), "use words"},
}

// Prose finds what no text for people may say, documents included.
func Prose(text string) []Finding { return find(text, idioms, formal, spellings, figures) }

// Message finds what no message may say: the idioms that Prose finds, the source of a rule, and names that only the
// code knows. internal are more of these names: of diagnoses and signals, as playbooks call them.
func Message(text string, internal ...string) []Finding {
	found := find(text, idioms, spellings, figures, inside)
	for _, name := range internal {
		if !strings.ContainsAny(name, "_-") || !strings.Contains(text, name) {
			continue // a name of one word is a word
		}
		named := rule{regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`), "use its title"}
		found = append(found, find(text, []rule{named})...)
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return a.Line - b.Line })
	return found
}

func find(text string, lists ...[]rule) []Finding {
	var out []Finding
	for n, line := range strings.Split(text, "\n") {
		for _, list := range lists {
			for _, r := range list {
				for _, hit := range r.pattern.FindAllString(line, -1) {
					out = append(out, Finding{Line: n + 1, Found: strings.TrimSpace(hit), Instead: r.instead})
				}
			}
		}
	}
	return out
}

// Check fails the test for each finding, with the name of the text.
func Check(t testing.TB, name string, found []Finding) {
	t.Helper()
	for _, f := range found {
		t.Errorf("%s: %s", name, f)
	}
}
