package slack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// CommandName is the slash command, as the app's manifest has it.
const CommandName = "/vllm-medic"

// Commands is what slash commands read and do: the same that the API and the command line do.
type Commands interface {
	Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error)
	SetPause(ctx context.Context, p incident.Pause) error
	// ClearPause ends a pause that was set until asked and says whether there was one. A later one stays.
	ClearPause(ctx context.Context, pool string, asked time.Time) (bool, error)
	Pauses(ctx context.Context) ([]incident.Pause, error)
	OpenWrites(ctx context.Context) ([]incident.Write, error)
	// Act takes what a person does. *incident.RefusedError carries the text for the person.
	Act(ctx context.Context, id string, ev incident.Event) (incident.Incident, error)
	// Pools are the names of the pools, in the order of the configuration.
	Pools() []string
	// Acting says who may decide in a pool, for each kind of step that it has approvers for. None allow nobody.
	Acting(pool string) []incident.Approvers
	// Notice is what everybody who looks should know about the bot itself; empty when there is nothing.
	Notice() string
}

const (
	// mostListed is how many incidents are listed.
	mostListed = 10
	// maxReason bounds a reason, in characters: a few lines in the thread.
	maxReason = 500
)

// obeyed does what a command asks for that came in at the given time. A command is done again when the process ends
// between the work and its record: then no pause is ended that was set after the command came in. A pause that somebody
// ended in between is set once more, which is the safe side. It never fails; what went wrong is in the Answer.
func (i *Interactions) obeyed(ctx context.Context, c command, at time.Time) Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, i.cfg.Timeout,
		fmt.Errorf("the command took longer than %s", i.cfg.Timeout))
	defer cancel()
	a := Answer{ResponseURL: c.ResponseURL, User: c.User}
	text, no := i.obey(ctx, c, at, &a)
	if no != nil {
		a.Text, a.Reason = no.text, no.reason
		i.logger.InfoContext(ctx, "a command changed nothing", "incident", a.Incident, "user", a.User, "reason", no.reason,
			"err", no.err)
		return a
	}
	a.Text = text
	return a
}

// obey checks where the command comes from and who sent it before anything else, and tells nothing to anybody but full
// members of the workspace.
func (i *Interactions) obey(ctx context.Context, c command, at time.Time, a *Answer) (string, *refusal) {
	from := click{App: c.App, Team: c.Team, Enterprise: c.Enterprise, User: c.User}
	if no := i.origin(ctx, from); no != nil {
		return "", no
	}
	if no := i.member(ctx, from); no != nil {
		return "", no
	}
	verb, rest := firstWord(c.Text)
	switch strings.ToLower(verb) {
	case "", "help":
		return commandHelp, nil
	case "status":
		return i.tellStatus(ctx)
	case "incidents":
		return i.tellIncidents(ctx)
	case "show":
		a.Incident = present.Clip(present.Line(rest), 100)
		return i.tellIncident(ctx, rest)
	case "pause":
		return i.pause(ctx, c, rest, at)
	case "resume":
		return i.resume(ctx, c, rest, at)
	case "ask":
		return i.askAgain(ctx, c, rest, at, a)
	}
	return "", refuse("unknown command", "Unknown command “%s”. Nothing was changed.\n%s", defuse(verb, 40), commandHelp)
}

func firstWord(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(s), " ")
	return first, strings.TrimSpace(rest)
}

// pause stops changes. A first word that is no pool's name belongs to the reason: who mistypes a name stops everything,
// which is the safe side, and is told so.
func (i *Interactions) pause(ctx context.Context, c command, rest string, at time.Time) (string, *refusal) {
	pool, reason := "", strings.TrimSpace(rest)
	if first, after := firstWord(rest); slices.Contains(i.commands.Pools(), first) {
		pool, reason = first, after
	}
	if reason == "" {
		return "", refuse("a pause without a reason", "Say why: `%s pause [POOL] REASON`. Nothing was changed.", CommandName)
	}
	if no := i.mayAct(ctx, c.User, pool, false); no != nil {
		return "", no
	}
	by := incident.Actor{Kind: incident.ActorSlack, ID: c.User}
	p := incident.Pause{Pool: pool, Reason: present.Clip(present.Line(reason), maxReason), By: by, At: at}
	if err := i.commands.SetPause(ctx, p); err != nil {
		return "", notStored(err)
	}
	i.logger.InfoContext(ctx, "writes are paused by a command", "pool", pool, "user", c.User)
	text := "⏸️ " + pauseLine(p) + "\n" + "To end it: `" + strings.TrimSpace(CommandName+" resume "+pool) + "`."
	open, err := i.commands.OpenWrites(ctx)
	if err != nil {
		i.logger.WarnContext(ctx, "the writes before a pause could not be read", "err", err)
		return text + "\nCould not check for changes that began before it.", nil
	}
	return text + earlierWrites(open, pool), nil
}

// resume allows changes again.
func (i *Interactions) resume(ctx context.Context, c command, rest string, at time.Time) (string, *refusal) {
	pool := strings.TrimSpace(rest)
	if pool != "" && !slices.Contains(i.commands.Pools(), pool) {
		return "", refuse("no such pool", "There's no pool “%s”. Nothing was changed. Pools: %s.", defuse(pool, 80),
			poolList(i.commands.Pools()))
	}
	if no := i.mayAct(ctx, c.User, pool, true); no != nil {
		return "", no
	}
	had, err := i.commands.ClearPause(ctx, pool, at)
	switch {
	case err != nil:
		return "", notStored(err)
	case !had:
		return "", i.notResumed(ctx, pool)
	}
	i.logger.InfoContext(ctx, "writes are resumed by a command", "pool", pool, "user", c.User)
	return "▶️ Changes are allowed again for " + scope(pool) + "." + i.otherPauses(ctx), nil
}

// notResumed says why no pause of a scope was ended: there is none, or it was set after the command came in.
func (i *Interactions) notResumed(ctx context.Context, pool string) *refusal {
	ps, err := i.commands.Pauses(ctx)
	if err != nil {
		return unavailable(err)
	}
	if n := slices.IndexFunc(ps, func(p incident.Pause) bool { return p.Pool == pool }); n >= 0 {
		return refuse("the pause was set after the command", "This pause was set after your command, so it stays:\n⏸️ %s\n"+
			"To end it, send the command again.", pauseLine(ps[n]))
	}
	return refuse("nothing was paused", "No pause was in effect for %s. Nothing was changed.%s", scope(pool),
		pauseLines(ps))
}

// askAgain asks for a fresh plan after a no.
func (i *Interactions) askAgain(ctx context.Context, c command, rest string, at time.Time, a *Answer) (
	string, *refusal,
) {
	id, reason := firstWord(rest)
	if id == "" {
		return "", refuse("no incident", "Say which incident: `%s ask ID`. Nothing was changed.", CommandName)
	}
	a.Incident = present.Clip(present.Line(id), 100)
	inc, err := i.lookup.Incident(ctx, id)
	if err != nil {
		return "", unreadable(err)
	}
	if inc.Pool == "" {
		return "", refuse("no pool", "This incident belongs to no pool, so nothing can be proposed. Nothing was changed.")
	}
	from := click{App: c.App, Team: c.Team, Enterprise: c.Enterprise, User: c.User}
	if no := i.mayAsk(ctx, from, inc, request{action: actionAskAgain, kinds: plannedKinds(inc)}); no != nil {
		return "", no
	}
	ev := incident.AskedAgain{
		By: incident.Actor{Kind: incident.ActorSlack, ID: c.User}, Reason: present.Clip(present.Line(reason), maxReason),
	}
	if inc.Plan != nil {
		if inc.Plan.CreatedAt.After(at) { // done again after a crash: somebody has answered another request since
			return "", planChanged("a plan that is newer than the command")
		}
		ev.Revision = inc.Plan.Revision
	}
	if _, err := i.commands.Act(ctx, inc.ID, ev); err != nil {
		return "", notTaken(err)
	}
	a.Decided = true
	i.logger.InfoContext(ctx, "a fresh plan was asked for by a command", "incident", inc.ID, "user", c.User)
	return "Asking again: investigating " + bold(inc.Pool, 80) + " and making a fresh plan.", nil
}

// mayAct says whether somebody may stop and start changes in a pool; nil means yes. It takes an approver of any kind of
// step to stop them, and one of every kind to start them again; for all pools ("") of any pool, and of every pool.
func (i *Interactions) mayAct(ctx context.Context, user, pool string, start bool) *refusal {
	if no := i.mayActOn(ctx, user, pool, start); no != nil {
		return no
	}
	return i.entitled(ctx, user, true)
}

func (i *Interactions) mayActOn(ctx context.Context, user, pool string, start bool) *refusal {
	pools := []string{pool}
	if pool == "" {
		pools = i.commands.Pools()
	}
	var lists []incident.Approvers
	for _, p := range pools {
		acting := i.commands.Acting(p)
		if len(acting) == 0 {
			acting = []incident.Approvers{{}} // nobody
		}
		lists = append(lists, acting...)
	}
	no := i.listed(ctx, user, incident.Approvers{})
	for _, list := range lists {
		no = i.listed(ctx, user, list)
		if (no == nil) != start { // one that may stops changes, and one that may not keeps them stopped
			return no
		}
	}
	return no
}

func notStored(err error) *refusal {
	r := refuse("the pause could not be stored",
		"Could not store this, so it may not be in effect. Check with `%s status`, and send it again.", CommandName)
	r.err = err
	return r
}

// otherPauses are those in effect, as an addition to an answer.
func (i *Interactions) otherPauses(ctx context.Context) string {
	ps, err := i.commands.Pauses(ctx)
	if err != nil {
		i.logger.WarnContext(ctx, "the pauses could not be read", "err", err)
		return " Could not check for other pauses."
	}
	return pauseLines(ps)
}

func pauseLines(ps []incident.Pause) string {
	var b strings.Builder
	for _, p := range ps {
		b.WriteString("\n⏸️ " + pauseLine(p))
	}
	return b.String()
}

// unavailable is the answer to a question that the store did not answer.
func unavailable(err error) *refusal {
	r := refuse("the store cannot be read", "Could not read this from the store. Try again in a minute.")
	if errors.Is(err, incident.ErrNotFound) {
		return unreadable(err)
	}
	r.err = err
	return r
}
