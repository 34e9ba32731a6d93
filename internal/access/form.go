package access

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"time"
)

// ErrMalformed says that something cannot be a token of Kubernetes, so nobody was asked about it. Whatever is one is an
// ErrUnauthenticated as well.
var ErrMalformed = errors.New("this does not have the form of a token of Kubernetes, or it has expired")

// malformed is an ErrMalformed in words of its own.
type malformed string

// Error is what the person reads.
func (m malformed) Error() string { return string(m) }

// Is says that it is an ErrMalformed, and so an ErrUnauthenticated.
func (malformed) Is(target error) bool { return target == ErrMalformed || target == ErrUnauthenticated }

// expiryLeeway is how far this machine's clock may be ahead of the API server's before a token is refused here that the
// API server still takes.
const expiryLeeway = 5 * time.Minute

// takesClusterTokens says whether a token may be one for the API server itself. A browser keeps a password, so those
// are none.
func (g *Gate) takesClusterTokens(s Shown) bool { return g.settings.ClusterTokens && !s.Password }

// wellFormed refuses what the API server would refuse for its form alone, so that nobody has to ask it. The tokens that
// Kubernetes makes for an audience are JSON Web Tokens. Those that people use with a cluster may be anything that its
// authenticators take. Whom a token is for isn't looked at: it is the API server that knows who may say so.
func (g *Gate) wellFormed(s Shown, now time.Time) error {
	for _, c := range []byte(s.Token) {
		if c <= ' ' || c > '~' {
			// The API server reads a token up to the first space; what comes after it would not be looked at.
			return malformed("the token has characters that no token has, such as a space or a line break")
		}
	}
	expiry, ok := webToken(s.Token)
	switch {
	case !ok && g.takesClusterTokens(s):
		return nil
	case !ok:
		return malformed("this isn't a token that Kubernetes made for the audience " + g.settings.Audience)
	case !expiry.IsZero() && now.Sub(expiry) > expiryLeeway:
		return malformed("the token expired at " + expiry.UTC().Format(time.RFC3339))
	}
	return nil
}

// webToken says whether a token has the form of a signed JSON Web Token, and when it expires; the zero time is never.
// Nothing in it is believed.
func webToken(token string) (expiry time.Time, ok bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 || parts[2] == "" {
		return expiry, false
	}
	var read [3][]byte
	for n, p := range parts {
		var err error
		if read[n], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return expiry, false
		}
	}
	var header struct {
		Algorithm string `json:"alg"`
	}
	var claims *struct {
		Expiry   *float64 `json:"exp"`
		Audience audience `json:"aud"`
	}
	if json.Unmarshal(read[0], &header) != nil || header.Algorithm == "" || json.Unmarshal(read[1], &claims) != nil ||
		claims == nil {
		return expiry, false
	}
	if claims.Expiry != nil {
		const latest = 1 << 40 // the year 36812; beyond it times overflow
		return time.Unix(int64(max(-latest, min(*claims.Expiry, latest))), 0), true
	}
	return expiry, true
}

// audience is one name or several.
type audience []string

// UnmarshalJSON reads both.
func (a *audience) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(a))
}
