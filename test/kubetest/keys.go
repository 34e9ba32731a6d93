package kubetest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"strings"
)

// writeKeys makes the pair that signs and checks service account tokens.
func writeKeys(private, public string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	b, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	if err := os.WriteFile(private, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: b}), 0o600); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	if b, err = x509.MarshalPKIXPublicKey(&key.PublicKey); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	if err := os.WriteFile(public, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: b}), 0o600); err != nil {
		return fmt.Errorf("service account key: %w", err)
	}
	return nil
}

// writeTokens writes kube-apiserver's static token file: token, name, uid, "groups".
func writeTokens(path string, users []User) error {
	var b strings.Builder
	for _, u := range users {
		fmt.Fprintf(&b, "%s,%s,uid-of-%s,%q\n", token(u.Name), u.Name, u.Name, strings.Join(u.Groups, ","))
	}
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("token file: %w", err)
	}
	return nil
}
