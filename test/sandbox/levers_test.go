package sandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/process"
)

// row is a lever as docs/sandbox.md describes it: the cause that the bot names, the kind of its first proposal or none,
// and what comes of that.
type row struct{ title, does, cause, proposal, after string }

// described reads the table of the levers that end in a diagnosis.
func described(t *testing.T) (out []row) {
	t.Helper()
	const head = "| lever | what it does | incident after | the cause that the bot names | first proposal | after it |\n"
	for _, cells := range table(t, head) {
		out = append(out, row{title: cells[1], does: cells[2], cause: cells[4], proposal: cells[5], after: cells[6]})
	}
	return out
}

// connections are the levers of the other table, by their titles.
func connections(t *testing.T) (out []string) {
	t.Helper()
	for _, cells := range table(t, "| lever | what it does | what you see |\n") {
		out = append(out, cells[1])
	}
	return out
}

// table reads a table of docs/sandbox.md.
func table(t *testing.T, head string) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), head)
	if !ok {
		t.Fatalf("docs/sandbox.md has no table %q", head)
	}
	for _, line := range strings.Split(table, "\n")[1:] {
		cells := strings.Split(line, "|")
		if len(cells) != strings.Count(head, "|")+1 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, cells)
	}
	return out
}

// verdicts are how the bot begins its verdict on a change, by what the document says.
func verdicts() map[string][]string {
	return map[string][]string{
		"fixed": {"Bot: Fixed: "}, "not fixed": {"Bot: Worse: ", "Bot: Improved: ", "Bot: Inconclusive: "},
		"it depends": nil, "": nil,
	}
}

// lever is one as the page has it.
type lever struct{ Name, Title, Does string }

// levers are those of the page.
func (r *running) levers() []lever {
	r.t.Helper()
	resp, err := http.Get(r.page() + "sandbox/state") //nolint:noctx // it is on this machine, and the test has a limit
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var state struct{ Levers []lever }
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		r.t.Fatal(err)
	}
	return state.Levers
}

// leverTitled is the lever of the page with a title.
func (r *running) leverTitled(title string) lever {
	r.t.Helper()
	all := r.levers()
	i := slices.IndexFunc(all, func(one lever) bool { return one.Title == title })
	if i < 0 {
		r.t.Fatalf("there is no lever %q among %v", title, all)
	}
	return all[i]
}

// types writes a line on the keyboard.
func (r *running) types(line string) {
	r.t.Helper()
	if _, err := r.keys.Write([]byte(line + "\n")); err != nil {
		r.t.Fatal(err)
	}
}

// says waits until the sandbox has said one of these.
func (r *running) says(these ...string) {
	r.t.Helper()
	r.until(fmt.Sprintf("one of %q", these), func(said string) bool {
		return slices.ContainsFunc(these, func(one string) bool { return strings.Contains(said, one) })
	})
}

// until waits until what the sandbox has said fulfills a condition.
func (r *running) until(what string, is func(said string) bool) {
	r.t.Helper()
	deadline := time.After(process.Patience)
	for !is(r.said()) {
		select {
		case <-r.news:
		case err := <-r.ended:
			r.t.Fatalf("the sandbox ended without %s: %v", what, err)
		case <-deadline:
			r.t.Fatalf("the sandbox has not said %s", what)
		}
	}
}

// opensAnother pulls one more lever after the end of an incident until it is an incident of its own, with a message of
// its own. What fires within seconds of the end opens the first one again, which is right: a fleet that still catches
// up, or the lever itself, may.
func (r *running) opensAnother(lever string) {
	r.t.Helper()
	count := func(said, what string) int { return strings.Count(said, "Bot: "+what) }
	for range 3 {
		r.until("an end of all incidents", func(said string) bool {
			return count(said, "Closed: ") == count(said, "Opened by ")+count(said, reopened)
		})
		before := count(r.said(), reopened)
		r.types("break " + lever)
		r.until("an incident", func(said string) bool {
			return count(said, reopened) > before || count(said, "Opened by ") == 2 && len(r.told()) == 2
		})
		if count(r.said(), "Opened by ") == 2 {
			return
		}
		r.types("restore " + lever)
	}
	r.t.Errorf("%s has opened the incident of the first lever again each time", lever)
}

// reopened begins what the bot says where an incident goes on.
const reopened = "Reopened"

// proposes waits for the first proposal, which is of a kind.
func (r *running) proposes(kind string) {
	r.t.Helper()
	proposal := regexp.MustCompile(`Bot: Approval needed by \d+:\d+ UTC: (\w+) `)
	r.until("a proposal", proposal.MatchString)
	if first := proposal.FindStringSubmatch(r.said())[1]; first != kind {
		r.t.Fatalf("the first proposal is %q, want %q", first, kind)
	}
}

// approves approves what the bot proposes until it has applied something, and waits for one of the outcomes. A click
// counts for nothing when the plan was renewed before the bot could act, and what no longer fits the cause is not
// applied.
func (r *running) approves(outcomes []string) {
	r.t.Helper()
	const applied, refused = "Bot: Applied: ", "Bot: Not applied: "
	for !strings.Contains(r.said(), applied) {
		before, refusals := answers(r.said()), strings.Count(r.said(), refused)
		r.types("approve")
		r.until("an answer to the click", func(said string) bool {
			return strings.Contains(said, applied) || answers(said) > before
		})
		if strings.Contains(r.said()[strings.LastIndex(r.said(), answered)+1:], "Alice: Approved.") {
			r.until("what came of the approval", func(said string) bool {
				return strings.Contains(said, applied) || strings.Count(said, refused) > refusals
			})
		}
	}
	r.says(outcomes...)
}

// answered begins what the bot answers to a click.
const answered = "Slack, only visible to "

// answers counts how often typing approve was answered, by the bot or the sandbox.
func answers(said string) (n int) {
	for _, one := range []string{answered, "nothing to approve", "no button to approve"} {
		n += strings.Count(said, one)
	}
	return n
}

// Each lever, pulled on a calm fleet, shows what docs/sandbox.md says: its cause, and what the bot proposes and what
// comes of it, or that there is nothing to approve. All that is told meanwhile is true. The levers of connections are
// pulled in TestConnectionsAreLostAndComeBack.
func TestEachLeverLeadsToItsCause(t *testing.T) {
	t.Parallel()
	rows := described(t)
	if len(rows) < 6 {
		t.Fatalf("docs/sandbox.md describes %d levers", len(rows))
	}
	alone := rows[slices.IndexFunc(rows, func(l row) bool { return l.proposal == "none" })].title
	for _, l := range rows {
		t.Run(l.title, func(t *testing.T) {
			t.Parallel()
			r := start(t, "--free")
			for _, one := range r.levers() { // the page has those of the code
				known := slices.ContainsFunc(rows, func(l row) bool { return l.title == one.Title })
				if !known && !slices.Contains(connections(t), one.Title) {
					t.Errorf("docs/sandbox.md doesn't describe the lever %q, so that no test pulls it", one.Title)
				}
			}
			pulled := r.leverTitled(l.title)
			if pulled.Does != l.does {
				t.Errorf("%s does this: %s", l.title, pulled.Does)
			}
			r.types("break " + pulled.Name)
			diagnosis := "Bot: Diagnosis: " + l.cause
			r.says(diagnosis)
			for line := range strings.Lines(r.said()) {
				if strings.Contains(line, "Broken on purpose: ") || strings.Contains(line, "Bot: Opened by ") {
					t.Log(line) // how long it took, for the document
				}
			}
			if l.proposal == "none" {
				// What follows from the cause, such as a queue, may hold as well.
				r.says("Bot: Only manual steps apply here", "Bot: Also true, independently: ")
				if before, _, _ := strings.Cut(r.said(), diagnosis); strings.Contains(before, "Approval needed") {
					t.Error("it asked for approval")
				}
			} else {
				r.proposes(l.proposal)
			}
			switch outcomes, known := verdicts()[l.after]; {
			case !known:
				t.Errorf("%q is no outcome", l.after)
			case outcomes != nil:
				r.approves(outcomes)
			case l.proposal == "none":
				// Only turning it off ends it.
				r.types("restore " + pulled.Name)
				r.says("Bot: Closed: ")
				if l.title == alone {
					r.opensAnother("traffic")
				}
			}
			r.interrupted()
		})
	}
}
