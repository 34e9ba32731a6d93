package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates. Its methods are safe for concurrent use.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// File has its own certificate, PEM.
	File string
}

// NewAuthority makes one, with its certificate as name.crt in dir.
func NewAuthority(dir, name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, BasicConstraintsValid: true, IsCA: true,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(2 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	a := &Authority{key: key, File: filepath.Join(dir, name+".crt")}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if err := os.WriteFile(a.File, block("CERTIFICATE", der), 0o600); err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return a, nil
}

// Sign makes a certificate and its key, both PEM. It is a person's, for an hour, unless change says otherwise.
func (a *Authority) Sign(t testing.TB, user string, groups []string, change func(*x509.Certificate)) (cert,
	key []byte,
) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: user, Organization: groups},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if change != nil {
		change(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &pair.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", private)
}

// Serving makes a certificate a server's, for loopback and a name.
func Serving(name string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		c.DNSNames, c.IPAddresses = []string{name}, []net.IP{net.IPv4(127, 0, 0, 1)}
	}
}

func block(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
