package scenarios

import (
	"crypto/subtle"
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/vllm-medic/vllm-medic/test/diagnosis"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// landscape is a second Prometheus, with forty models of every dialect at diagnosis.LandscapeTime, and with the alert
// rules of two guides and ours.
type landscape struct {
	once sync.Once
	url  string
}

func (l *landscape) address(m *metrics) string {
	l.once.Do(func() {
		corpus, err := diagnosis.Read(filepath.Join("..", "diagnosis", "corpus"))
		if err != nil {
			m.t.Fatal(err)
		}
		var series promtest.Backfill
		if err := diagnosis.Landscape(&series, corpus); err != nil {
			m.t.Fatal(err)
		}
		p := promtest.StartWith(m.t, promtest.Options{Args: promtest.ReceiverArgs(), Rules: m.guides()})
		if err := series.Send(m.t.Context(), p.URL+"/api/v1/write"); err != nil {
			m.t.Fatal(err)
		}
		l.url = p.URL
	})
	return l.url
}

// prometheus makes PROM the address of one: prometheus KIND, which is one of
//
//	landscape  forty models, with alert rules
//	live       the two models of all other journeys
//	empty      nothing is scraped
//	nobody     nothing listens
//	silent     takes requests and does not answer
//	guarded    live behind HTTPS, a token and a tenant's header
//	counted    live, and looked counts the looks at it
func prometheus(m *metrics) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: prometheus KIND")
		}
		j := of(ts)
		var address string
		switch args[0] {
		case "landscape":
			address = m.landscape.address(m)
		case "live":
			address = m.address()
		case "empty":
			address = promtest.StartWith(j.t, promtest.Options{}).URL
		case "nobody":
			address = "http://127.0.0.1:1"
		case "silent":
			address = j.serving(httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				// Only a request whose body was read is told that its client has gone.
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})))
		case "guarded":
			address = j.guarded(ts, m.address())
		case "counted":
			to, err := url.Parse(m.address())
			ts.Check(err)
			proxy := httputil.NewSingleHostReverseProxy(to)
			address = j.serving(httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/rules") { // once a look
					j.looks.Add(1)
				}
				proxy.ServeHTTP(w, r)
			})))
		default:
			ts.Fatalf("prometheus %s: there is no such kind", args[0])
		}
		ts.Setenv("PROM", address)
	}
}

// serving ends a server with the journey.
func (j *journey) serving(s *httptest.Server) string {
	j.t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// guarded is a Prometheus that answers only over HTTPS, with the token in prom-token and to the tenant team-a. The
// authority in prom-ca.crt signed its certificate, which is for medic.example.com.
func (j *journey) guarded(ts *testscript.TestScript, address string) string {
	to, err := url.Parse(address)
	ts.Check(err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+secret)) != 1 {
			http.Error(w, "the token is wrong: "+r.Header.Get("Authorization"), http.StatusUnauthorized)
			return
		}
		if r.Header.Get("X-Scope-OrgID") != "team-a" {
			http.Error(w, "no org id", http.StatusForbidden)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	cert, key := bots.Sign(j.t, "prometheus", nil, identity.Serving("medic.example.com"))
	pair, err := tls.X509KeyPair(cert, key)
	ts.Check(err)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	ca, err := os.ReadFile(bots.File)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs("prom-ca.crt"), ca, 0o600))
	ts.Check(os.WriteFile(ts.MkAbs("prom-token"), []byte(secret+"\n"), 0o600))
	s.StartTLS()
	return j.serving(s)
}

// looked waits until a counted Prometheus has been looked at so often: looked N.
func looked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: looked N")
	}
	want, err := strconv.ParseInt(args[0], 10, 64)
	ts.Check(err)
	poll(ts, "the next look", func() bool { return of(ts).looks.Load() >= want })
}
