package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"net/http"
	"strings"
)

// Auth is what a request must present: a bearer token, or a user with a password. The zero Auth lets everybody in and is only meant for
// loopback; the configuration refuses it elsewhere. Its values never appear in text: String and GoString redact them.
type Auth struct {
	BearerToken    string
	User, Password string
}

// String hides the secrets.
func (a Auth) String() string {
	switch {
	case a.BearerToken != "":
		return "bearer token [redacted]"
	case a.User != "":
		return "basic auth [redacted]"
	default:
		return "none"
	}
}

// GoString hides the secrets.
func (a Auth) GoString() string { return a.String() }

// None says that nothing is demanded.
func (a Auth) None() bool { return a.BearerToken == "" && a.User == "" }

// Validate refuses half a configuration.
func (a Auth) Validate() error {
	if a.BearerToken != "" && a.User != "" {
		return errors.New("alertmanager.auth: give a bearer token or a user with a password, not both")
	}
	if (a.User == "") != (a.Password == "") {
		return errors.New("alertmanager.auth: a user needs a password and a password a user")
	}
	return nil
}

// allows compares in constant time. The length of a wrong secret does not show either, because hashes are compared.
func (a Auth) allows(r *http.Request) bool {
	if a.None() {
		return true
	}
	if a.BearerToken != "" {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		return strings.EqualFold(scheme, "Bearer") && same(strings.TrimSpace(token), a.BearerToken)
	}
	user, password, ok := r.BasicAuth()
	okUser, okPassword := same(user, a.User), same(password, a.Password)
	return ok && okUser && okPassword
}

func same(got, want string) bool {
	g, w := sha256.Sum256([]byte(got)), sha256.Sum256([]byte(want))
	return subtle.ConstantTimeCompare(g[:], w[:]) == 1
}
