package access

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

// Whatever is shown is read without a panic, is never shown again, and goes on to the API server only in three parts
// without a space.
func FuzzWellFormed(f *testing.F) {
	part := base64.RawURLEncoding.EncodeToString
	f.Add(part([]byte(`{"alg":"RS256"}`))+"."+part([]byte(`{"exp":1e300,"aud":["vllm-medic"]}`))+"."+part([]byte("s")),
		false)
	f.Add(part([]byte(`{"alg":"RS256"}`))+"."+part([]byte(`{"exp":-1e300,"aud":null}`))+"."+part([]byte("s")), true)
	f.Add("sha256~0123456789", true)
	f.Add("a b", true)
	f.Fuzz(func(t *testing.T, token string, clusters bool) {
		g := &Gate{settings: Settings{Audience: "vllm-medic", ClusterTokens: clusters}}
		err := g.wellFormed(Shown{Token: token}, time.Now())
		switch {
		case err != nil && !errors.Is(err, ErrMalformed):
			t.Fatalf("refused with %v", err)
		case err != nil && len(token) > 80 && strings.Contains(err.Error(), token):
			t.Fatalf("the error shows the token: %v", err)
		case err == nil && strings.ContainsAny(token, " \t\r\n"):
			t.Fatalf("%q goes on", token)
		case err == nil && !clusters && strings.Count(token, ".") != 2:
			t.Fatalf("%q goes on and isn't a web token", token)
		}
	})
}
