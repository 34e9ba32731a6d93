package web

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// ask is what people are asked, and how they answer: not on this page, which only reads.
type ask struct {
	Question, Danger string
	By               []piece
	Effect           []string
	Cautions         []string
	Commands         []command
	Slack            string
	Expires          *moment
}

// command is a command line with what it does.
type command struct{ What, Line string }

// ask is nil where nothing is asked.
func (h *Handler) ask(f frame, inc incident.Incident) *ask {
	if inc.State != incident.StateDeciding {
		return h.again(inc)
	}
	a := &ask{By: f.Say(present.Asked(inc))}
	if inc.Plan != nil {
		a.Expires = f.When(inc.Plan.ExpiresAt)
	}
	if s, ok := present.Offered(inc); ok {
		a.Question = present.Verb(s, incident.OpUndo) + "?"
		a.Commands = []command{
			{"Roll back", h.line("undo", inc.ID, s.ID)}, {"Keep it", h.line("keep", inc.ID, s.ID)},
		}
		if s.Needs.Restart {
			a.Danger = "Restarts the pods once more."
		}
		return a
	}
	open := present.Questions(inc)
	if len(open) == 0 {
		return a
	}
	a.Question = strings.TrimRight(present.Name(open[0]), ".?") + "?"
	if open[0].Needs.Restart {
		a.Danger = "This restarts the pods."
	}
	a.Effect, a.Cautions = effectOf(inc, open[0]), open[0].Cautions()
	for n, s := range open {
		what := "Approve"
		if n > 0 {
			what = "Instead: " + present.Change(s)
		}
		args := []string{inc.ID, s.ID, "--digest", inc.Plan.Digest}
		if s.Needs.Confirm || s.Needs.Restart {
			args = append(args, "--confirm-restart")
		}
		a.Commands = append(a.Commands, command{what, h.line("approve", args...)})
	}
	a.Commands = append(a.Commands, command{"Deny", h.line("deny", inc.ID, "--digest", inc.Plan.Digest)})
	return a
}

// again is how people have the bot ask once more after a no; nil where that can't be.
func (h *Handler) again(inc incident.Incident) *ask {
	if !inc.CanAskAgain() {
		return nil
	}
	return &ask{Commands: []command{{"Ask again", h.line("ask", inc.ID)}}}
}

// rollbacks are the commands that roll back what was applied, by step; without the one that people are asked about.
func (h *Handler) rollbacks(inc incident.Incident) map[string]*command {
	out := map[string]*command{}
	for _, s := range inc.Undoable() {
		if s.ID != inc.UndoOffered {
			out[s.ID] = &command{present.Verb(s, incident.OpUndo), h.line("undo", inc.ID, s.ID)}
		}
	}
	return out
}

// line is a command of the command line. What it is about is an id of ours or a digest, which need no quotes; what is
// neither is quoted.
func (h *Handler) line(verb string, args ...string) string {
	words := []string{"vllm-medic incidents", verb}
	for _, a := range args {
		words = append(words, present.ShellWord(a))
	}
	if base := h.deps.Links.BaseURL; base != "" {
		words = append(words, "--server", present.ShellWord(base))
	}
	return strings.Join(words, " ")
}

// effectOf is what an approval does, how fast, at what price, and when it is taken back.
func effectOf(inc incident.Incident, s incident.Step) []string {
	var out []string
	for _, text := range []string{
		present.Price(inc, s), s.Speed, present.OwnCost(inc, s), s.Risk, present.UndoTerms(s),
	} {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, present.Ended(text))
		}
	}
	return out
}
