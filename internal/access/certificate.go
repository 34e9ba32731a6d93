package access

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	authn "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Where every API server publishes the authority of its users' certificates, for others that serve them. The front
// proxy's authority is published beside it: whoever has a certificate of that one may be anybody, so it is never read.
const (
	authorityNamespace = "kube-system"
	authorityName      = "extension-apiserver-authentication"
	authorityKey       = "client-ca-file"
)

// authorityAge is for how long a published authority is believed. What anybody can send is checked against it, and must
// not cost a question to the API server each.
const authorityAge = 5 * time.Second

// published is the authority that was read last. The zero value is ready.
type published struct {
	mu   sync.Mutex
	pool *x509.CertPool
	read time.Time
}

// certified is whose certificate it is.
func (g *Gate) certified(ctx context.Context, chain []*x509.Certificate) (authn.UserInfo, error) {
	roots, err := g.authority(ctx)
	if err != nil {
		return authn.UserInfo{}, fmt.Errorf("the client certificate could not be checked: %w", err)
	}
	return holder(chain, roots)
}

// CheckAuthority says why client certificates can't be checked; nil means that they can be, or aren't asked for.
func (g *Gate) CheckAuthority(ctx context.Context) error {
	if !g.settings.ClientCertificates {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoAnswer)
	defer cancel()
	_, err := g.authority(ctx)
	return err
}

// authority is who signs people's certificates: a file as it is now, else what was published some seconds ago. What
// could not be read is read again by the next who asks.
func (g *Gate) authority(ctx context.Context) (*x509.CertPool, error) {
	if g.settings.ClientCAFile != "" {
		return g.authorityFile()
	}
	p := &g.published
	p.mu.Lock() // whoever waits here would ask the same
	defer p.mu.Unlock()
	if p.pool != nil && time.Since(p.read) < authorityAge {
		return p.pool, nil
	}
	p.pool, p.read = nil, time.Now()
	got, err := g.publishedAuthority(ctx)
	if err != nil {
		return nil, err
	}
	p.pool = got
	return got, nil
}

func (g *Gate) publishedAuthority(ctx context.Context) (*x509.CertPool, error) {
	at := authorityNamespace + "/" + authorityName
	cm, err := g.reviews.CoreV1().ConfigMaps(authorityNamespace).Get(ctx, authorityName, meta.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("the bot lacks permission to get the ConfigMap %s (deploy/kubernetes/rbac.yaml has it): %w",
			at, err)
	case err != nil:
		return nil, fmt.Errorf("read the ConfigMap %s: %w", at, err)
	}
	return pool(cm.Data[authorityKey], fmt.Sprintf("%s in the ConfigMap %s", authorityKey, at))
}

func (g *Gate) authorityFile() (*x509.CertPool, error) {
	b, err := os.ReadFile(g.settings.ClientCAFile)
	if err != nil {
		return nil, fmt.Errorf("access.client_ca_file: %w", err)
	}
	return pool(string(b), "access.client_ca_file")
}

// pool is the authorities of a file. Without one nobody is trusted; an empty pool must not become the machine's own.
func pool(pem, where string) (*x509.CertPool, error) {
	out := x509.NewCertPool()
	if !out.AppendCertsFromPEM([]byte(pem)) {
		return nil, fmt.Errorf("%s holds no certificate", where)
	}
	return out, nil
}

// holder is whose certificate it is, as the API server reads it: the common name, and the organizations as groups.
func holder(chain []*x509.Certificate, roots *x509.CertPool) (authn.UserInfo, error) {
	own := chain[0]
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	_, err := own.Verify(x509.VerifyOptions{
		Roots: roots, Intermediates: between, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	if expired, ok := errors.AsType[x509.CertificateInvalidError](err); ok && expired.Reason == x509.Expired {
		return authn.UserInfo{}, refusal("the client certificate has expired or is not valid yet")
	}
	if err != nil {
		return authn.UserInfo{}, refusal("the client certificate is not one of this cluster's users: " + err.Error())
	}
	name, groups := own.Subject.CommonName, own.Subject.Organization
	if name == "" {
		return authn.UserInfo{}, refusal("the client certificate names nobody: its common name is empty")
	}
	if err := notAPerson(name, groups); err != nil {
		return authn.UserInfo{}, err
	}
	return authn.UserInfo{Username: name, Groups: append(slices.Clone(groups), authenticated)}, nil
}
