package fakeslack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"
)

// controlRoutes are for tests that run the double as a program of its own.
func (s *Server) controlRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /_fake/messages", s.getMessages)
	mux.HandleFunc("GET /_fake/ephemerals", get(func() any { return orEmpty(s.Ephemerals()) }))
	mux.HandleFunc("GET /_fake/views", get(func() any { return orEmpty(s.Views()) }))
	mux.HandleFunc("GET /_fake/calls", get(func() any { return orEmpty(s.Calls()) }))
	mux.HandleFunc("GET /_fake/mentions", get(func() any { return orEmpty(s.LiveMentions()) }))
	mux.HandleFunc("GET /_fake/unexpected", get(func() any {
		return map[string][]string{"unexpected": orEmpty(s.Unexpected()), "unused": orEmpty(s.Unused())}
	}))
	mux.HandleFunc("POST /_fake/click", change(s.clickControl))
	mux.HandleFunc("POST /_fake/submit", change(s.submitControl))
	mux.HandleFunc("POST /_fake/close", change(func(ctx context.Context, in struct {
		User   string `json:"user"`
		ViewID string `json:"view_id"`
	},
	) (any, error) {
		return nil, s.CloseView(ctx, in.User, in.ViewID)
	}))
	mux.HandleFunc("POST /_fake/fault", change(s.faultControl))
	mux.HandleFunc("POST /_fake/outage", change(func(_ context.Context, in struct {
		Status int `json:"status"`
	},
	) (any, error) {
		s.Outage(in.Status)
		return nil, nil
	}))
	mux.HandleFunc("POST /_fake/expire", change(func(context.Context, struct{}) (any, error) {
		s.ExpireInteractions()
		return nil, nil
	}))
	mux.HandleFunc("POST /_fake/say", change(s.sayControl))
	mux.HandleFunc("POST /_fake/users", change(func(_ context.Context, u User) (any, error) {
		s.PutUser(u)
		return nil, needID(u.ID)
	}))
	mux.HandleFunc("POST /_fake/channels", change(func(_ context.Context, c Channel) (any, error) {
		s.PutChannel(c)
		return nil, needID(c.ID)
	}))
	mux.HandleFunc("POST /_fake/usergroups", change(func(_ context.Context, g Usergroup) (any, error) {
		s.PutUsergroup(g)
		return nil, needID(g.ID)
	}))
	mux.HandleFunc("POST /_fake/config", change(func(_ context.Context, in struct {
		InteractivityURL string `json:"interactivity_url"`
	},
	) (any, error) {
		s.SetInteractivityURL(in.InteractivityURL)
		return nil, nil
	}))
}

func needID(id string) error {
	if id == "" {
		return errors.New("id is missing")
	}
	return nil
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func get(read func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { jsonReply(http.StatusOK, read()).send(w) }
}

// change wraps a POST with a strictly decoded JSON body. The content type has to
// be JSON: then no page of another origin can send it without being asked first.
func change[In any](run func(context.Context, In) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
			jsonReply(http.StatusUnsupportedMediaType, controlAnswer{Error: "send Content-Type: application/json"}).send(w)
			return
		}
		var in In
		dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			jsonReply(http.StatusBadRequest, controlAnswer{Error: err.Error()}).send(w)
			return
		}
		result, err := run(r.Context(), in)
		if err != nil {
			jsonReply(http.StatusConflict, controlAnswer{Error: err.Error(), Result: result}).send(w)
			return
		}
		jsonReply(http.StatusOK, controlAnswer{OK: true, Result: result}).send(w)
	}
}

// controlAnswer is what every POST under /_fake/ answers: 200 when done, 409 when
// the workspace did not allow it or the bot refused.
type controlAnswer struct {
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	Result any    `json:"result,omitempty"`
}

func (s *Server) getMessages(w http.ResponseWriter, r *http.Request) {
	type withThread struct {
		Message
		Buttons []Button  `json:"buttons,omitempty"`
		Replies []Message `json:"replies,omitempty"`
	}
	channel := r.URL.Query().Get("channel")
	if channel == "" {
		channel = s.firstChannel()
	}
	out := []withThread{}
	for _, m := range s.Messages(channel) {
		out = append(out, withThread{Message: m, Buttons: m.Buttons(), Replies: s.Thread(channel, m.TS)})
	}
	jsonReply(http.StatusOK, out).send(w)
}

func (s *Server) firstChannel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.channelOrder) == 0 {
		return ""
	}
	return s.channelOrder[0]
}

// milliseconds are how the control JSON gives durations.
type milliseconds int64

func (ms milliseconds) duration() time.Duration { return time.Duration(ms) * time.Millisecond }

func (s *Server) clickControl(ctx context.Context, in struct {
	ClickRequest
	AgeMS milliseconds `json:"age_ms"`
},
) (any, error) {
	if in.AgeMS != 0 {
		in.Age = in.AgeMS.duration()
	}
	result, err := s.Click(ctx, in.ClickRequest)
	return result, err
}

func (s *Server) submitControl(ctx context.Context, in SubmitRequest) (any, error) {
	result, err := s.SubmitView(ctx, in)
	return result, err
}

func (s *Server) faultControl(_ context.Context, in struct {
	Method string `json:"method"`
	N      int    `json:"n"`
	Fault  struct {
		HTTPStatus    int          `json:"http_status"`
		Error         string       `json:"error"`
		Needed        string       `json:"needed"`
		Provided      string       `json:"provided"`
		RetryAfterMS  milliseconds `json:"retry_after_ms"`
		Body          string       `json:"body"`
		DropBefore    bool         `json:"drop_before"`
		DropAfter     bool         `json:"drop_after"`
		Performed     bool         `json:"performed"`
		DelayMS       milliseconds `json:"delay_ms"`
		DelayAnswerMS milliseconds `json:"delay_answer_ms"`
		Skip          int          `json:"skip"`
	} `json:"fault"`
},
) (any, error) {
	if in.Method == "" || in.N < 1 {
		return nil, fmt.Errorf("method %q, n %d: a fault needs a method and how often", in.Method, in.N)
	}
	f := in.Fault
	s.Fail(in.Method, in.N, Fault{
		HTTPStatus: f.HTTPStatus, Error: f.Error, Needed: f.Needed, Provided: f.Provided,
		RetryAfter: f.RetryAfterMS.duration(), Body: f.Body, DropBefore: f.DropBefore, DropAfter: f.DropAfter,
		Performed: f.Performed, Delay: f.DelayMS.duration(), DelayAnswer: f.DelayAnswerMS.duration(), Skip: f.Skip,
	})
	return nil, nil
}

func (s *Server) sayControl(_ context.Context, in struct {
	User     string `json:"user"`
	Channel  string `json:"channel"`
	Text     string `json:"text"`
	ThreadTS string `json:"thread_ts"`
},
) (any, error) {
	if in.User == "" || in.Channel == "" {
		return nil, errors.New("user or channel is missing")
	}
	return map[string]string{"ts": s.PostAs(in.User, in.Channel, in.Text, in.ThreadTS)}, nil
}
