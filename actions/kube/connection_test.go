package kube

import (
	"errors"
	"net/http"
	"testing"
)

// passed answers everything that is sent.
type passed struct{}

var errPassed = errors.New("it got through")

// RoundTrip implements http.RoundTripper.
func (passed) RoundTrip(*http.Request) (*http.Response, error) { return nil, errPassed }

func TestAConnectionSendsOnlyWhatItIsFor(t *testing.T) {
	t.Parallel()
	const (
		patch  = "/apis/apps/v1/namespaces/llm/deployments/a"
		review = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	)
	for _, tt := range []struct {
		method, path string
		dry, live    bool
	}{
		{http.MethodGet, patch, true, false},
		{http.MethodPatch, patch, false, true},
		{http.MethodPatch, patch + "?dryRun=All", true, true},
		{http.MethodPatch, patch + "?dryRun=", false, true},
		{http.MethodPatch, patch + "?dryRun=all", false, true},
		{http.MethodPatch, patch + "?dryRun=All&dryRun=None", false, true},
		{http.MethodPatch, patch + "?dryrun=All", false, true},
		{http.MethodPatch, patch + "?fieldManager=dryRun=All", false, true},
		{http.MethodPost, review, true, false},
		{http.MethodPost, review + "/../../apps/v1", false, false},
		{http.MethodPost, "/apis/apps/v1/namespaces/llm/deployments?dryRun=All", false, false},
		{http.MethodPost, "/api/v1/namespaces/llm/pods/a/eviction", false, false},
		{http.MethodPut, patch + "?dryRun=All", false, false},
		{http.MethodPut, patch, false, false},
		{http.MethodDelete, patch + "?dryRun=All", false, false},
		{http.MethodDelete, patch, false, false},
		{http.MethodConnect, patch, false, false},
		{"patch", patch, false, false},
	} {
		for _, c := range []struct {
			name   string
			allows func(*http.Request) bool
			want   bool
		}{{"dryRunOnly", dryRunOnly, tt.dry}, {"patchOnly", patchOnly, tt.live}} {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, "https://k8s.example"+tt.path, http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := restricted{next: passed{}, allows: c.allows}.RoundTrip(req)
			if err == nil {
				t.Fatal(resp.Body.Close())
			}
			if got := errors.Is(err, errPassed); got != c.want || !got && !errors.Is(err, ErrNotSent) {
				t.Errorf("%s %s, %s: %v", tt.method, tt.path, c.name, err)
			}
		}
	}
}
