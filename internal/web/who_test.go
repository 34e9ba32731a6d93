package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// byCertificate is a request over a connection on which a client certificate was shown.
func byCertificate(t *testing.T, method, path, name, body string, header ...string) *http.Request {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), method, "https://medic.example.com"+path, strings.NewReader(body))
	req.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{Subject: pkix.Name{CommonName: name}}}}
	for n := 0; n < len(header); n += 2 {
		req.Header.Set(header[n], header[n+1])
	}
	return req
}

func TestACertificateIsAskedAboutOnEveryRoute(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		s := newSite(t) // without an expectation: a call behind the gate fails the test
		s.refused(s.send(byCertificate(t, r.method, r.path, "mallory", r.body)), http.StatusUnauthorized)
		said := s.refused(s.send(byCertificate(t, r.method, r.path, "nobody-can-tell", r.body)),
			http.StatusServiceUnavailable)
		if !strings.Contains(said, "your certificate could not be checked") || strings.Contains(said, "10.0.0.1") {
			t.Errorf("%s: %s", r.path, said)
		}
		if !r.read {
			s.refused(s.send(byCertificate(t, r.method, r.path, "bob", r.body)), http.StatusForbidden)
		}
	}
	s := newSite(t)
	s.expect("act", acted{"inc-1", incident.Acked{By: ada}}, incident.Incident{ID: "inc-1"}, nil)
	rec := s.send(byCertificate(t, post, "/api/v1/incidents/inc-1/ack", "ada", ""))
	if rec.Code != http.StatusOK {
		t.Errorf("ada: %d %s", rec.Code, rec.Body)
	}
}

// The certificate may be that of a proxy that hands on what somebody else asks. So a token counts alone, and a refused
// one is not made up for.
func TestATokenComesBeforeACertificate(t *testing.T) {
	t.Parallel()
	const path = "/api/v1/incidents/inc-1/ack"
	s := newSite(t)
	for _, header := range []string{"Bearer wrong-token", "Bearer ", "Basic eDphZGEtdG9rZW4=", "nonsense"} {
		s.refused(s.send(byCertificate(t, post, path, "ada", "", "Authorization", header)), http.StatusUnauthorized)
	}
	viewer := byCertificate(t, post, path, "ada", "", "Authorization", "Bearer viewer-token")
	s.refused(s.send(viewer), http.StatusForbidden)
	s.expect("act", acted{"inc-1", incident.Acked{By: ada}}, incident.Incident{ID: "inc-1"}, nil)
	rec := s.send(byCertificate(t, post, path, "mallory", "", "Authorization", "Bearer ada-token"))
	if rec.Code != http.StatusOK {
		t.Errorf("ada's token over mallory's connection: %d %s", rec.Code, rec.Body)
	}
}

// A browser shows a certificate by itself, also when a foreign page makes it send the request.
func TestAForeignPageDoesNotDecideWithACertificate(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		s := newSite(t)
		s.always["list"], s.always["show"], s.always["pauses"] = []incident.Incident{}, incident.Incident{ID: "inc-1"},
			[]incident.Pause{}
		s.always["snapshots"] = []incident.Snapshot{}
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"},
			{"Sec-Fetch-Site", "same-site"},
			{"Origin", "https://evil.example.com"},
			{"Origin", "null"},
		} {
			rec := s.send(byCertificate(t, r.method, r.path, "ada", r.body, header...))
			if r.read && rec.Code != http.StatusOK { // a link leads to a page
				t.Errorf("%s %s: %d %s", r.method, r.path, rec.Code, rec.Body)
			}
			if !r.read {
				s.refused(rec, http.StatusForbidden)
			}
		}
	}
}

// What a proxy hands on comes from somebody else than the certificate on its own connection.
func TestTheCertificateOfAProxyIsNobodys(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		s := newSite(t)
		for _, header := range []string{"X-Forwarded-For", "Forwarded", "Via"} {
			said := s.refused(s.send(byCertificate(t, r.method, r.path, "ada", r.body, header, "10.0.0.9")),
				http.StatusUnauthorized)
			if !strings.Contains(said, "a proxy handed this request on") {
				t.Errorf("%s: %s", r.path, said)
			}
		}
	}
}

// Credentials that nobody looked at are no refusal: whoever sent them tries again. Whose place they took is told by the
// connection, and not by what a header says.
func TestTooManyRequestsAreToldToTryAgain(t *testing.T) {
	t.Parallel()
	for _, r := range routes {
		s := newSite(t)
		req := httptest.NewRequestWithContext(t.Context(), r.method, r.path, strings.NewReader(r.body))
		req.Header.Set("Authorization", "Bearer of-many")
		req.Header.Set("X-Forwarded-For", "203.0.113.9")
		req.Header.Set("X-Real-Ip", "203.0.113.9")
		rec := s.send(req)
		said := s.refused(rec, http.StatusTooManyRequests)
		if rec.Header().Get("Retry-After") == "" || !strings.Contains(said, "try again in a few seconds") {
			t.Errorf("%s %s: %v %s", r.method, r.path, rec.Header(), said)
		}
	}
}
