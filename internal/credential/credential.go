// Package credential is what a client has to present: the configuration reads it, the webhook demands it.
package credential

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// MinLength is how many characters a token or a password has at least: what can be guessed keeps nobody out.
const MinLength = 16

// Credential is a bearer token, or a user with a password, and the name in a client certificate. The zero Credential
// lets everybody in and is only meant for loopback; the configuration refuses it elsewhere. Its values never appear in
// text: String and GoString redact them.
type Credential struct {
	BearerToken    string
	User, Password string
	// ClientNames are those of which one must be in the client certificate; nil: none is demanded.
	ClientNames []string
}

// String hides the secrets.
func (c Credential) String() string {
	switch {
	case c.BearerToken != "":
		return "bearer token [redacted]"
	case c.User != "":
		return "basic auth [redacted]"
	case c.ClientNames != nil:
		return "client certificate"
	default:
		return "none"
	}
}

// GoString hides the secrets.
func (c Credential) GoString() string { return c.String() }

// Current is the credential itself: one that never changes.
func (c Credential) Current() Credential { return c }

// None says that nothing is demanded.
func (c Credential) None() bool {
	return c.BearerToken == "" && c.User == "" && c.ClientNames == nil
}

// Validate refuses half a credential, and one whose secret can be guessed.
func (c Credential) Validate() error {
	err := c.Whole()
	for _, secret := range []string{c.BearerToken, c.Password} {
		if err == nil && secret != "" {
			err = LongEnough(secret)
		}
	}
	return err
}

// LongEnough refuses a token or a password that can be guessed. The error doesn't show it.
func LongEnough(secret string) error {
	if utf8.RuneCountInString(secret) < MinLength {
		return fmt.Errorf("has fewer than %d characters, so it can be guessed; make one: openssl rand -hex 32", MinLength)
	}
	return nil
}

// Whole refuses half a credential.
func (c Credential) Whole() error {
	if c.BearerToken != "" && c.User != "" {
		return errors.New("give a bearer token or a user with a password, not both")
	}
	if (c.User == "") != (c.Password == "") {
		return errors.New("a user needs a password and a password a user")
	}
	return nil
}
