package access

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	authn "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/cert"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
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

// published are the authorities that were read last.
type published struct {
	client kubernetes.Interface
	mu     sync.Mutex
	are    []*x509.Certificate
	read   time.Time
}

// certified is whose certificate it is.
func (g *Gate) certified(ctx context.Context, chain []*x509.Certificate) (authn.UserInfo, error) {
	trusted, err := g.authorities(ctx)
	if err != nil {
		return authn.UserInfo{}, fmt.Errorf("the client certificate could not be checked: %w", err)
	}
	roots := x509.NewCertPool()
	for _, c := range trusted {
		roots.AddCert(c)
	}
	return holder(chain, roots)
}

// Authorities are those whose client certificates are taken; none when certificates aren't asked for. The error says
// why they can't be checked.
func (g *Gate) Authorities(ctx context.Context) ([]*x509.Certificate, error) {
	if !g.settings.ClientCertificates {
		return nil, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, errNoAnswer)
	defer cancel()
	return g.authorities(ctx)
}

// authorities sign people's certificates: those of a file as it is now, else what was published some seconds ago. What
// could not be read is read again by the next who asks.
func (g *Gate) authorities(ctx context.Context) ([]*x509.Certificate, error) {
	if g.settings.ClientCAFile != "" {
		return g.authorityFile()
	}
	p := &g.published
	p.mu.Lock() // whoever waits here would ask the same
	defer p.mu.Unlock()
	if p.are != nil && time.Since(p.read) < authorityAge {
		return p.are, nil
	}
	p.are, p.read = nil, time.Now()
	got, err := g.publishedAuthorities(ctx)
	if err != nil {
		return nil, err
	}
	p.are = got
	return got, nil
}

func (g *Gate) publishedAuthorities(ctx context.Context) ([]*x509.Certificate, error) {
	at := authorityNamespace + "/" + authorityName
	cm, err := g.published.client.CoreV1().ConfigMaps(authorityNamespace).Get(ctx, authorityName, meta.GetOptions{})
	switch {
	case apierrors.IsForbidden(err):
		return nil, fmt.Errorf("the bot lacks permission to get the ConfigMap %s; apply what vllm-medic rbac prints: %w",
			at, err)
	case err != nil:
		return nil, fmt.Errorf("read the ConfigMap %s: %w", at, err)
	}
	return authoritiesIn(cm.Data[authorityKey], fmt.Sprintf("%s in the ConfigMap %s", authorityKey, at))
}

func (g *Gate) authorityFile() ([]*x509.Certificate, error) {
	b, err := boundedfile.ReadRegular(g.settings.ClientCAFile, boundedfile.MaxSecret)
	if err != nil {
		return nil, fmt.Errorf("access.client_ca_file: %w", err)
	}
	return authoritiesIn(string(b), "access.client_ca_file")
}

// authoritiesIn reads them from PEM. There must be one, and none that can't be read: then nobody is trusted.
func authoritiesIn(pem, where string) ([]*x509.Certificate, error) {
	out, err := cert.ParseCertsPEM([]byte(pem))
	if err != nil {
		return nil, fmt.Errorf("%s holds no certificate that can be read: %w", where, err)
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
