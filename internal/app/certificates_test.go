package app

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/test/identity"
)

// A listener shows the certificate that is in its files, and lets in whom the authorities of now have signed: not whom
// one has signed that was removed, on a new connection or on one that is still open.
func TestAListenerFollowsItsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	authority := func(name string) (*identity.Authority, []byte) {
		a, err := identity.NewAuthority(t.TempDir(), name)
		if err != nil {
			t.Fatal(err)
		}
		pem, err := os.ReadFile(a.File)
		if err != nil {
			t.Fatal(err)
		}
		return a, pem
	}
	put := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	servers, serversPEM := authority("servers")
	old, oldPEM := authority("old clients")
	next, nextPEM := authority("next clients")
	serve := func(name string) {
		cert, key := servers.Sign(t, name, nil, identity.Serving("medic.example.com"))
		put("tls.crt", cert)
		put("tls.key", key)
	}
	serve("first")
	put("ca.crt", oldPEM)
	set := &reread.Set{}
	tc, routes, err := listenerTLS(set, "listen.tls.api", config.TLS{
		CertFile: filepath.Join(dir, "tls.crt"), KeyFile: filepath.Join(dir, "tls.key"),
		ClientCAFile: filepath.Join(dir, "ca.crt"),
	}, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewUnstartedServer(routes)
	_ = srv.Listener.Close() // of the test server's own, which has no TLS
	srv.Listener = tls.NewListener(l, tc)
	srv.Start()
	t.Cleanup(srv.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(serversPEM)
	// asks is what a client gets: a status, or 0 when the handshake is refused; and whose certificate it sees.
	asks := func(c *http.Client) (status int, server string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+l.Addr().String(), http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.Do(req)
		if err != nil {
			return 0, ""
		}
		defer res.Body.Close() //nolint:errcheck // it has been read
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Error(err)
		}
		return res.StatusCode, res.TLS.PeerCertificates[0].Subject.CommonName
	}
	client := func(of *identity.Authority) *http.Client {
		cert, key := of.Sign(t, "alertmanager", nil, nil)
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{TLSClientConfig: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12,
		}}
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport}
	}
	open := client(old) // its connection stays open
	check := func(what, server string, openGets, oldGets, nextGets int) {
		t.Helper()
		set.Reload(t.Context(), slog.New(slog.DiscardHandler))
		if got, _ := asks(open); got != openGets {
			t.Errorf("%s: the open connection gets %d, want %d", what, got, openGets)
		}
		for name, c := range map[string]struct {
			of   *identity.Authority
			want int
		}{"old": {old, oldGets}, "next": {next, nextGets}} {
			if got, shown := asks(client(c.of)); got != c.want || got != 0 && shown != server {
				t.Errorf("%s: a client of the %s authority gets %d of %q, want %d of %q", what, name, got, shown, c.want, server)
			}
		}
		if got, _ := asks(&http.Client{Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		}}); got != 0 {
			t.Errorf("%s: a client without a certificate gets %d", what, got)
		}
	}
	check("at the start", "first", 204, 204, 0)
	serve("second")
	put("ca.crt", append(bytes.Clone(oldPEM), nextPEM...))
	check("both", "second", 204, 204, 204)
	put("tls.key", []byte("half"))
	put("ca.crt", nil)
	check("broken", "second", 204, 204, 204)
	put("ca.crt", nextPEM)
	check("the old one removed", "second", 401, 0, 204)
}
