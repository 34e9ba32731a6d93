package sandbox

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// keyboard does what people type until there is nothing more to read.
func keyboard(ctx context.Context, in io.Reader, w *world, g *guide) {
	lines := bufio.NewScanner(in)
	for lines.Scan() && ctx.Err() == nil {
		if words := strings.Fields(lines.Text()); len(words) > 0 {
			typed(ctx, words, w, g)
		}
	}
}

// typed does one command.
func typed(ctx context.Context, words []string, w *world, g *guide) {
	verb, rest := words[0], words[1:]
	switch {
	case verb == "approve" && len(rest) < 2:
		nth := 1
		if len(rest) == 1 {
			var err error
			if nth, err = strconv.Atoi(rest[0]); err != nil || nth < 1 {
				w.say("%q is not the number of a proposal: approve presses the green button, approve 2 the one after it.", rest[0])
				return
			}
		}
		answer(ctx, verb, buttonApprove, nth, asks, w, g)
	case verb == "deny" && len(rest) == 0:
		answer(ctx, verb, buttonDeny, 1, asks, w, g)
	case verb == "undo" && len(rest) == 0:
		answer(ctx, verb, buttonUndo, 1, offers, w, g)
	case verb == "next" && len(rest) == 0:
		g.goOn()
	case (verb == "break" || verb == "restore") && len(rest) == 1:
		if err := w.pull(rest[0], verb == "break"); err != nil {
			w.say("%s. The levers are: %s.", upperFirst(err.Error()), leverNames())
		}
	case verb == "status" && len(rest) == 0:
		w.say("%s %s", g.fleetLine(), g.watcher.doing())
	default:
		w.say("Type approve (or approve 2 for the second proposal), deny or undo to answer the bot, next for the next "+
			"round, status, or break NAME and restore NAME with one of: %s. Ctrl-C ends the sandbox.", leverNames())
	}
}

// answer presses a button. The bot asks before its message in Slack shows the button, a few seconds later; that is
// waited for.
func answer(ctx context.Context, verb, action string, nth int, asked func(incident.Incident) bool, w *world, g *guide) {
	const within = 10 * time.Second
	inc, ok := g.watcher.incident()
	if ok && asked(inc) && len(w.shown(action)) == 0 {
		w.say("Waiting for the message in Slack to show the button.")
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		if err := g.until(ctx, within, "the button in Slack", func() bool { return len(w.shown(action)) > 0 }); err != nil {
			w.say("Slack shows no button to %s.", verb)
			return
		}
	}
	click, err := w.press(ctx, action, nth)
	switch {
	case errors.Is(err, errNoButton):
		w.say("There is nothing to %s now. %s", verb, g.watcher.doing())
		return
	case err != nil:
		w.say("%s.", upperFirst(err.Error()))
		return
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	if err := g.until(ctx, within, "the bot's answer", func() bool { return w.answers(click) != "" }); err != nil {
		w.say("The bot has not answered to the click.")
		return
	}
	w.say("Slack, only visible to Alice: %s", w.answers(click))
}

func leverNames() string {
	var out []string
	for _, l := range levers() {
		out = append(out, l.Name)
	}
	return strings.Join(out, ", ")
}
