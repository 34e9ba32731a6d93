package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/credential"
)

// allows says whether a request presents the credential. It compares in constant time. The length of a wrong secret
// does not show either, because hashes are compared.
func allows(c credential.Credential, r *http.Request) bool {
	if c.None() {
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

func same(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}
