package fakeslack

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
)

// controlRoutes are what the page's buttons and forms send.
func (s *Server) controlRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /_fake/click", change(func(ctx context.Context, in ClickRequest) (any, error) {
		return s.Click(ctx, in)
	}))
	mux.HandleFunc("POST /_fake/submit", change(func(ctx context.Context, in SubmitRequest) (any, error) {
		return s.SubmitView(ctx, in)
	}))
	mux.HandleFunc("POST /_fake/close", change(func(_ context.Context, in struct {
		User   string `json:"user"`
		ViewID string `json:"view_id"`
	},
	) (any, error) {
		return nil, s.CloseView(in.User, in.ViewID)
	}))
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
