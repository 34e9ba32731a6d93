package fakeslack

import (
	"cmp"
	"embed"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"time"
)

//go:embed page
var pageFiles embed.FS

// pageRoutes serve the channel as a person sees it.
func (s *Server) pageRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /_page/feed", s.serveFeed)
	mux.HandleFunc("GET /_page/events", s.serveEvents)
	mux.HandleFunc("GET /_page/page.css", servePageFile("page/page.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /_page/page.js", servePageFile("page/page.js", "text/javascript; charset=utf-8"))
}

// contentPolicy lets the page load nothing but its own files: what a message says can never run or fetch anything.
const contentPolicy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' " +
	"data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func pageTemplates() (*template.Template, error) {
	return template.ParseFS(pageFiles, "page/*.tmpl")
}

// pageView is what the templates get.
type pageView struct {
	Channel  Channel
	Channels []Channel
	User     User
	Users    []User
	Days     []pageDay
	Views    []pageModal
	Notes    []pageMessage // private messages that belong to no message
	Bot      string
	Problems []string
	Version  int64 // of the workspace; the page reloads when it changes
}

type pageDay struct {
	Label    string
	Messages []pageMessage
}

type pageMessage struct {
	TS, Channel    string
	Author         string
	Initials       string
	Hue            int
	App            bool
	Private        bool
	Broadcast      bool // a reply that is in the channel, too
	Alone          bool // it is shown in the channel and not in its thread
	Time, FullTime string
	Edited         bool
	Versions       int
	Blocks         []pageBlock
	Replies        []pageMessage
	Notes          []pageMessage // private answers beside the message
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) { s.render(w, r, "page.tmpl") }

func (s *Server) serveFeed(w http.ResponseWriter, r *http.Request) { s.render(w, r, "feed") }

func (s *Server) render(w http.ResponseWriter, r *http.Request, name string) {
	view := s.pageView(r.URL.Query().Get("channel"), r.URL.Query().Get("user"))
	t, err := pageTemplates()
	var b strings.Builder
	if err == nil {
		err = t.ExecuteTemplate(&b, name, view)
	}
	if err != nil {
		http.Error(w, "fakeslack: page: "+err.Error(), http.StatusInternalServerError)
		return
	}
	header(w, "text/html; charset=utf-8")
	_, _ = w.Write([]byte(b.String())) // the browser may be gone
}

func header(w http.ResponseWriter, contentType string) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Security-Policy", contentPolicy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("Cache-Control", "no-store")
}

func servePageFile(file, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		header(w, contentType)
		http.ServeFileFS(w, r, pageFiles, file)
	}
}

// serveEvents tells the page after each change that there is something new.
func (s *Server) serveEvents(w http.ResponseWriter, r *http.Request) {
	header(w, "text/event-stream")
	flush := http.NewResponseController(w)
	for {
		s.mu.Lock()
		signal, version := s.changeSignal, s.changeVersion
		s.mu.Unlock()
		if _, err := fmt.Fprintf(w, "data: %d\n\n", version); err != nil {
			return
		}
		if err := flush.Flush(); err != nil {
			return
		}
		select {
		case <-signal:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Server) pageView(channel, user string) pageView {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.renderer()
	view := pageView{Bot: botName, Problems: slices.Clone(s.unexpected), Version: s.changeVersion}
	for _, id := range s.channelOrder {
		view.Channels = append(view.Channels, s.channels[id])
		if id == channel || view.Channel.ID == "" {
			view.Channel = s.channels[id]
		}
	}
	for _, id := range s.userOrder {
		if u := s.users[id]; id != BotUserID {
			view.Users = append(view.Users, u)
			if id == user || view.User.ID == "" {
				view.User = u
			}
		}
	}
	s.fillDays(&view, r)
	for _, e := range s.ephemerals {
		if e.Channel == view.Channel.ID && e.User == view.User.ID && s.anchorOf(e) == nil {
			view.Notes = append(view.Notes, s.pageEphemeral(e, r))
		}
	}
	for _, v := range s.views {
		if v.open && v.user == view.User.ID {
			view.Views = append(view.Views, pageModal{
				ID: v.id, Hash: v.hash, Title: innerText(v.content, "title"), Submit: innerText(v.content, "submit"),
				Close: cmp.Or(innerText(v.content, "close"), "Cancel"), Blocks: r.pageBlocks("", v.blocks(), v.errors),
			})
		}
	}
	return view
}

// renderer knows the names of everybody and everything that can be mentioned.
func (s *Server) renderer() renderer {
	names := map[string]string{}
	for id, u := range s.users {
		names[id] = u.Name
	}
	for id, c := range s.channels {
		names[id] = c.Name
	}
	for id, g := range s.usergroups {
		names[id] = g.Handle
	}
	return renderer{names: names}
}

// anchorOf returns the message beside which a private one is shown, if any.
func (s *Server) anchorOf(e Ephemeral) *message {
	return s.findMessage(e.Channel, cmp.Or(e.MessageTS, e.ThreadTS))
}

func (s *Server) fillDays(view *pageView, r renderer) {
	for _, m := range s.messages[view.Channel.ID] {
		if m.deleted || (!m.topLevel() && !m.Broadcast) {
			continue
		}
		label := timeOf(m.TS).Format("Monday, 2 January 2006")
		if n := len(view.Days); n == 0 || view.Days[n-1].Label != label {
			view.Days = append(view.Days, pageDay{Label: label})
		}
		day := &view.Days[len(view.Days)-1]
		shown := s.pageMessage(m, view.User.ID, r)
		shown.Alone = m.Broadcast
		day.Messages = append(day.Messages, shown)
	}
}

func (s *Server) pageMessage(m *message, viewer string, r renderer) pageMessage {
	v := m.current()
	out := s.pageAuthor(m.User, m.TS)
	out.Channel, out.App, out.Broadcast = m.Channel, m.FromBot, m.Broadcast
	out.Edited, out.Versions = len(m.Versions) > 1, len(m.Versions)
	out.Blocks = r.pageBlocks(v.Text, v.Blocks, nil)
	if m.topLevel() {
		for _, reply := range s.messages[m.Channel] {
			if !reply.deleted && !reply.topLevel() && reply.ThreadTS == m.TS {
				out.Replies = append(out.Replies, s.pageMessage(reply, viewer, r))
			}
		}
	}
	for _, e := range s.ephemerals {
		if e.User == viewer && s.anchorOf(e) == m {
			out.Notes = append(out.Notes, s.pageEphemeral(e, r))
		}
	}
	return out
}

func (s *Server) pageEphemeral(e Ephemeral, r renderer) pageMessage {
	out := s.pageAuthor(BotUserID, e.TS)
	out.Channel, out.App, out.Private = e.Channel, true, true
	out.Blocks = r.pageBlocks(e.Text, e.Blocks, nil)
	return out
}

func (s *Server) pageAuthor(user, ts string) pageMessage {
	u, ok := s.users[user]
	if !ok {
		u = User{ID: user, RealName: user}
	}
	at := timeOf(ts)
	hue := 0
	for _, r := range u.ID {
		hue = (hue*31 + int(r)) % 360
	}
	return pageMessage{
		TS: ts, Author: u.RealName, Initials: initials(u.RealName), Hue: hue / 30,
		Time: at.Format("15:04"), FullTime: at.Format(time.RFC3339),
	}
}

func initials(name string) string {
	var out []rune
	for word := range strings.FieldsSeq(name) {
		out = append(out, []rune(word)[0])
	}
	return strings.ToUpper(string(out[:min(2, len(out))]))
}
