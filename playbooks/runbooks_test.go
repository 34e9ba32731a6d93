package playbooks_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/playbooks"
)

// A runbook begins with what to do: the section between its alerts and the rest is what the playbook says. It is
// written by this test with -update.
func TestRunbooksBeginWithWhatToDo(t *testing.T) {
	t.Parallel()
	byDoc := map[string][]playbooks.Answer{}
	for _, a := range builtin(t, playbooks.Options{}).Answers() {
		byDoc[a.Doc] = append(byDoc[a.Doc], a)
	}
	for doc, answers := range byDoc {
		path := filepath.Join("..", doc)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := doNowSection.FindString(string(raw)), doNowSection.MatchString(string(raw))
		if !ok {
			t.Errorf("%s has no section between its alerts and what it means", doc)
			continue
		}
		want := doNow(answers)
		if *update {
			text := strings.Replace(string(raw), got, want, 1)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s is not what its playbook says (-want +got); run this test with -update:\n%s", doc, diff)
		}
	}
}

// doNowSection is all between the alerts of a runbook and its first own section.
var doNowSection = regexp.MustCompile(`(?s)\n(?:## Do now\n.*?)?## What it means\n`)

// doNow is the section for the diagnoses of a playbook.
func doNow(answers []playbooks.Answer) string {
	var b strings.Builder
	b.WriteString("\n## Do now\n\n")
	for _, a := range answers {
		head := "`" + a.Diagnosis + "`: "
		switch {
		case len(a.Kinds) > 0:
			head += "the bot proposes `" + strings.Join(a.Kinds, "`, then `") + "`."
		case a.NoAction != "":
			head += "nothing; " + strings.TrimSuffix(strings.TrimSpace(a.NoAction), ".") + "."
		default:
			head += "manual steps only."
		}
		b.WriteString(wrapped(head) + "\n\n")
		var shown [][]string
		for _, m := range a.Manual {
			begins := func(o []string) bool {
				return len(o) >= len(m.Commands) && slices.Equal(o[:len(m.Commands)], m.Commands)
			}
			if len(m.Commands) == 0 || slices.ContainsFunc(shown, begins) {
				continue
			}
			shown = append(shown, m.Commands)
			b.WriteString(wrapped(lead(m.Advice)) + "\n\n```\n")
			for _, line := range m.Commands {
				b.WriteString(braces.ReplaceAllString(line, "<$1>") + "\n")
			}
			b.WriteString("```\n\n")
		}
	}
	return b.String() + "## What it means\n"
}

// withReadings are brackets in which a reading stands.
var withReadings = regexp.MustCompile(`\s\([^()]*\{[^()]*\)`)

var braces = regexp.MustCompile(`\{(\w+)\}`)

// lead is the first sentence of an advice that needs no reading.
func lead(advice string) string {
	advice = withReadings.ReplaceAllString(strings.Join(strings.Fields(advice), " "), "")
	for _, s := range strings.SplitAfter(advice, ". ") {
		if rest, ok := strings.CutPrefix(s, "Plan for later: "); ok {
			s = strings.ToUpper(rest[:1]) + rest[1:]
		}
		s, _, _ = strings.Cut(strings.TrimSpace(s), ": ")
		if !strings.ContainsAny(s, "{}") {
			return strings.TrimSuffix(s, ".") + ":"
		}
	}
	return "To look at it:"
}

func wrapped(text string) string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > 118 {
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return strings.Join(append(lines, line), "\n")
}
