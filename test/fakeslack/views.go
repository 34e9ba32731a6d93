package fakeslack

import (
	"encoding/json"
	"maps"
	"slices"
	"time"
)

// maxView is the size at which Slack answers view_too_large.
const maxView = 250 << 10

// View is a modal as it is now.
type View struct {
	ID   string
	User string
	Hash string
	// Open is false when the person submitted or closed it.
	Open bool
	// ClickID is the click whose trigger_id opened it.
	ClickID         string
	CallbackID      string
	PrivateMetadata string
	Title           string
	Blocks          json.RawMessage
	// Errors are the messages under input blocks after the last submission.
	Errors map[string]string
}

type view struct {
	id, user, clickID string
	hash              string
	open              bool
	content           object // as sent, with block and action ids filled in
	errors            map[string]string
}

// VisibleText returns all that the person can read in the view.
func (v View) VisibleText() string { return v.Title + "\n" + visibleText("", v.Blocks) }

// Views returns every view that was opened, oldest first.
func (s *Server) Views() []View {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]View, len(s.views))
	for i, v := range s.views {
		out[i] = v.snapshot()
	}
	return out
}

func (v *view) snapshot() View {
	return View{
		ID: v.id, User: v.user, Hash: v.hash, Open: v.open, ClickID: v.clickID, Errors: v.errors,
		CallbackID: text(v.content, "callback_id"), PrivateMetadata: text(v.content, "private_metadata"),
		Title: innerText(v.content, "title"), Blocks: v.blocks(),
	}
}

func (v *view) blocks() json.RawMessage { return encode(v.content["blocks"]) }

func (s *Server) findView(id string) *view {
	i := slices.IndexFunc(s.views, func(v *view) bool { return v.open && v.id == id })
	if i < 0 {
		return nil
	}
	return s.views[i]
}

func (s *Server) openView(r request) (answer, *slackError) {
	t, ok := s.triggers[r.args["trigger_id"]]
	switch {
	case !ok:
		return nil, refuse("invalid_trigger_id")
	case t.used:
		return nil, refuse("exchanged_trigger_id")
	case time.Now().After(t.expires):
		return nil, refuse("expired_trigger_id")
	}
	content, e := s.readView(r.args["view"])
	if e != nil {
		return nil, e
	}
	t.used = true
	v := &view{id: s.nextID("V"), user: t.user, clickID: t.clickID, open: true, content: content, hash: s.nextHash()}
	s.views = append(s.views, v)
	s.changed()
	return answer{"view": s.wireView(v)}, nil
}

func (s *Server) nextHash() string { return s.nextTS() + "." + randomHex(4) }

func (s *Server) updateView(r request) (answer, *slackError) {
	v := s.findView(r.args["view_id"])
	switch {
	case v == nil:
		return nil, refuse("not_found")
	case r.args["hash"] != "" && r.args["hash"] != v.hash:
		return nil, refuse("hash_conflict")
	}
	content, e := s.readView(r.args["view"])
	if e != nil {
		return nil, e
	}
	s.replaceView(v, content)
	return answer{"view": s.wireView(v)}, nil
}

func (s *Server) replaceView(v *view, content object) {
	v.content, v.hash, v.errors = content, s.nextHash(), nil
	s.changed()
}

// readView decodes and checks a modal.
func (s *Server) readView(raw string) (object, *slackError) {
	content, e := checkView(raw)
	if e != nil {
		return nil, e
	}
	if blocks, ok := content["blocks"].([]any); ok {
		s.completeBlocks(blocks)
	}
	return content, nil
}

// checkView returns the decoded modal or what Slack answers about it. It never panics, whatever raw is.
func checkView(raw string) (object, *slackError) {
	var o object
	if err := json.Unmarshal([]byte(raw), &o); err != nil || o == nil {
		return nil, refuse("invalid_arguments", "must be a JSON object [json-pointer:/view]")
	}
	if len(raw) > maxView {
		return nil, refuse("view_too_large")
	}
	var c checker
	modal.check(&c, o, "/view")
	if len(c.details) > 0 {
		return nil, refuse("invalid_arguments", c.details...)
	}
	return o, nil
}

// wireView returns a view as Slack sends it, without what was filled in.
func (s *Server) wireView(v *view) answer {
	out := answer{
		"id": v.id, "team_id": TeamID, "app_id": AppID, "bot_id": botID,
		"app_installed_team_id": TeamID, "hash": v.hash, "root_view_id": v.id, "previous_view_id": nil,
		"state": answer{"values": answer{}}, "private_metadata": "", "callback_id": "", "external_id": "",
		"clear_on_close": false, "notify_on_close": false, "submit": nil, "close": nil,
	}
	maps.Copy(out, v.content)
	return out
}
