package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/credential"
)

// A certificate of the CA posts only under a name that the configuration has, and where a token is demanded, too, only
// with that.
func TestAClientCertificateNeedsAName(t *testing.T) {
	t.Parallel()
	names := []string{"alertmanager", "am.example.com", "spiffe://example.com/am", "am@example.com"}
	uri, err := url.Parse("spiffe://example.com/am")
	if err != nil {
		t.Fatal(err)
	}
	common := func(name string) *x509.Certificate { return &x509.Certificate{Subject: pkix.Name{CommonName: name}} }
	for name, tt := range map[string]struct {
		own     *x509.Certificate
		allowed []string
		// unchecked says that nobody has checked who signed it; token and shown are the one that is demanded and the one
		// that comes.
		unchecked    bool
		token, shown string
		want         bool
	}{
		"a common name": {own: common("alertmanager"), allowed: names, want: true},
		"a DNS name": {
			own: &x509.Certificate{DNSNames: []string{"x", "am.example.com"}}, allowed: names, want: true,
		},
		"a URI": {own: &x509.Certificate{URIs: []*url.URL{uri}}, allowed: names, want: true},
		"an email address": {
			own: &x509.Certificate{EmailAddresses: []string{"am@example.com"}}, allowed: names, want: true,
		},
		"another name":            {own: common("grafana"), allowed: names},
		"a name that contains it": {own: common("alertmanager.example.com"), allowed: names},
		"another case":            {own: common("Alertmanager"), allowed: names},
		"no name":                 {own: common(""), allowed: []string{""}},
		"no certificate":          {allowed: names},
		"nobody is allowed":       {own: common("alertmanager"), allowed: []string{}},
		"one that nobody checked": {own: common("alertmanager"), allowed: names, unchecked: true},
		"a name and the token":    {own: common("alertmanager"), allowed: names, token: secret, shown: secret, want: true},
		"a name without the token": {
			own: common("alertmanager"), allowed: names, token: secret,
		},
		"the token without a name": {own: common("grafana"), allowed: names, token: secret, shown: secret},
		"the token, any name":      {own: common("grafana"), token: secret, shown: secret, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, Path, http.NoBody)
			if tt.own != nil {
				r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{tt.own}}
				if !tt.unchecked {
					r.TLS.VerifiedChains = [][]*x509.Certificate{{tt.own}}
				}
			}
			if tt.shown != "" {
				r.Header.Set("Authorization", "Bearer "+tt.shown)
			}
			c := credential.Credential{BearerToken: tt.token, ClientNames: tt.allowed}
			if got := allows(c, r); got != tt.want || c.None() {
				t.Errorf("allowed: %v", got)
			}
		})
	}
}
