// Package credential is what a client has to present: the configuration reads it, the webhook demands it.
package credential

import "errors"

// Credential is a bearer token, or a user with a password. The zero Credential lets everybody in and is only meant for
// loopback; the configuration refuses it elsewhere. Its values never appear in text: String and GoString redact them.
type Credential struct {
	BearerToken    string
	User, Password string
}

// String hides the secrets.
func (c Credential) String() string {
	switch {
	case c.BearerToken != "":
		return "bearer token [redacted]"
	case c.User != "":
		return "basic auth [redacted]"
	default:
		return "none"
	}
}

// GoString hides the secrets.
func (c Credential) GoString() string { return c.String() }

// None says that nothing is demanded.
func (c Credential) None() bool { return c.BearerToken == "" && c.User == "" }

// Validate refuses half a credential.
func (c Credential) Validate() error {
	if c.BearerToken != "" && c.User != "" {
		return errors.New("give a bearer token or a user with a password, not both")
	}
	if (c.User == "") != (c.Password == "") {
		return errors.New("a user needs a password and a password a user")
	}
	return nil
}
