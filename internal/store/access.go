package store

import (
	"context"
	"slices"
	"sync"

	"github.com/jackc/pgx/v5"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// access is who connects to PostgreSQL, which may change while connections come and go: a password is rotated, a client
// certificate renewed.
type access struct {
	url func() string

	mu sync.Mutex
	// passwords are those that connections were made with, the latest last.
	passwords []string
}

// mostPasswords bounds how many are remembered. A connection is made within seconds.
const mostPasswords = 64

// renew gives a connection that is to be made the credentials of now: the user, the password, and what certificates and
// password file the URL names. A URL that cannot be read, such as while a certificate is replaced, changes nothing.
func (a *access) renew(_ context.Context, cfg *pgx.ConnConfig) error {
	if is, err := serverConfig(a.url()); err == nil {
		cfg.User, cfg.Password, cfg.TLSConfig, cfg.Fallbacks = is.User, is.Password, is.TLSConfig, is.Fallbacks
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if !slices.Contains(a.passwords, cfg.Password) {
		a.passwords = append(a.passwords, cfg.Password)
		a.passwords = a.passwords[max(len(a.passwords)-mostPasswords, 0):]
	}
	return nil
}

// hide is an error without any password that a connection was made with.
func (a *access) hide(err error) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return redact.Without(err.Error(), a.passwords...)
}
