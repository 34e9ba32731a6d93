package actions

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// errGate says that a request was not sent, because the connection is not made for it.
var errGate = errors.New("not sent")

// reviewPath is where the bot asks for its own rights: the only POST that may leave.
const reviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// gate makes what a client may send a property of its connection and not of our care. Without live nothing leaves but reads, dry-runs and questions
// about the bot's own rights; with live, only patches. Nothing here creates or deletes.
type gate struct {
	next http.RoundTripper
	live bool
}

// RoundTrip implements http.RoundTripper.
func (g gate) RoundTrip(req *http.Request) (*http.Response, error) {
	if !g.lets(req) {
		if req.Body != nil {
			_ = req.Body.Close() // the contract of a RoundTripper; nothing was read
		}
		return nil, fmt.Errorf("%w: %s %s is not allowed on this connection", errGate, req.Method, req.URL.Path)
	}
	resp, err := g.next.RoundTrip(req)
	if err == nil && req.Method == http.MethodPatch {
		// client-go repeats a request whose answer has this header. A write is sent once; what became of it is looked at instead.
		resp.Header.Del("Retry-After")
	}
	return resp, err
}

func (g gate) lets(req *http.Request) bool {
	switch req.Method {
	case http.MethodPatch:
		return g.live || slices.Equal(req.URL.Query()["dryRun"], []string{metav1.DryRunAll})
	case http.MethodGet:
		return !g.live
	case http.MethodPost:
		return !g.live && req.URL.Path == reviewPath
	}
	return false
}

// WrappedRoundTripper lets client-go find the transport below, to close its idle connections.
func (g gate) WrappedRoundTripper() http.RoundTripper { return g.next }
