// Package identity names people to a real kube-apiserver: an OIDC issuer that signs their tokens, and an authority that
// signs their client certificates. Make both before the API server starts, which reads them then.
package identity

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// clientID is who the issuer's tokens are for: the API server.
const clientID = "kubernetes"

// Issuer is an OpenID provider. Its methods are safe for concurrent use.
type Issuer struct {
	server *httptest.Server
	key    *rsa.PrivateKey
	ca     string
}

// StartIssuer starts one, with its certificate in dir. Close ends it.
func StartIssuer(dir string) (*Issuer, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	i := &Issuer{key: key, ca: filepath.Join(dir, "issuer.crt")}
	mux := http.NewServeMux()
	i.server = httptest.NewTLSServer(mux)
	answer(mux, "/.well-known/openid-configuration", map[string]any{
		"issuer": i.server.URL, "jwks_uri": i.server.URL + "/keys", "authorization_endpoint": i.server.URL + "/authorize",
		"response_types_supported": []string{"id_token"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256"},
	})
	answer(mux, "/keys", map[string]any{"keys": []map[string]string{{
		"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
		"n": base64.RawURLEncoding.EncodeToString(key.N.Bytes()),
		"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()),
	}}})
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.server.Certificate().Raw})
	if err := os.WriteFile(i.ca, cert, 0o600); err != nil {
		i.Close()
		return nil, fmt.Errorf("identity: %w", err)
	}
	return i, nil
}

func answer(mux *http.ServeMux, path string, with map[string]any) {
	mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(with); err != nil {
			panic(err) // its parts are strings
		}
	})
}

// Close ends the issuer. It may be called twice.
func (i *Issuer) Close() { i.server.Close() }

// ServerArgs make a kube-apiserver accept its tokens: the claim email is the name, groups are the groups.
func (i *Issuer) ServerArgs() []string {
	return []string{
		"--oidc-issuer-url=" + i.server.URL, "--oidc-client-id=" + clientID, "--oidc-ca-file=" + i.ca,
		"--oidc-username-claim=email", "--oidc-groups-claim=groups",
	}
}

// Token is one for a person, for an hour; other claims replace those that it has.
func (i *Issuer) Token(t testing.TB, email string, groups []string, other map[string]any) string {
	t.Helper()
	claims := map[string]any{
		"iss": i.server.URL, "aud": clientID, "sub": "sub-of-" + email, "email": email, "groups": groups,
		"iat": time.Now().Add(-time.Minute).Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
	maps.Copy(claims, other)
	header, err := json.Marshal(map[string]string{"alg": "RS256", "kid": "1", "typ": "JWT"})
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(signed))
	sig, err := rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(sig)
}
