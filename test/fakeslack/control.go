package fakeslack

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
)

// controlRoutes are what the page's buttons and forms send, and what was told.
func (s *Server) controlRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /_fake/click", change(func(ctx context.Context, in ClickRequest) error {
		_, err := s.Click(ctx, in)
		return err
	}))
	mux.HandleFunc("POST /_fake/command", change(func(ctx context.Context, in CommandRequest) error {
		_, err := s.Command(ctx, in)
		return err
	}))
	mux.HandleFunc("POST /_fake/submit", change(func(ctx context.Context, in SubmitRequest) error {
		_, err := s.SubmitView(ctx, in)
		return err
	}))
	mux.HandleFunc("GET /_fake/told", s.serveTold)
	mux.HandleFunc("POST /_fake/close", change(func(_ context.Context, in SubmitRequest) error {
		return s.CloseView(in.User, in.ViewID)
	}))
}

// change wraps a POST with a strictly decoded JSON body. The content type has to
// be JSON: then no page of another origin can send it without being asked first.
func change[In any](run func(context.Context, In) error) http.HandlerFunc {
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
		if err := run(r.Context(), in); err != nil {
			jsonReply(http.StatusConflict, controlAnswer{Error: err.Error()}).send(w)
			return
		}
		jsonReply(http.StatusOK, controlAnswer{OK: true}).send(w)
	}
}

// controlAnswer is what every POST under /_fake/ answers: 200 when done, 409 when
// the workspace did not allow it or the bot refused.
type controlAnswer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}
