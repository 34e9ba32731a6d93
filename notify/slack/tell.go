package slack

import (
	"context"
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// commandHelp says what the slash command does.
const commandHelp = "`" + CommandName + " status`: is the bot working, what is paused\n" +
	"`" + CommandName + " incidents`: open incidents\n" +
	"`" + CommandName + " show ID`: one incident\n" +
	"`" + CommandName + " pause [POOL] REASON`: stop changes to one pool, or to all (approvers)\n" +
	"`" + CommandName + " resume [POOL]`: allow changes again (approvers)\n" +
	"`" + CommandName + " ask ID [REASON]`: investigate again and propose anew after a denial (approvers)"

// tellStatus says whether the bot works, what is paused, and how many incidents are open.
func (i *Interactions) tellStatus(ctx context.Context) (string, *refusal) {
	ps, err := i.commands.Pauses(ctx)
	if err != nil {
		return "", unavailable(err)
	}
	open, err := i.commands.Incidents(ctx, incident.Filter{State: "open", AllPools: true, Limit: mostListed + 1})
	if err != nil {
		return "", unavailable(err)
	}
	var lines []string
	for _, p := range ps {
		lines = append(lines, "⏸️ "+pauseLine(p))
	}
	if len(ps) == 0 {
		lines = append(lines, "Changes aren't paused.")
	}
	deciding := 0
	for _, inc := range open {
		if inc.State == incident.StateDeciding {
			deciding++
		}
	}
	switch n := len(open); {
	case n == 0:
		lines = append(lines, "No open incidents.")
	case n > mostListed:
		lines = append(lines, fmt.Sprintf("More than %d open incidents, %d of the newest %d need approval.", mostListed,
			deciding, n))
	default:
		lines = append(lines, fmt.Sprintf("Open incidents: %d, %d of them need approval.", n, deciding))
	}
	if notice := i.commands.Notice(); notice != "" {
		lines = append(lines, "⚠️ "+clipEscaped(unlink.Replace(present.Clean(notice)), 1500))
	}
	return strings.Join(lines, "\n"), nil
}

// tellIncidents lists the open incidents, newest first.
func (i *Interactions) tellIncidents(ctx context.Context) (string, *refusal) {
	all, err := i.commands.Incidents(ctx, incident.Filter{State: "open", AllPools: true, Limit: mostListed + 1})
	if err != nil {
		return "", unavailable(err)
	}
	if len(all) == 0 {
		return "No open incidents.", nil
	}
	var lines []string
	for _, inc := range all[:min(len(all), mostListed)] {
		lines = append(lines, "• "+incidentLine(inc))
	}
	if len(all) > mostListed {
		lines = append(lines, "…and more: `vllm-medic incidents list` has all.")
	}
	return strings.Join(lines, "\n"), nil
}

// tellIncident tells one incident in short, and where it is decided on.
func (i *Interactions) tellIncident(ctx context.Context, id string) (string, *refusal) {
	if id == "" {
		return "", refuse("no incident", "Say which incident: `%s show ID`.", CommandName)
	}
	inc, err := i.lookup.Incident(ctx, id)
	if err != nil {
		return "", unavailable(err)
	}
	lines := []string{incidentLine(inc)}
	if inc.Plan != nil {
		for _, s := range inc.Plan.Steps {
			lines = append(lines, "• "+loud(present.Name(s), 150)+": "+defuse(string(s.State), 40))
		}
	}
	m, found, err := i.lookup.Message(ctx, inc.ID)
	switch {
	case err != nil:
		return "", unavailable(err)
	case found && strings.HasPrefix(m.Channel, "C") && m.TS != "":
		lines = append(lines, "Its message is in <#"+escape(m.Channel, 40)+">.")
	}
	return strings.Join(lines, "\n"), nil
}

// loud marks foreign text as bold in a private answer.
func loud(s string, most int) string { return bold(unlink.Replace(s), most) }

// incidentLine is one incident on one line.
func incidentLine(inc incident.Incident) string {
	pool := "no pool"
	if inc.Pool != "" {
		pool = loud(inc.Pool, 80)
	}
	text := fmt.Sprintf("`%s` %s, %s, since %s", strings.ReplaceAll(defuse(inc.ID, 100), "`", "'"), pool,
		stateInWords(inc.State), clock(inc.OpenedAt))
	if mark := present.Mark(inc); mark != "" {
		text = "🧪 " + mark + " " + text
	}
	if cause := present.CauseOf(inc); cause.Summary != "" {
		text += ": " + defuse(cause.Summary, 200)
	}
	return text
}

// stateInWords is a state in the words of the messages; one of a newer version is shown as it is called.
func stateInWords(s incident.State) string {
	switch s {
	case incident.StateReceived, incident.StateInvestigating:
		return "investigating"
	case incident.StateProposed:
		return "plan ready"
	case incident.StateDeciding:
		return "needs approval"
	case incident.StateApplying:
		return "applying"
	case incident.StateSettling:
		return "applied, metrics catching up"
	case incident.StateVerifying:
		return "verifying"
	case incident.StateUndoing:
		return "rolling back"
	case incident.StateWatching:
		return "monitoring"
	case incident.StateClosed:
		return "closed"
	}
	return defuse(string(s), 40)
}

// pauseLine is one pause.
func pauseLine(p incident.Pause) string {
	return fmt.Sprintf("Changes are paused for %s since %s by %s: %s", scope(p.Pool), clock(p.At), who(p.By),
		defuse(p.Reason, 300))
}

func scope(pool string) string {
	if pool == "" {
		return "all pools"
	}
	return "pool " + loud(pool, 80)
}

func poolList(pools []string) string {
	shown := make([]string, 0, mostListed)
	for _, p := range pools[:min(len(pools), mostListed)] {
		shown = append(shown, defuse(p, 80))
	}
	if len(pools) > mostListed {
		shown = append(shown, present.More(len(pools)-mostListed))
	}
	return strings.Join(shown, ", ")
}

// earlierWrites lists what was being changed when a pause was set: it is not cut off.
func earlierWrites(open []incident.Write, pool string) string {
	var b strings.Builder
	for _, w := range open {
		if pool != "" && w.Pool != pool {
			continue
		}
		fmt.Fprintf(&b, "\n• %s, since %s (incident `%s`)", defuse(w.Target, 120), clock(w.StartedAt),
			strings.ReplaceAll(defuse(w.Incident, 100), "`", "'"))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\nThese changes had begun before and haven't ended yet:" + b.String()
}
