package fakeslack

import (
	"encoding/json"
	"slices"
)

// Ephemeral is something that one person saw and nobody else: a message of
// chat.postEphemeral, or an answer sent to a click's response_url.
type Ephemeral struct {
	Channel  string
	User     string
	TS       string
	ThreadTS string
	Text     string
	Blocks   json.RawMessage
	// ClickID is the click that it answers; empty for chat.postEphemeral.
	ClickID string
	// MessageTS is the message that was clicked.
	MessageTS string
}

// VisibleText returns all that the person could read.
func (e Ephemeral) VisibleText() string { return visibleText(e.Text, e.Blocks) }

// Ephemerals returns everything that was shown to one person only, oldest first.
func (s *Server) Ephemerals() []Ephemeral {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.ephemerals)
}

// Answers returns what one click got through its response_url, oldest first.
func (s *Server) Answers(clickID string) []Ephemeral {
	s.mu.Lock()
	defer s.mu.Unlock()
	sent, ok := s.clicks[clickID]
	if !ok {
		return nil
	}
	later := slices.Clone(s.ephemerals[sent.since:])
	return slices.DeleteFunc(later, func(e Ephemeral) bool { return e.ClickID != sent.root })
}

func (s *Server) findEphemeral(channel, ts string) *Ephemeral {
	i := slices.IndexFunc(s.ephemerals, func(e Ephemeral) bool { return e.Channel == channel && e.TS == ts })
	if i < 0 {
		return nil
	}
	return &s.ephemerals[i]
}

func (s *Server) addEphemeral(e Ephemeral) string {
	e.TS = s.nextTS()
	s.ephemerals = append(s.ephemerals, e)
	s.changed()
	return e.TS
}

func (s *Server) postEphemeral(r request) (answer, *slackError) {
	c, e := s.lookupChannel(r.args["channel"], false)
	switch {
	case e != nil:
		return nil, e
	case c.Archived:
		return nil, refuse("is_archived")
	case c.BotAbsent:
		return nil, refuse("not_in_channel")
	}
	if u, ok := s.users[r.args["user"]]; !ok || u.Deleted || !c.hasMember(u.ID) {
		return nil, refuse("user_not_in_channel")
	}
	v, e := s.readContent(r, nil)
	if e != nil {
		return nil, e
	}
	ts := s.addEphemeral(Ephemeral{
		Channel: c.ID, User: r.args["user"], ThreadTS: r.args["thread_ts"], Text: v.Text, Blocks: v.Blocks,
	})
	return answer{"message_ts": ts}, nil
}
