package app

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/reread"
)

// listenerTLS is the TLS of a listener, and what stands before its routes. Each handshake uses the certificate and the
// authorities of clients that are in the files then. A connection that is open when an authority goes is not believed
// any longer either: each request shows its certificate to the authorities of that time.
func listenerTLS(
	set *reread.Set, setting string, files config.TLS, routes http.Handler,
) (*tls.Config, http.Handler, error) {
	pair, err := reread.KeyPairFiles(set, setting+".cert_file", files.CertFile, files.KeyFile)
	if err != nil {
		return nil, nil, err
	}
	tc := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Value().TLS, nil },
	}
	if files.ClientCAFile == "" {
		return tc, routes, nil
	}
	clients, err := reread.AuthorityFile(set, setting+".client_ca_file", files.ClientCAFile)
	if err != nil {
		return nil, nil, err
	}
	base := tc.Clone()
	base.ClientAuth, base.SessionTicketsDisabled = tls.RequireAndVerifyClientCert, true
	tc.GetConfigForClient = func(*tls.ClientHelloInfo) (*tls.Config, error) {
		now := base.Clone()
		now.ClientCAs = clients.Value().Pool
		return now, nil
	}
	return tc, stillTrusted{routes, clients}, nil
}

// stillTrusted refuses requests on a connection whose certificate is not one of the authorities of now.
type stillTrusted struct {
	next    http.Handler
	clients *reread.Source[reread.Authorities]
}

// ServeHTTP implements http.Handler.
func (s stillTrusted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.TLS == nil || len(r.TLS.PeerCertificates) == 0 || !s.signed(r.TLS.PeerCertificates) {
		w.Header().Set("Connection", "close")
		http.Error(w, "the client certificate is not accepted any more", http.StatusUnauthorized)
		return
	}
	s.next.ServeHTTP(w, r)
}

func (s stillTrusted) signed(chain []*x509.Certificate) bool {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := chain[0].Verify(x509.VerifyOptions{
		Roots: s.clients.Value().Pool, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return err == nil
}
