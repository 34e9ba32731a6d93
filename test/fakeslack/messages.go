package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Message is one message of a channel as it is now, with everything it was.
type Message struct {
	Channel  string
	TS       string
	ThreadTS string
	// User wrote it; FromBot says that this app did.
	User    string
	FromBot bool
	Text    string
	// Blocks are the blocks as Slack returns them: with a block_id each and an action_id on each element.
	Blocks   json.RawMessage
	Metadata *Metadata
	Edited   bool
	// Versions are all contents the message has had, the current one last.
	Versions []Version
	// UnfurlLinks and UnfurlMedia are nil when the bot did not say.
	UnfurlLinks *bool
	UnfurlMedia *bool
	// Broadcast marks a reply that is also shown in the channel.
	Broadcast bool
}

// Version is one content of a message.
type Version struct {
	At       time.Time
	Text     string
	Blocks   json.RawMessage
	Metadata *Metadata
}

// message is a Message whose content is that of its versions.
type message struct {
	Message
	deleted bool
}

func (m *message) current() Version { return m.Versions[len(m.Versions)-1] }

// topLevel reports whether the message stands in the channel and not in a thread.
func (m *message) topLevel() bool { return m.ThreadTS == "" || m.ThreadTS == m.TS }

func (m *message) snapshot() Message {
	out, v := m.Message, m.current()
	out.Text, out.Blocks, out.Metadata = v.Text, v.Blocks, v.Metadata
	out.Edited, out.Versions = len(m.Versions) > 1, slices.Clone(m.Versions)
	return out
}

// Messages returns a channel's messages without replies, oldest first.
func (s *Server) Messages(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages[channel] {
		if !m.deleted && m.topLevel() {
			out = append(out, m.snapshot())
		}
	}
	return out
}

// Thread returns the replies to a message, oldest first, without the message itself.
func (s *Server) Thread(channel, ts string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Message
	for _, m := range s.messages[channel] {
		if !m.deleted && !m.topLevel() && m.ThreadTS == ts {
			out = append(out, m.snapshot())
		}
	}
	return out
}

// Message returns one message or reply.
func (s *Server) Message(channel, ts string) (Message, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.findMessage(channel, ts); m != nil {
		return m.snapshot(), true
	}
	return Message{}, false
}

func (s *Server) findMessage(channel, ts string) *message {
	for _, m := range s.messages[channel] {
		if m.TS == ts && !m.deleted {
			return m
		}
	}
	return nil
}

// PostAs writes a message as a person and returns its timestamp. An unknown user or channel is created on the spot.
func (s *Server) PostAs(user, channel, text, threadTS string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.users[user]; !ok {
		s.putUser(User{ID: user})
	}
	if _, ok := s.channels[channel]; !ok {
		s.putChannel(Channel{ID: channel})
	}
	m := &message{Message: Message{Channel: channel, ThreadTS: threadTS, User: user}}
	s.addMessage(m, Version{Text: text})
	return m.TS
}

// DeleteMessage removes a message as a person with the right to would. It reports whether the message was there.
func (s *Server) DeleteMessage(channel, ts string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.findMessage(channel, ts)
	if m == nil {
		return false
	}
	m.deleted = true
	s.changed()
	return true
}

func (s *Server) addMessage(m *message, v Version) {
	m.TS = s.nextTS()
	v.At = s.now()
	m.Versions = append(m.Versions, v)
	s.messages[m.Channel] = append(s.messages[m.Channel], m)
	s.changed()
}

// nextTS returns a timestamp that is later than every one before it.
func (s *Server) nextTS() string {
	s.lastMicros = max(s.lastMicros+1, s.now().UnixMicro())
	return fmt.Sprintf("%d.%06d", s.lastMicros/1e6, s.lastMicros%1e6)
}

// nextID returns an id that was not given before.
func (s *Server) nextID(prefix string) string {
	s.lastID++
	return fmt.Sprintf("%s%06d", prefix, s.lastID)
}

func (s *Server) postMessage(r request) (answer, *slackError) {
	c, e := s.lookupChannel(r.args["channel"], true)
	switch {
	case e != nil:
		return nil, e
	case c.Archived:
		return nil, refuse("is_archived")
	case c.BotAbsent && (c.Private || !slices.Contains(s.opts.Scopes, "chat:write.public")):
		return nil, refuse("not_in_channel")
	}
	v, e := s.readContent(r, nil)
	if e != nil {
		return nil, e
	}
	thread, e := s.checkThread(c.ID, r.args["thread_ts"])
	if e != nil {
		return nil, e
	}
	s.judgeBroadcast(r, thread != "")
	m := &message{Message: Message{
		Channel: c.ID, ThreadTS: thread, User: BotUserID, FromBot: true,
		UnfurlLinks: r.flagPtr("unfurl_links"), UnfurlMedia: r.flagPtr("unfurl_media"),
		Broadcast: thread != "" && r.flag("reply_broadcast"),
	}}
	s.addMessage(m, v)
	return answer{"channel": c.ID, "ts": m.TS, "message": s.wire(m, true)}, nil
}

// checkThread answers an error where Slack would put the reply somewhere that
// the bot did not mean: a thread that does not exist, or a reply's own timestamp.
func (s *Server) checkThread(channel, threadTS string) (string, *slackError) {
	if threadTS == "" {
		return "", nil
	}
	parent := s.findMessage(channel, threadTS)
	switch {
	case parent == nil:
		return "", refuse("thread_not_found")
	case !parent.topLevel():
		return "", refuse("cannot_reply_to_message")
	}
	return threadTS, nil
}

// judgeBroadcast notes what Slack ignores: only a reply can be shown in the channel, too.
func (s *Server) judgeBroadcast(r request, reply bool) {
	if r.flag("reply_broadcast") && !reply {
		s.unexpected = append(s.unexpected, r.method+": reply_broadcast on a message that is no reply")
	}
}

func (s *Server) updateMessage(r request) (answer, *slackError) {
	c, e := s.lookupChannel(r.args["channel"], false)
	switch {
	case e != nil:
		return nil, e
	case c.Archived:
		return nil, refuse("is_inactive")
	}
	m := s.findMessage(c.ID, r.args["ts"])
	switch {
	case m == nil:
		return nil, refuse("message_not_found")
	case !m.FromBot:
		return nil, refuse("cant_update_message")
	case len([]rune(r.args["text"])) > maxUpdateText:
		return nil, refuse("msg_too_long")
	}
	s.judgeBroadcast(r, !m.topLevel())
	old := m.current()
	v, e := s.readContent(r, &old)
	if e != nil {
		return nil, e
	}
	v.At = s.now()
	m.Versions = append(m.Versions, v)
	m.Broadcast = m.Broadcast || (!m.topLevel() && r.flag("reply_broadcast"))
	s.changed()
	return answer{"channel": c.ID, "ts": m.TS, "text": v.Text, "message": s.wire(m, true)}, nil
}
