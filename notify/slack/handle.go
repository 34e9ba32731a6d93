package slack

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// Answer is what came of one interaction.
type Answer struct {
	// Text is the private answer to the person, in mrkdwn; empty when none is due.
	Text string
	// ResponseURL is where Slack takes it. It is a secret. Without one the answer goes to the person in the Channel.
	ResponseURL, Channel string
	// Decided says that the decision was recorded.
	Decided bool
	// Reason says in a few words, for logs, why nothing was decided.
	Reason string
	// Incident, Step and User are what the click was about, as far as it was understood.
	Incident, Step, User string
}

// LogValue leaves the address out.
func (a Answer) LogValue() slog.Value { return slog.StringValue(a.String()) }

// String leaves the address out.
func (a Answer) String() string {
	return fmt.Sprintf("{Incident:%s Step:%s User:%s Decided:%t Reason:%s}", a.Incident, a.Step, a.User, a.Decided,
		a.Reason)
}

// Handle takes one interaction whose origin has been proven (by signature, or by the Socket Mode connection), checks it
// in the order that contracts with Slack demand, and records the decision. It may be called twice with the same click,
// as when the process ends before the click is finished: what the button carries then no longer fits the incident, so
// that nothing is decided twice; an acknowledgment and the details are only posted once more. It never fails; what went
// wrong is in the Answer.
func (i *Interactions) Handle(ctx context.Context, kept incident.Click) Answer {
	ctx, cancel := context.WithTimeoutCause(ctx, i.cfg.Timeout, fmt.Errorf("the click took longer than %s", i.cfg.Timeout))
	defer cancel()
	c, err := decodeClick(kept.Payload)
	switch {
	case errors.Is(err, errNotForUs):
		i.logger.DebugContext(ctx, "an interaction was ignored", "reason", err.Error())
		return Answer{Reason: err.Error()}
	case err != nil:
		i.logger.WarnContext(ctx, "an interaction was not understood", "err", err)
		return Answer{Reason: err.Error()}
	}
	c.First = kept.Fence == 1
	a := Answer{ResponseURL: c.ResponseURL, Channel: c.Channel, User: c.User}
	if action := actionOf(c.Action); action == actionShow || action == actionShowAll {
		no := i.unfold(ctx, c, action, &a)
		return i.done(ctx, a, action, no)
	}
	inc, r, no := i.check(ctx, c, &a)
	if no == nil && inc.Drill != nil {
		i.looked(ctx, inc, c.User)
	}
	if no == nil && c.Form == nil {
		var shown bool
		if shown, no = i.ask(ctx, c, inc, r); shown {
			a.Reason = "a form was opened"
			return a
		}
	}
	if no == nil {
		inc, no = i.carryOut(ctx, c, inc, r)
	}
	if no == nil {
		a.Text = r.answer(inc)
	}
	return i.done(ctx, a, r.action, no)
}

// looked notes the first look of a person at a drill: a click that asks for details, or opens a form, leaves no other
// trace.
func (i *Interactions) looked(ctx context.Context, inc incident.Incident, user string) {
	_, err := i.decider.Act(ctx, inc.ID, incident.DrillSeen{By: incident.Actor{Kind: incident.ActorSlack, ID: user}})
	if _, refused := errors.AsType[*incident.RefusedError](err); err != nil && !refused { // somebody has looked before
		i.logger.WarnContext(ctx, "a look at a drill could not be noted", "incident", inc.ID, "err", err)
	}
}

// done logs what became of a click, and answers with the refusal if there is one.
func (i *Interactions) done(ctx context.Context, a Answer, action string, no *refusal) Answer {
	if no != nil {
		a.Text, a.Reason = no.text, no.reason
		i.logger.InfoContext(ctx, "a click changed nothing", "incident", a.Incident, "step", a.Step, "user", a.User, "reason",
			no.reason, "err", no.err)
		return a
	}
	a.Decided = true
	i.logger.InfoContext(ctx, "a click was carried out", "incident", a.Incident, "step", a.Step, "user", a.User, "action",
		action)
	return a
}

// check goes through everything that must hold before a click is passed on. The order matters: nothing of an incident
// is told to somebody who clicked from elsewhere.
func (i *Interactions) check(ctx context.Context, c click, a *Answer) (incident.Incident, request, *refusal) {
	var none incident.Incident
	if no := i.origin(ctx, c); no != nil {
		return none, request{}, no
	}
	action := actionOf(c.Action)
	if action == "" {
		return none, request{}, refuse("unknown action", "Unknown action. Nothing was changed.")
	}
	v, err := decodeValue(c.Value)
	if err != nil {
		return none, request{}, unknownValue(err)
	}
	a.Incident, a.Step = present.Clip(present.Line(v.Incident), 100), present.Clip(present.Line(v.Step), 100)
	if no := i.place(ctx, c, v.Incident); no != nil {
		return none, request{}, no
	}
	inc, err := i.lookup.Incident(ctx, v.Incident)
	if err != nil {
		return none, request{}, unreadable(err)
	}
	r, no := requested(inc, action, v, incident.Actor{Kind: incident.ActorSlack, ID: c.User})
	if no == nil {
		r, no = i.possible(ctx, inc, r, c.Form)
	}
	if no != nil {
		return none, r, no
	}
	return inc, r, i.mayAsk(ctx, c, inc, r)
}

// possible holds a click against the incident, and then once more with what its form says: a reason comes only with
// that.
func (i *Interactions) possible(
	ctx context.Context, inc incident.Incident, r request, form *filled,
) (request, *refusal) {
	var pause *incident.Pause
	if r.decision != nil && r.decision.Verb == incident.Approve {
		pauses, err := i.commands.Pauses(ctx)
		if err != nil {
			return r, unreadable(err)
		}
		pause = incident.PauseOf(pauses, inc.Pool)
	}
	s, _ := inc.Step(r.step())
	of := i.approvers(inc.Pool, s.Kind)
	unasked := of
	unasked.Reason = false
	no := r.possible(inc, unasked, pause, i.now())
	if no == nil && form != nil {
		r = r.fill(inc, *form)
		no = r.possible(inc, of, pause, i.now())
	}
	return r, no
}

// origin checks app and workspace. The app's id is only compared when it is configured: the signature proves the app as
// well.
func (i *Interactions) origin(ctx context.Context, c click) *refusal {
	if i.cfg.AppID != "" && c.App != i.cfg.AppID {
		return refuse("another app", "This button belongs to another app. Nothing was changed.")
	}
	team, enterprise := i.cfg.Team, i.cfg.Enterprise
	if team == "" && enterprise == "" {
		me, err := i.client.identity(ctx)
		if err != nil {
			no := refuse("the own workspace is not known",
				"Could not ask Slack which workspace this bot belongs to. Nothing was changed. Click again in a minute.")
			no.err = err
			return no
		}
		team, enterprise = me.Team, me.Enterprise
	}
	wrong := refuse("another workspace", "This click came from another workspace. Nothing was changed.")
	switch {
	case c.Team == "" && c.Enterprise == "":
		return wrong
	case c.Team != "" && team != "" && c.Team != team:
		return wrong
	case c.Team == "" && (enterprise == "" || c.Enterprise != enterprise):
		return wrong
	case i.cfg.Enterprise != "" && c.Enterprise != i.cfg.Enterprise:
		return wrong
	}
	return nil
}

// place checks that the click came from the incident's own message.
func (i *Interactions) place(ctx context.Context, c click, id string) *refusal {
	m, found, err := i.lookup.Message(ctx, id)
	switch {
	case err != nil:
		return unreadable(err)
	case !found:
		return refuse("no such incident", "Unknown incident. Nothing was changed.")
	case c.Private || c.Channel != m.Channel:
		return refuse("another channel", "This is not the incident's channel. Nothing was changed. Decide in that channel.")
	case m.TS == "":
		return refuse("the message is not known yet",
			"This message is still being posted. Nothing was changed. Try again in a moment.")
	case c.MessageTS != m.TS:
		return refuse("another message",
			"This message is out of date. Nothing was changed. Use the latest one for this incident.")
	}
	return nil
}

// planChanged is the answer to a click on what the plan no longer has.
func planChanged(reason string) *refusal {
	return refuse(reason, "%s", present.Said(incident.Note{Kind: incident.RefusedPlanChanged}))
}

// notTaken is the answer to a decision that the domain or the store did not take.
func notTaken(err error) *refusal {
	if no, ok := errors.AsType[*incident.RefusedError](err); ok {
		r := refuse("refused", "%s", unlink.Replace(sentence(present.Refusal(no), 1500)))
		r.err = err
		return r
	}
	r := refuse("the decision could not be stored",
		"Could not store your decision. If the message does not change within a minute, click again.")
	r.err = err
	return r
}

func unreadable(err error) *refusal {
	var r *refusal
	if errors.Is(err, incident.ErrNotFound) {
		r = refuse("no such incident", "Unknown incident. Nothing was changed.")
	} else {
		r = refuse("the store cannot be read", "Could not read the incident. Nothing was changed. Click again in a minute.")
	}
	r.err = err
	return r
}
