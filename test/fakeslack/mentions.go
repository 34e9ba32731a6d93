package fakeslack

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Mention is a piece of a message that does more than be read: it notifies somebody or it can be followed.
type Mention struct {
	Channel string
	TS      string
	// Private marks an ephemeral message or a response_url answer.
	Private bool
	// At is where it stands: "text" or a JSON pointer into the blocks.
	At string
	// Kind is everyone, user, usergroup, channel, link, bare_link or bare_everyone. The bare kinds stand in the text
	// without Slack's <...>: Slack makes a link of such a URL, and documents that it parses "certain mentions", unless
	// the text object is verbatim.
	Kind string
	Text string
}

var (
	token        = regexp.MustCompile(`<([@#!][^<>]*|[a-zA-Z][a-zA-Z0-9+.-]*:[^<>]*)>`)
	bareLink     = regexp.MustCompile(`(?i)\bhttps?://[^\s<>|]+`)
	bareEveryone = regexp.MustCompile(`(^|[^\w@])@(channel|here|everyone)\b`)
)

// LiveMentions returns every mention and link that is live in the current version of a message, a reply or a private
// answer, links under Options.AllowedLinks excepted. Tests with hostile alert texts want it empty.
func (s *Server) LiveMentions() []Mention {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Mention
	for _, channel := range s.channelOrder {
		for _, m := range s.messages[channel] {
			if v := m.current(); m.FromBot && !m.deleted {
				out = append(out, s.scan(Mention{Channel: m.Channel, TS: m.TS}, v.Text, v.Blocks)...)
			}
		}
	}
	for _, e := range s.ephemerals {
		out = append(out, s.scan(Mention{Channel: e.Channel, TS: e.TS, Private: true}, e.Text, e.Blocks)...)
	}
	return out
}

func (s *Server) scan(at Mention, topText string, blocks json.RawMessage) []Mention {
	var out []Mention
	s.scanText(at, "text", topText, false, &out)
	for i, v := range decodeTree(blocks) {
		s.scanTree(at, fmt.Sprintf("/blocks/%d", i), v, &out)
	}
	return out
}

func (s *Server) scanTree(at Mention, where string, v any, out *[]Mention) {
	switch v := v.(type) {
	case []any:
		for i, item := range v {
			s.scanTree(at, fmt.Sprintf("%s/%d", where, i), item, out)
		}
	case object:
		switch text(v, "type") {
		case mrkdwn:
			s.scanText(at, where+"/text", text(v, "text"), v["verbatim"] == true, out)
		case "user": // of a rich text, the only one of its elements that calls anybody
			s.found(at, where, "user", "<@"+text(v, "user_id")+">", out)
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			s.scanTree(at, where+"/"+key, v[key], out)
		}
	}
}

func (s *Server) scanText(at Mention, where, body string, verbatim bool, out *[]Mention) {
	for _, hit := range token.FindAllStringSubmatch(body, -1) {
		inner, _, _ := strings.Cut(hit[1], "|")
		switch {
		case strings.HasPrefix(inner, "@"):
			s.found(at, where, "user", hit[0], out)
		case strings.HasPrefix(inner, "#"):
			s.found(at, where, "channel", hit[0], out)
		case strings.HasPrefix(inner, "!subteam"):
			s.found(at, where, "usergroup", hit[0], out)
		case strings.HasPrefix(inner, "!date"):
			// A date is only formatting.
		case strings.HasPrefix(inner, "!"):
			s.found(at, where, "everyone", hit[0], out)
		default:
			s.found(at, where, "link", inner, out)
		}
	}
	if verbatim {
		return
	}
	rest := token.ReplaceAllString(body, " ")
	for _, hit := range bareLink.FindAllString(rest, -1) {
		s.found(at, where, "bare_link", hit, out)
	}
	for _, hit := range bareEveryone.FindAllString(rest, -1) {
		s.found(at, where, "bare_everyone", strings.TrimSpace(hit), out)
	}
}

func (s *Server) found(m Mention, where, kind, what string, out *[]Mention) {
	if kind == "link" || kind == "bare_link" {
		for _, prefix := range s.opts.AllowedLinks {
			if strings.HasPrefix(what, prefix) {
				return
			}
		}
	}
	m.At, m.Kind, m.Text = where, kind, what
	*out = append(*out, m)
}
