package fakeslack

import (
	"net/http"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/truth"
)

// Told returns each message that the bot wrote, with all that it ever said and its thread, the oldest first.
func (s *Server) Told() []truth.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*message
	for _, channel := range s.messages {
		all = append(all, channel...)
	}
	all = slices.DeleteFunc(all, func(m *message) bool { return !m.FromBot })
	slices.SortFunc(all, func(a, b *message) int { return strings.Compare(a.TS, b.TS) })
	var out []truth.Message
	at := map[string]int{}
	for _, m := range all {
		n, reply := at[m.Channel+m.ThreadTS]
		if m.topLevel() || !reply {
			n = len(out)
			at[m.Channel+m.TS] = n
			out = append(out, truth.Message{})
		}
		for _, v := range m.Versions {
			if m.topLevel() {
				out[n].Versions = append(out[n].Versions, v.Told())
			} else {
				out[n].Thread = append(out[n].Thread, v.Told())
			}
		}
	}
	return out
}

// Told returns what a person could read in this version.
func (v Version) Told() truth.Version {
	out := truth.Version{At: v.At, Push: readable(v.Text), Text: v.VisibleText()}
	for _, b := range v.Buttons() {
		out.Buttons = append(out.Buttons, truth.Button{Text: b.Text, Action: b.ActionID, Style: b.Style})
	}
	return out
}

func (s *Server) serveTold(w http.ResponseWriter, _ *http.Request) {
	jsonReply(http.StatusOK, s.Told()).send(w)
}
