package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"net/http"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/credential"
)

// allows says whether a request presents the credential. It compares in constant time. The length of a wrong secret
// does not show either, because hashes are compared.
func allows(c credential.Credential, r *http.Request) bool {
	if c.ClientNames != nil && !named(c.ClientNames, r.TLS) {
		return false
	}
	if c.BearerToken == "" && c.User == "" {
		return true
	}
	if c.BearerToken != "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		return strings.EqualFold(scheme, "Bearer") && same(strings.TrimSpace(token), c.BearerToken)
	}
	user, password, ok := r.BasicAuth()
	okUser, okPassword := same(user, c.User), same(password, c.Password)
	return ok && okUser && okPassword
}

// named says whether the client certificate has one of these names: as its common name, or as a DNS name, an email
// address or a URI in it. The listener has checked who signed it; what nobody has checked has no name.
func named(allowed []string, state *tls.ConnectionState) bool {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.PeerCertificates) == 0 {
		return false
	}
	own := state.PeerCertificates[0]
	names := slices.Concat([]string{own.Subject.CommonName}, own.DNSNames, own.EmailAddresses)
	for _, u := range own.URIs {
		names = append(names, u.String())
	}
	return slices.ContainsFunc(names, func(n string) bool { return n != "" && slices.Contains(allowed, n) })
}

func same(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}
