package access_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// slow is an API server that keeps everybody who asks about a token waiting, until it is let go. Everybody may decide.
type slow struct {
	waiting, authorities atomic.Int64
	authority            string
	gone                 chan struct{}
}

func (s *slow) answer(path string) (int, string) {
	switch {
	case strings.HasSuffix(path, "/tokenreviews"):
		s.waiting.Add(1)
		<-s.gone
		return http.StatusCreated, review(`{"authenticated":false}`)
	case strings.HasSuffix(path, "/subjectaccessreviews"):
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

func (s *slow) serve(t *testing.T) *rest.Config {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body := s.answer(r.URL.Path)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL}
}

// RoundTrip answers without a network.
func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	status, body := s.answer(r.URL.Path)
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}, nil
}

// Anybody who reaches the bot can show it garbage, as much as they like. It keeps nobody who is known from deciding,
// and nobody at another address from showing who they are; what is too much is refused at once and does not wait.
func TestGarbageKeepsNobodyFromDeciding(t *testing.T) {
	t.Parallel()
	users := other(t)
	api := &slow{gone: make(chan struct{}), authority: file(t, users)}
	g, err := access.New(api.serve(t), access.Settings{
		Audience: audience, ViewerToken: "viewer", ClusterTokens: true,
		ClientCertificates: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	const all, places = 400, 8
	var busy atomic.Int64
	var shown sync.WaitGroup
	for range all {
		shown.Go(func() {
			_, err := g.Check(t.Context(), access.Shown{Token: "garbage", From: "192.0.2.1"}, access.Read)
			switch {
			case errors.Is(err, access.ErrBusy):
				busy.Add(1)
			case !errors.Is(err, access.ErrUnauthenticated):
				t.Errorf("garbage: %v", err)
			}
		})
	}
	kubetest.Eventually(t, "an answer to all that is too much", func(context.Context) error {
		if busy, waiting := busy.Load(), api.waiting.Load(); busy != all-places || waiting != places {
			return fmt.Errorf("%d refused, %d at the API server", busy, waiting)
		}
		return nil
	})
	if err := g.May(t.Context(), "ana", nil, access.Decide); err != nil {
		t.Errorf("a click in Slack: %v", err)
	}
	mine := access.Shown{Chain: shownBy(t, users), From: "192.0.2.2"}
	if _, err := g.Check(t.Context(), mine, access.Decide); err != nil {
		t.Errorf("a certificate from another address: %v", err)
	}
	mine.From = "192.0.2.1"
	if _, err := g.Check(t.Context(), mine, access.Decide); !errors.Is(err, access.ErrBusy) {
		t.Errorf("one more from the same address: %v", err)
	}
	if _, err := g.Check(t.Context(), access.Shown{Token: "viewer", From: "192.0.2.1"}, access.Read); err != nil {
		t.Errorf("the viewer token asks the API server nothing: %v", err)
	}
	close(api.gone)
	shown.Wait()
	if _, err := g.Check(t.Context(), mine, access.Decide); err != nil {
		t.Errorf("when the others are gone: %v", err)
	}
}

// Many addresses are no way around it.
func TestGarbageOfManyAddressesIsTooMuchAsWell(t *testing.T) {
	t.Parallel()
	api := &slow{gone: make(chan struct{})}
	g := forPeople(t, api.serve(t))
	const all, places = 100, 32
	var busy atomic.Int64
	var shown sync.WaitGroup
	for n := range all {
		shown.Go(func() {
			from := fmt.Sprintf("192.0.2.%d", n)
			if _, err := g.Check(t.Context(), access.Shown{Token: "garbage", From: from}, access.Read); errors.Is(err,
				access.ErrBusy) {
				busy.Add(1)
			}
		})
	}
	kubetest.Eventually(t, "an answer to all that is too much", func(context.Context) error {
		if busy, waiting := busy.Load(), api.waiting.Load(); busy != all-places || waiting != places {
			return fmt.Errorf("%d refused, %d at the API server", busy, waiting)
		}
		return nil
	})
	if err := g.May(t.Context(), "ana", nil, access.Decide); err != nil {
		t.Errorf("a click in Slack: %v", err)
	}
	close(api.gone)
	shown.Wait()
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
		api := &slow{authority: first}
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
