package access_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/test/identity"
)

// publishing is an API server where everybody may decide, and that publishes an authority.
type publishing struct {
	authorities atomic.Int64
	authority   string
}

func (s *publishing) answer(path string) (int, string) {
	if strings.HasSuffix(path, "/subjectaccessreviews") {
		return http.StatusCreated, `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview",` +
			`"status":{"allowed":true}}`
	}
	s.authorities.Add(1)
	pem, err := json.Marshal(s.authority)
	if err != nil {
		panic(err)
	}
	return http.StatusOK, fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","data":{"client-ca-file":%s}}`, pem)
}

// RoundTrip answers without a network.
func (s *publishing) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := s.answer(r.URL.Path)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// hanging is an API server that answers no question about a token, and all others at once: everybody may decide.
type hanging struct {
	*publishing
	asked atomic.Int64
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/tokenreviews") {
		return h.publishing.RoundTrip(r)
	}
	h.asked.Add(1)
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Anybody who reaches the bot can show it garbage, as much as they like. Also while the API server answers nothing
// about it, it keeps nobody who is known from deciding, and nobody from showing a certificate; and it takes but some of
// the places of those who come from elsewhere.
func TestGarbageKeepsNobodyFromDeciding(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		users := other(t)
		mine := access.Shown{Chain: shownBy(t, users), From: "192.0.2.1"}
		api := &hanging{publishing: &publishing{authority: file(t, users)}}
		g := pacedGate(t, api, access.Settings{
			ViewerToken: func() string { return "viewer" }, ClusterTokens: true, ClientCertificates: true,
		})
		const all, ofOne, places = 400, 16, 64
		answers := make(chan error, all)
		for range all {
			go func() {
				_, err := g.Check(t.Context(), access.Shown{Token: "garbage", From: "192.0.2.1"}, access.Read)
				answers <- err
			}()
		}
		synctest.Wait()
		if asked := api.asked.Load(); asked != ofOne {
			t.Errorf("%d questions about what one address shows", asked)
		}
		for n := range 10 {
			go func() {
				from := fmt.Sprintf("192.0.2.%d", 2+n)
				_, err := g.Check(t.Context(), access.Shown{Token: "other-garbage", From: from}, access.Read)
				if err == nil || errors.Is(err, access.ErrBusy) || errors.Is(err, access.ErrUnauthenticated) {
					t.Errorf("from elsewhere: %v", err)
				}
			}()
		}
		synctest.Wait()
		if asked := api.asked.Load(); asked != ofOne+10 {
			t.Errorf("%d questions, want those from elsewhere at once", asked)
		}
		if err := g.May(t.Context(), "ana", nil, access.Decide); err != nil {
			t.Errorf("a click in Slack: %v", err)
		}
		for _, right := range []access.Right{access.Decide, access.Pause} {
			if _, err := g.Check(t.Context(), mine, right); err != nil {
				t.Errorf("a certificate from the same address: %v", err)
			}
		}
		if _, err := g.Check(t.Context(), access.Shown{Token: "viewer", From: "192.0.2.1"}, access.Read); err != nil {
			t.Errorf("the viewer token asks the API server nothing: %v", err)
		}
		busy := 0
		for range all {
			if err := <-answers; errors.Is(err, access.ErrBusy) {
				busy++
			}
		}
		if asked := int(api.asked.Load()); busy == 0 || asked-10+busy != all || asked > 2*places {
			t.Errorf("of %d, %d were turned away after a wait and %d asked about", all, busy, asked)
		}
	})
}

// Whoever has gone waits for nothing.
func TestWhoeverGoesGivesUpTheirTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := pacedGate(t, &hanging{publishing: &publishing{}}, access.Settings{ClusterTokens: true})
		ctx, cancel := context.WithCancel(t.Context())
		const all = 100
		answers := make(chan error, all)
		for range all {
			go func() {
				_, err := g.Check(ctx, access.Shown{Token: "garbage", From: "192.0.2.1"}, access.Pause)
				answers <- err
			}()
		}
		synctest.Wait()
		begin := time.Now()
		cancel()
		for range all {
			if err := <-answers; err == nil || errors.Is(err, access.ErrBusy) {
				t.Errorf("answered %v", err)
			}
		}
		if took := time.Since(begin); took > 0 {
			t.Errorf("they waited for %s", took)
		}
	})
}

func shownBy(t *testing.T, by *identity.Authority) []*x509.Certificate {
	t.Helper()
	return shown(t, by, "ana", nil, nil)
}

func file(t *testing.T, of *identity.Authority) string {
	t.Helper()
	b, err := os.ReadFile(of.File)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A certificate costs the API server nothing until it is one of the cluster's; a replaced authority counts after a few
// seconds, and the old one no more.
func TestThePublishedAuthorityIsReadOnceForMany(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		before, after := other(t), other(t)
		ofBefore, ofAfter, ofNobody := shownBy(t, before), shownBy(t, after), shownBy(t, other(t))
		first, second := file(t, before), file(t, after)
		api := &publishing{authority: first}
		g := forCertificates(t, &rest.Config{Host: "http://api.example.com", Transport: api}, "")
		for range 50 {
			unproven(t, g, ofNobody, access.ErrUnauthenticated)
		}
		if _, err := g.Check(t.Context(), access.Shown{Chain: ofBefore}, access.Decide); err != nil {
			t.Error(err)
		}
		if got := api.authorities.Load(); got != 1 {
			t.Errorf("the authority was read %d times", got)
		}
		api.authority = second
		time.Sleep(5 * time.Second)
		unproven(t, g, ofBefore, access.ErrUnauthenticated)
		if _, err := g.Check(t.Context(), access.Shown{Chain: ofAfter}, access.Decide); err != nil {
			t.Error(err)
		}
		api.authority = ""
		time.Sleep(5 * time.Second)
		unproven(t, g, ofAfter, errUnanswered) // what was published is not believed for longer
		api.authority = second
		if _, err := g.Check(t.Context(), access.Shown{Chain: ofAfter}, access.Decide); err != nil {
			t.Errorf("an authority that is there again: %v", err)
		}
	})
}
