package fakeslack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

var (
	// ErrRefused says that the bot answered a click with another status than 200.
	ErrRefused = errors.New("the bot did not answer 200")
	// ErrNoAnswer says that the bot did not answer in time, or could not be reached.
	ErrNoAnswer = errors.New("the bot did not answer")
	// ErrNotVisible says that the person does not see what they are to click.
	ErrNotVisible = errors.New("not visible")
	// ErrDeclined says that the person said no in the confirmation dialog.
	ErrDeclined = errors.New("declined in the confirmation dialog")
)

// ClickRequest says who clicks what. The second half tampers with the payload in ways in which Slack never would.
type ClickRequest struct {
	User      string `json:"user"`
	Channel   string `json:"channel"`
	MessageTS string `json:"message_ts"`
	ActionID  string `json:"action_id"`
	// BlockID is needed when several blocks have this ActionID.
	BlockID string `json:"block_id,omitempty"`
	// Option is the value chosen in a select or overflow menu.
	Option string `json:"option,omitempty"`
	// StaleVersion clicks on what the message was: 1 is its first version. 0 is now.
	StaleVersion int `json:"stale_version,omitempty"`
	// Decline says no in the button's confirmation dialog, so nothing is sent.
	Decline bool `json:"decline,omitempty"`

	// Value replaces the button's value.
	Value *string `json:"value,omitempty"`
	// BadSignature signs with another secret, Unsigned not at all.
	BadSignature bool `json:"bad_signature,omitempty"`
	Unsigned     bool `json:"unsigned,omitempty"`
	// Age is how old the signed timestamp is; negative lies in the future.
	Age time.Duration `json:"-"`
	// Replay sends an earlier click once more, byte for byte; all else is ignored.
	Replay string `json:"replay,omitempty"`
	// These replace what the payload says about its origin.
	AppID            string `json:"app_id,omitempty"`
	TeamID           string `json:"team_id,omitempty"`
	EnterpriseID     string `json:"enterprise_id,omitempty"`
	UserTeamID       string `json:"user_team_id,omitempty"`
	PayloadChannel   string `json:"payload_channel,omitempty"`
	PayloadMessageTS string `json:"payload_message_ts,omitempty"`
}

// ClickResult is what came of a click.
type ClickResult struct {
	// ID names the click for Answers, WaitAnswers and Replay.
	ID     string
	Status int
	Body   string
	// Confirmed says that a confirmation dialog was shown and agreed to.
	Confirmed   bool
	TriggerID   string
	ResponseURL string
	Took        time.Duration
}

// sentClick is kept so that it can be replayed. A replay has the response_url of
// the first sending, so its answers are those of root from since on.
type sentClick struct {
	header  http.Header
	body    []byte
	payload []byte // the body as it is in an envelope
	forged  bool   // the signature, or its time, is not what Slack would send
	result  ClickResult
	root    string
	since   int // index into ephemerals
}

// Click sends a click to the interactivity URL and waits for the answer, at most Options.ClickTimeout. The result is
// filled in as far as it got, also with an error; see ErrRefused, ErrNoAnswer, ErrNotVisible and ErrDeclined.
func (s *Server) Click(ctx context.Context, c ClickRequest) (ClickResult, error) {
	sent, err := s.prepareClick(c)
	if err != nil {
		return ClickResult{}, fmt.Errorf("click %s on %s in %s: %w", c.ActionID, c.MessageTS, c.Channel, err)
	}
	result, err := s.deliver(ctx, sent)
	if err != nil {
		return result, fmt.Errorf("click %s by %s: %w", c.ActionID, c.User, err)
	}
	return result, nil
}

func (s *Server) prepareClick(c ClickRequest) (*sentClick, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.Replay != "" {
		old, ok := s.clicks[c.Replay]
		if !ok {
			return nil, fmt.Errorf("%w: no click %q to replay", ErrNotVisible, c.Replay)
		}
		again := &sentClick{
			header: old.header.Clone(), body: old.body, payload: old.payload, result: old.result, root: old.root,
			since: len(s.ephemerals),
		}
		again.result.ID = s.nextID("click")
		s.clicks[again.result.ID] = again
		return again, nil
	}
	t, err := s.findTarget(c)
	if err != nil {
		return nil, err
	}
	sent := &sentClick{result: ClickResult{ID: s.nextID("click"), Confirmed: confirmOf(t.element.object) != nil}}
	payload, err := s.clickPayload(c, t, &sent.result)
	if err != nil {
		return nil, err
	}
	sent.root = sent.result.ID
	s.seal(sent, payload, signing{bad: c.BadSignature, none: c.Unsigned, age: c.Age})
	s.clicks[sent.result.ID] = sent
	return sent, nil
}

// target is what a person clicks on.
type target struct {
	user    User
	channel Channel
	message *message
	version int        // of message, from 1
	private *Ephemeral // instead of message
	element placed
	others  []placed
}

func (s *Server) findTarget(c ClickRequest) (target, error) {
	var t target
	var ok bool
	if t.user, ok = s.users[c.User]; !ok {
		return t, fmt.Errorf("%w: no user %q", ErrNotVisible, c.User)
	}
	if t.channel, ok = s.channels[c.Channel]; !ok {
		return t, fmt.Errorf("%w: no channel %q", ErrNotVisible, c.Channel)
	}
	if !t.channel.hasMember(c.User) {
		return t, fmt.Errorf("%w: %s is not in %s", ErrNotVisible, c.User, c.Channel)
	}
	blocks, err := s.findContent(c, &t)
	if err != nil {
		return t, err
	}
	t.others = interactives(blocks)
	var hits []placed
	for _, p := range t.others {
		if p.actionID() == c.ActionID && (c.BlockID == "" || p.blockID == c.BlockID) {
			hits = append(hits, p)
		}
	}
	switch {
	case len(hits) == 0:
		return t, fmt.Errorf("%w: no element %q; there are %v", ErrNotVisible, c.ActionID, actionIDs(t.others))
	case len(hits) > 1:
		return t, fmt.Errorf("%w: %d elements have action_id %q, say which block_id", ErrNotVisible, len(hits), c.ActionID)
	}
	t.element = hits[0]
	if c.Decline {
		if confirmOf(t.element.object) == nil {
			return t, fmt.Errorf("%w: %q has no confirmation dialog to decline", ErrNotVisible, c.ActionID)
		}
		return t, ErrDeclined
	}
	return t, nil
}

// findContent returns the blocks that the person has on the screen.
func (s *Server) findContent(c ClickRequest, t *target) ([]byte, error) {
	if t.private = s.findEphemeral(c.Channel, c.MessageTS); t.private != nil {
		if t.private.User != c.User {
			return nil, fmt.Errorf("%w: the message is private to %s", ErrNotVisible, t.private.User)
		}
		return t.private.Blocks, nil
	}
	if t.message = s.findMessage(c.Channel, c.MessageTS); t.message == nil {
		return nil, fmt.Errorf("%w: no such message", ErrNotVisible)
	}
	n := len(t.message.Versions)
	t.version = n
	if c.StaleVersion != 0 {
		if c.StaleVersion < 1 || c.StaleVersion >= n {
			return nil, fmt.Errorf("%w: version %d is not an older one of %d", ErrNotVisible, c.StaleVersion, n)
		}
		t.version = c.StaleVersion
	}
	return t.message.Versions[t.version-1].Blocks, nil
}

func actionIDs(all []placed) []string {
	out := make([]string, len(all))
	for i, p := range all {
		out[i] = p.actionID()
	}
	return slices.Compact(out)
}
