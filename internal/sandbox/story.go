package sandbox

import (
	"fmt"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// tryNext is what somebody who has seen the tour does next: the same look at a fleet of their own, which only reads.
const tryNext = "vllm-medic diagnose --prometheus http://prometheus:9090"

// approved says who approved the newest change of an incident, and which, such as "Alice Abara approved: scale 2 → 4.".
func approved(inc incident.Incident) string {
	all := present.History(inc)
	if len(all) == 0 {
		return "Nothing was changed."
	}
	m := all[len(all)-1]
	var by []string
	for _, a := range m.By {
		by = append(by, nameOf(a))
	}
	return fmt.Sprintf("%s approved: %s.", strings.Join(by, " and "), present.ChangeMade(m))
}

// undoneBy is who asked for the rollback of the newest change: "the bot" where nobody did.
func undoneBy(inc incident.Incident) string {
	if all := present.History(inc); len(all) > 0 && all[len(all)-1].UndoneBy != nil {
		return nameOf(*all[len(all)-1].UndoneBy)
	}
	return "the bot"
}

// keep adds what a round has shown to what the last scene sums up.
func (g *guide) keep(format string, args ...any) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.story = append(g.story, fmt.Sprintf(format, args...))
}

// free is what comes after the rounds, or instead of them: people break what they like.
func (g *guide) free() {
	const try = "Break something with the levers. Try One sick GPU: the bot finds the pod and asks for no approval, " +
		"because only a person can take it out of service."
	g.mu.Lock()
	story := g.story
	g.mu.Unlock()
	s := scene{Title: "Your turn to break things.", Text: try + " Ctrl-C in the terminal ends the sandbox.", Free: true}
	if len(story) > 0 {
		s.Title, s.Story, s.Command = "That was the tour.", story, tryNext
	}
	g.show(s)
	for _, line := range story {
		g.world.say("%s", line)
	}
	if len(story) > 0 {
		g.world.say("Next, on your own Prometheus, read-only: %s", tryNext)
	}
}

// seconds is a time as the story tells it.
func seconds(d time.Duration) string { return fmt.Sprintf("%.0f s", d.Seconds()) }
