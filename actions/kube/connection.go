package kube

import (
	"errors"
	"fmt"
	"net/http"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/answer"
)

// ErrNotSent says that a request was not sent, because the connection is not made for it.
var ErrNotSent = errors.New("not sent")

// reviewPath is where the bot asks for its own permissions: the only POST that is sent.
const reviewPath = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"

// restricted sends only the requests that it allows. None of its restrictions lets anything be created or deleted.
type restricted struct {
	next   http.RoundTripper
	allows func(*http.Request) bool
}

// restrict returns a copy of a client configuration whose connections send only what is allowed.
func restrict(rc *rest.Config, allows func(*http.Request) bool) *rest.Config {
	rc = rest.CopyConfig(rc)
	rc.WarningHandler = rest.NoWarnings{} // client-go would print them to standard error
	rc.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return answer.OfKubernetes(restricted{next: next, allows: allows})
	})
	return rc
}

// dryRunOnly allows reads, dry runs and questions about the bot's own permissions.
func dryRunOnly(req *http.Request) bool {
	switch req.Method {
	case http.MethodGet:
		return true
	case http.MethodPatch:
		return slices.Equal(req.URL.Query()["dryRun"], []string{metav1.DryRunAll})
	case http.MethodPost:
		return req.URL.Path == reviewPath
	}
	return false
}

// patchOnly allows patches and nothing else.
func patchOnly(req *http.Request) bool { return req.Method == http.MethodPatch }

// RoundTrip implements http.RoundTripper.
func (r restricted) RoundTrip(req *http.Request) (*http.Response, error) {
	if !r.allows(req) {
		if req.Body != nil {
			_ = req.Body.Close() // the contract of a RoundTripper; nothing was read
		}
		return nil, fmt.Errorf("%w: %s %s is not allowed on this connection", ErrNotSent, req.Method, req.URL.Path)
	}
	resp, err := r.next.RoundTrip(req)
	if err == nil && req.Method == http.MethodPatch {
		// client-go repeats a request whose answer has this header. A write is sent once, and its outcome is observed.
		resp.Header.Del("Retry-After")
	}
	return resp, err
}

// WrappedRoundTripper lets client-go find the transport below, to close its idle connections.
func (r restricted) WrappedRoundTripper() http.RoundTripper { return r.next }
