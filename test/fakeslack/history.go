package fakeslack

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxPage is the largest limit that Slack takes for history and replies.
	maxPage            = 999
	defaultHistoryPage = 100
	defaultThreadPage  = 999
)

var timestamp = regexp.MustCompile(`^[0-9]{1,12}(\.[0-9]{1,6})?$`)

// window is the time range and page of one history request.
type window struct {
	oldest    string // sortable; empty: open
	inclusive bool
	limit     int
	after     string // the page starts behind this timestamp; empty: at the start
	metadata  bool
}

func (s *Server) history(r request) (answer, *slackError) {
	c, w, e := s.readWindow(r, defaultHistoryPage)
	if e != nil {
		return nil, e
	}
	var found []*message
	for _, m := range s.messages[c.ID] {
		if !m.deleted && (m.topLevel() || m.Broadcast) && w.contains(m.TS) {
			found = append(found, m)
		}
	}
	// With oldest Slack returns the page nearest to it, else the latest one; inside a page the newest is first.
	forward := w.oldest != ""
	if !forward {
		slices.Reverse(found)
	}
	page, next := w.page(found, forward)
	if forward {
		slices.Reverse(page)
	}
	return s.pageAnswer(page, next, w), nil
}

func (s *Server) replies(r request) (answer, *slackError) {
	c, w, e := s.readWindow(r, defaultThreadPage)
	if e != nil {
		return nil, e
	}
	root := s.findMessage(c.ID, r.args["ts"])
	if root == nil {
		return nil, refuse("thread_not_found")
	}
	rootTS := cmp.Or(root.ThreadTS, root.TS)
	var found []*message
	for _, m := range s.messages[c.ID] {
		inThread := m.TS == rootTS || m.ThreadTS == rootTS
		if !m.deleted && inThread && (m.TS == rootTS || w.contains(m.TS)) {
			found = append(found, m)
		}
	}
	page, next := w.page(found, true)
	return s.pageAnswer(page, next, w), nil
}

func (s *Server) readWindow(r request, page int) (Channel, window, *slackError) {
	w := window{inclusive: r.flag("inclusive"), metadata: r.flag("include_all_metadata") && !s.opts.DropMetadata}
	c, e := s.lookupChannel(r.args["channel"], false)
	switch {
	case e != nil:
		return c, w, e
	case c.BotAbsent:
		return c, w, refuse("not_in_channel")
	case !slices.Contains(s.opts.Scopes, historyScope(c)):
		return c, w, &slackError{code: "missing_scope", needed: historyScope(c), provided: strings.Join(s.opts.Scopes, ",")}
	}
	if w.limit, e = r.integer("limit", page, "invalid_limit"); e != nil {
		return c, w, e
	}
	if w.limit < 1 || w.limit > maxPage {
		return c, w, refuse("invalid_limit")
	}
	// "0" is Slack's default.
	if raw := r.args["oldest"]; raw != "" && raw != "0" {
		if !timestamp.MatchString(raw) {
			return c, w, refuse("invalid_ts_oldest")
		}
		w.oldest = sortable(raw)
	}
	w.after, e = readCursor(r.args["cursor"])
	return c, w, e
}

func historyScope(c Channel) string {
	if c.Private {
		return "groups:history"
	}
	return "channels:history"
}

// sortable pads a timestamp so that string order is time order.
func sortable(ts string) string {
	seconds, micros, _ := strings.Cut(ts, ".")
	return strings.Repeat("0", 12-len(seconds)) + seconds + "." + micros + strings.Repeat("0", 6-len(micros))
}

func (w window) contains(ts string) bool {
	order := cmp.Compare(sortable(ts), w.oldest)
	return order > 0 || (order == 0 && w.inclusive)
}

// page cuts one page out of messages that are in page order and returns the cursor of the next one, if there is more.
func (w window) page(found []*message, ascending bool) ([]*message, string) {
	start := 0
	if w.after != "" {
		start = len(found)
		for i, m := range found {
			c := cmp.Compare(sortable(m.TS), w.after)
			if (ascending && c > 0) || (!ascending && c < 0) {
				start = i
				break
			}
		}
	}
	rest := found[start:]
	if len(rest) <= w.limit {
		return slices.Clone(rest), ""
	}
	return slices.Clone(rest[:w.limit]), makeCursor(rest[w.limit-1].TS)
}

func makeCursor(ts string) string {
	return base64.StdEncoding.EncodeToString([]byte("next_ts:" + sortable(ts)))
}

func readCursor(cursor string) (string, *slackError) {
	if cursor == "" {
		return "", nil
	}
	raw, err := base64.StdEncoding.DecodeString(cursor)
	ts, ok := strings.CutPrefix(string(raw), "next_ts:")
	if err != nil || !ok || !timestamp.MatchString(ts) {
		return "", refuse("invalid_cursor")
	}
	return ts, nil
}

func (s *Server) pageAnswer(page []*message, next string, w window) answer {
	list := make([]answer, len(page))
	for i, m := range page {
		list[i] = s.wire(m, w.metadata)
	}
	out := answer{"messages": list, "has_more": next != ""}
	if next != "" {
		out["response_metadata"] = answer{"next_cursor": next}
	}
	return out
}

// wire returns a message as Slack sends it, in answers and in payloads.
func (s *Server) wire(m *message, metadata bool) answer {
	return s.wireVersion(m, len(m.Versions), metadata)
}

// wireVersion returns a message as it was at its n-th version, from 1.
func (s *Server) wireVersion(m *message, n int, metadata bool) answer {
	v := m.Versions[n-1]
	out := answer{"type": "message", "user": m.User, "text": v.Text, "ts": m.TS, "team": TeamID}
	if m.FromBot {
		out["bot_id"], out["app_id"] = botID, AppID
	}
	if v.Blocks != nil {
		out["blocks"] = v.Blocks
	}
	if metadata && v.Metadata != nil {
		out["metadata"] = v.Metadata
	}
	if n > 1 {
		out["edited"] = answer{"user": m.User, "ts": formatTS(v.At)}
	}
	s.wireThread(out, m)
	return out
}

func (s *Server) wireThread(out answer, m *message) {
	if !m.topLevel() {
		out["thread_ts"] = m.ThreadTS
		if m.Broadcast {
			out["subtype"] = "thread_broadcast"
			if root := s.findMessage(m.Channel, m.ThreadTS); root != nil {
				out["root"] = s.wire(root, false)
			}
		}
		return
	}
	count := 0
	for _, reply := range s.messages[m.Channel] {
		if !reply.deleted && !reply.topLevel() && reply.ThreadTS == m.TS {
			count++
		}
	}
	if count > 0 {
		out["thread_ts"], out["reply_count"] = m.TS, count
	}
}

// decodeTree turns stored JSON into maps and slices; stored JSON is always valid.
func decodeTree(raw json.RawMessage) []any {
	var tree []any
	if err := json.Unmarshal(raw, &tree); err != nil {
		return nil
	}
	return tree
}
