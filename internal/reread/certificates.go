package reread

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
)

// KeyPair is a certificate chain with the key of its first certificate.
type KeyPair struct {
	TLS *tls.Certificate
	// Certificate and Key are what was read, PEM.
	Certificate, Key []byte

	holds Validity
}

// Validity is that of the whole chain: it ends with the first certificate in it that expires.
func (p KeyPair) Validity() Validity { return p.holds }

// KeyPairFiles reads a certificate and its key, and adds them to the Set. Half a pair is refused: the key has to be the
// certificate's.
func KeyPairFiles(set *Set, setting, certFile, keyFile string) (*Source[KeyPair], error) {
	s, err := New(Files(certFile, keyFile), parsePair)
	if err != nil {
		return nil, err
	}
	Add(set, setting, s)
	return s, nil
}

func parsePair(files []Content) (KeyPair, error) {
	out := KeyPair{Certificate: files[0].Data, Key: files[1].Data}
	if err := notEmpty(files); err != nil {
		return out, err
	}
	pair, err := tls.X509KeyPair(out.Certificate, out.Key)
	if err != nil {
		return out, fmt.Errorf("%s and %s are no pair: %w", files[0].Name, files[1].Name, err)
	}
	for _, der := range pair.Certificate {
		c, err := x509.ParseCertificate(der)
		if err != nil {
			return out, fmt.Errorf("%s: %w", files[0].Name, err)
		}
		out.holds = out.holds.and(c)
	}
	out.TLS = &pair
	return out, nil
}

// and is the time in which a further certificate holds, too.
func (v Validity) and(c *x509.Certificate) Validity {
	if v.NotAfter.IsZero() || c.NotAfter.Before(v.NotAfter) {
		v.NotAfter = c.NotAfter
	}
	if c.NotBefore.After(v.NotBefore) {
		v.NotBefore = c.NotBefore
	}
	return v
}

// Authorities are the certificates that sign others.
type Authorities struct {
	Pool *x509.CertPool
	// PEM is what was read.
	PEM []byte

	holds Validity
}

// Validity ends with the last of the authorities that expires: while one is replaced by another, both are there.
func (a Authorities) Validity() Validity { return a.holds }

// AuthorityFile reads a file of authorities, and adds it to the Set. A file without a certificate is refused, and so is
// one that ends within a certificate: then it is being written.
func AuthorityFile(set *Set, setting, path string) (*Source[Authorities], error) {
	s, err := New(Files(path), parseAuthorities)
	if err != nil {
		return nil, err
	}
	Add(set, setting, s)
	return s, nil
}

func parseAuthorities(files []Content) (Authorities, error) {
	out := Authorities{Pool: x509.NewCertPool(), PEM: files[0].Data}
	if err := notEmpty(files); err != nil {
		return out, err
	}
	var broken error
	rest := files[0].Data
	for {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil { // one that Go can't read is left out, as the standard library does
			broken = err
			continue
		}
		out.Pool.AddCert(c)
		out.holds = out.holds.or(c)
	}
	switch {
	case unfinished(rest):
		return out, fmt.Errorf("%s ends within a certificate", files[0].Name)
	case out.holds.NotAfter.IsZero():
		return out, errors.Join(fmt.Errorf("%s holds no certificate", files[0].Name), broken)
	}
	return out, nil
}

// or is the time in which this certificate or another one holds.
func (v Validity) or(c *x509.Certificate) Validity {
	if c.NotAfter.After(v.NotAfter) {
		v = Validity{NotBefore: c.NotBefore, NotAfter: c.NotAfter}
	}
	return v
}

// unfinished says that a block begins in what no whole block is left of.
func unfinished(rest []byte) bool { return bytes.Contains(rest, []byte("-----BEGIN ")) }
