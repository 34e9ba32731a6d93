package sandbox

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// row is a lever as docs/sandbox.md describes it.
type row struct{ title, cause, asks, verdict string }

// described reads the table of the levers that end in a diagnosis.
func described(t *testing.T) []row {
	t.Helper()
	text, err := os.ReadFile("../../docs/sandbox.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| lever | the cause that the bot names | what it asks | ")
	if !ok {
		t.Fatal("docs/sandbox.md has no table of levers and causes")
	}
	var out []row
	for _, line := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if len(cells) < 4 {
			break
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out = append(out, row{title: cells[0], cause: cells[1], asks: cells[2], verdict: cells[3]})
	}
	return out
}

// levers are the names of the levers, by their titles, as the page has them.
func (r *running) levers() map[string]string {
	r.t.Helper()
	resp, err := http.Get(r.page() + "sandbox/state") //nolint:noctx // it is on this machine, and the test has a limit
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read
	var state struct {
		Levers []struct{ Name, Title string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&state); err != nil {
		r.t.Fatal(err)
	}
	out := map[string]string{}
	for _, l := range state.Levers {
		out[l.Title] = l.Name
	}
	return out
}

// types writes a line on the keyboard.
func (r *running) types(line string) {
	r.t.Helper()
	if _, err := r.keys.Write([]byte(line + "\n")); err != nil {
		r.t.Fatal(err)
	}
}

// says waits until the sandbox has said something.
func (r *running) says(what string) {
	r.t.Helper()
	deadline := time.After(patience)
	for !strings.Contains(r.said(), what) {
		select {
		case <-r.news:
		case err := <-r.ended:
			r.t.Fatalf("the sandbox ended without saying %q: %v", what, err)
		case <-deadline:
			r.t.Fatalf("the sandbox does not say %q", what)
		}
	}
}

// Each lever, pulled on a calm fleet, shows what docs/sandbox.md says: its cause, and what the bot asks or that it asks
// nothing.
func TestEachLeverLeadsToItsCause(t *testing.T) {
	t.Parallel()
	rows := described(t)
	if len(rows) < 6 {
		t.Fatalf("docs/sandbox.md describes %d levers", len(rows))
	}
	for _, l := range rows {
		t.Run(l.title, func(t *testing.T) {
			t.Parallel()
			r := start(t, "--free")
			name, ok := r.levers()[l.title]
			if !ok {
				t.Fatalf("there is no lever %q", l.title)
			}
			r.types("break " + name)
			r.says("Bot: Diagnosis: " + l.cause)
			if l.asks == "nothing" {
				r.says("Bot: " + l.verdict)
				if got := r.said(); strings.Contains(got, "Approval needed") {
					t.Error("it asks for approval")
				}
			} else {
				r.says(": " + l.asks)
				r.types("approve")
				r.says("Bot: " + l.verdict)
			}
			r.interrupted()
		})
	}
}
