package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/notify"
)

// formCallback is the callback id of our forms.
const formCallback = "vllm_medic_decide"

// The inputs of a form: each is alone in its block, which has the same name.
const (
	inputReason = "reason"
	inputValue  = "value"
	inputSnooze = "snooze"
)

// snoozes are how long a denial may keep the same question away; the first one is chosen when nobody chooses.
func snoozes() []time.Duration { return []time.Duration{0, time.Hour, 4 * time.Hour, 24 * time.Hour} }

const (
	// maxMetadata bounds what a form carries (docs.slack.dev/reference/views/modal-views).
	maxMetadata = 3000
	// maxModalTitle bounds the title and the buttons of a form.
	maxModalTitle = 24
)

// formOrigin is the click that a form was opened for. It comes back with the form, and is held against the incident as
// the click itself was.
type formOrigin struct {
	Action    string `json:"a"`
	Value     string `json:"v"`
	Channel   string `json:"c"`
	MessageTS string `json:"m"`
}

// filled is what a person wrote into a form.
type filled struct {
	Reason string
	// Value is what was chosen for the step, Snooze for how long the question is kept away; empty where the form did not
	// ask.
	Value, Snooze string
}

// modal is what a click opens before it counts.
type modal struct {
	title, submit string
	// text says what it is about, in mrkdwn.
	text []string
	// reason asks for a reason, needed refuses to go on without one; snooze asks for how long the question is kept away.
	reason, needed, snooze bool
	// from and to are the values between which one may be chosen, asked whether it may.
	from, to int64
	asked    bool
}

// modalFor is the form for a request; false when a click is enough. The approvers are those of the step at this moment.
func (i *Interactions) modalFor(inc incident.Incident, r request) (modal, bool) {
	if r.decision == nil {
		return modal{}, false
	}
	switch r.decision.Verb {
	case incident.Deny:
		return denyForm(inc, r), true
	case incident.Approve:
		s, _ := inc.Step(r.decision.Step)
		a := inc.Deciders(i.approvers(inc.Pool, s.Kind), i.now())
		f := approveForm(inc, s, a)
		return f, f.needed || f.asked
	case incident.Undo, incident.Keep:
	}
	return modal{}, false
}

func denyForm(inc incident.Incident, r request) modal {
	f := modal{title: "Deny", submit: "Deny", reason: true, snooze: r.decision.Step == ""}
	steps := inc.Proposed()
	if s, ok := inc.Step(r.decision.Step); ok {
		steps = []incident.Step{s}
	}
	for _, s := range steps {
		f.text = append(f.text, "• "+escape(present.Name(s), 150))
	}
	f.text = append(f.text, "Nothing is changed.")
	return f
}

func approveForm(inc incident.Incident, s incident.Step, a incident.Approvers) modal {
	f := modal{title: "Approve", submit: "Approve", reason: true, needed: a.Reason}
	f.text = []string{"*" + escape(present.Name(s), 150) + "*"}
	if text := present.NothingChanges(inc); text != "" {
		f.text = append(f.text, text)
	}
	if s.Needs.Restart {
		f.text = append(f.text, "⚠️ *Restarts the pods.*")
	}
	if a.Narrow {
		f.from, f.to, f.asked = inc.Narrowable(s)
	}
	return f
}

// view draws the form. ok is false when it would not keep Slack's limits.
func (f modal) view(c click, s incident.Step) (slackgo.ModalViewRequest, bool) {
	meta, err := json.Marshal(formOrigin{c.Action, c.Value, c.Channel, c.MessageTS})
	if err != nil || len(meta) > maxMetadata {
		return slackgo.ModalViewRequest{}, false
	}
	blocks := []slackgo.Block{slackgo.NewSectionBlock(mrkdwn(fit(f.text, maxSection)), nil, nil)}
	if f.asked {
		blocks = append(blocks, f.valueInput(s))
	}
	if f.reason {
		in := slackgo.NewPlainTextInputBlockElement(nil, inputReason)
		in.MaxLength, in.Multiline = maxReason, true
		b := slackgo.NewInputBlock(inputReason, plain("Reason"), nil, in)
		b.Optional = !f.needed
		blocks = append(blocks, b)
	}
	if f.snooze {
		blocks = append(blocks, snoozeInput())
	}
	return slackgo.ModalViewRequest{
		Type: slackgo.VTModal, CallbackID: formCallback, PrivateMetadata: string(meta),
		Title:  plain(present.Clip(f.title, maxModalTitle)),
		Submit: plain(present.Clip(f.submit, maxModalTitle)), Close: plain("Cancel"),
		Blocks: slackgo.Blocks{BlockSet: blocks},
	}, true
}

// valueInput takes a value after the present one, up to the proposed one.
func (f modal) valueInput(s incident.Step) *slackgo.InputBlock {
	least, most := f.from+1, f.to
	if f.to < f.from {
		least, most = f.to, f.from-1
	}
	in := slackgo.NewNumberInputBlockElement(nil, inputValue, false)
	in.InitialValue = present.Line(present.ValueText(s.To))
	in.MinValue, in.MaxValue = strconv.FormatInt(least, 10), strconv.FormatInt(most, 10)
	b := slackgo.NewInputBlock(inputValue, plain(fmt.Sprintf("New value (now %d, proposed %d)", f.from, f.to)),
		plain("With another value nothing is applied yet: the bot checks it and asks about the new plan."), in)
	return b
}

// snoozeInput says how long the same diagnosis is not asked about on this pool.
func snoozeInput() *slackgo.InputBlock {
	var options []*slackgo.OptionBlockObject
	for _, d := range snoozes() {
		label := "Until the diagnosis changes"
		if d > 0 {
			label = "For " + incident.FormatDuration(d) + ", also if it comes back"
		}
		options = append(options, slackgo.NewOptionBlockObject(d.String(), plain(label), nil))
	}
	in := slackgo.NewOptionsSelectBlockElement(slackgo.OptTypeStatic, nil, inputSnooze, options...)
	in.InitialOption = options[0]
	return slackgo.NewInputBlock(inputSnooze, plain("Don't ask about this diagnosis again"), nil, in)
}

// formJSON is what is needed of a submitted form.
type formJSON struct {
	CallbackID      string `json:"callback_id"`
	PrivateMetadata string `json:"private_metadata"`
	State           struct {
		Values map[string]map[string]struct {
			Value    string `json:"value"`
			Selected *struct {
				Value string `json:"value"`
			} `json:"selected_option"`
		} `json:"values"`
	} `json:"state"`
}

// decodeForm reads a submitted form as the click that it was opened for, and what was written into it.
func (p payloadJSON) decodeForm() (click, error) {
	if p.View == nil || p.View.CallbackID != formCallback {
		return click{}, fmt.Errorf("%w: not a form of ours", errNotForUs)
	}
	var from formOrigin
	if err := json.Unmarshal([]byte(p.View.PrivateMetadata), &from); err != nil {
		return click{}, errors.New("the form does not carry what this bot puts into it")
	}
	c := click{
		Channel: from.Channel, MessageTS: from.MessageTS, Action: from.Action, Value: from.Value,
		Form: &filled{
			Reason: strings.TrimSpace(p.View.State.Values[inputReason][inputReason].Value),
			Value:  strings.TrimSpace(p.View.State.Values[inputValue][inputValue].Value),
		},
	}
	if chosen := p.View.State.Values[inputSnooze][inputSnooze].Selected; chosen != nil {
		c.Form.Snooze = chosen.Value
	}
	if c.Channel == "" || c.MessageTS == "" || c.Action == "" {
		return click{}, errors.New("the form lacks channel, message or action")
	}
	return c, nil
}

// fill puts what was written into the request. A chosen value makes it a wish for that value in place of an approval.
func (r request) fill(inc incident.Incident, f filled) request {
	if r.decision == nil {
		return r
	}
	d := *r.decision
	d.Reason = present.Clip(f.Reason, maxReason)
	for _, offered := range snoozes() {
		if d.Verb == incident.Deny && f.Snooze == offered.String() {
			d.Snooze = offered
		}
	}
	r.decision = &d
	s, _ := inc.Step(d.Step)
	if d.Verb == incident.Approve && f.Value != "" && f.Value != s.To.Text {
		r.action, r.decision = actionNarrow, nil
		r.event = incident.Narrowed{
			Step: d.Step, Digest: d.Digest, To: incident.Set(f.Value), By: d.By, Reason: d.Reason,
		}
	}
	return r
}

// ask opens a form where a click is not enough, and says whether it did. A denial counts without its form where none
// can have been open: the click is done for the first time, and the form was certainly refused. Everything else decides
// nothing, because the person may have closed the form, or have it before them.
func (i *Interactions) ask(ctx context.Context, c click, inc incident.Incident, r request) (bool, *refusal) {
	f, needs := i.modalFor(inc, r)
	if !needs {
		return false, nil
	}
	s, _ := inc.Step(r.decision.Step)
	view, ok := f.view(c, s)
	err, never := errors.New("it does not fit into Slack's limits"), true
	if ok {
		err = i.client.openView(ctx, c.Trigger, view)
		never = refusedToOpen(err)
	}
	switch {
	case err == nil:
		return true, nil
	case r.decision.Verb == incident.Deny && c.First && never:
		i.logger.WarnContext(ctx, "a denial was taken without its form", "incident", inc.ID, "user", c.User, "err", err)
		return false, nil
	}
	no := refuse("the form could not be opened", "Slack didn't open the form for this click, so it decided nothing. "+
		"Click again, or decide with `vllm-medic incidents`.")
	no.err = err
	return false, no
}

// openView opens a form. The trigger is of the click, holds for three seconds, and is used up by one call.
func (c *Client) openView(ctx context.Context, trigger string, view slackgo.ModalViewRequest) error {
	return c.once(ctx, everywhere("views.open"), func(ctx context.Context) error {
		_, err := c.api().OpenViewContext(ctx, trigger, view)
		return err
	})
}

// refusedToOpen says that Slack certainly opened no form with the trigger, neither now nor before.
func refusedToOpen(err error) bool {
	no, refused := errors.AsType[*notify.PermanentError](err)
	if !refused {
		return false
	}
	a, answered := errors.AsType[*answerError](no.Err)
	return answered && a.code != "exchanged_trigger_id"
}

// whisper answers a person privately where there is no address for it, as after a form. It is not repeated: seeing it
// twice is worse than not at all, and the message itself shows what happened.
func (c *Client) whisper(ctx context.Context, channel, user, text string) error {
	return c.once(ctx, everywhere("chat.postEphemeral"), func(ctx context.Context) error {
		_, err := c.api().PostEphemeralContext(ctx, channel, user, slackgo.MsgOptionText(text, false))
		return err
	})
}
