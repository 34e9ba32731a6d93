package app

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"

	_ "k8s.io/client-go/plugin/pkg/client/auth" // what a kubeconfig may name besides programs: oidc
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/transport"
)

// Credentials are what a person shows a cluster: a token, a certificate, or both.
type Credentials struct {
	Token       string
	Certificate *tls.Certificate
}

// Login is where a person's credentials are, as kubectl looks for them.
type Login struct {
	// Kubeconfig is the one file to read; empty: those that Env, the value of KUBECONFIG, lists, or ~/.kube/config.
	Kubeconfig, Env string
	// Context is the context in it; empty: the current one.
	Context string
}

// Credentials are those with which kubectl would ask the cluster, which is not asked. A program that the kubeconfig
// names is run for them, and may ask the person to log in. One process runs it once for all calls.
func (l Login) Credentials() (Credentials, error) {
	name, rc, err := l.config()
	if err != nil {
		return Credentials{}, err
	}
	got, err := own(rc)
	if err == nil && got.Token == "" && got.Certificate == nil {
		err = errors.New("it has neither a token nor a client certificate")
	}
	if err != nil {
		return Credentials{}, fmt.Errorf("context %s: %w", name, err)
	}
	return got, nil
}

// config reads a context as kubectl does, except that the account of a pod is no answer when there is no kubeconfig: it
// isn't a person.
func (l Login) config() (name string, rc *rest.Config, err error) {
	files := cmp.Or(l.Env, clientcmd.RecommendedHomeFile)
	rules := &clientcmd.ClientConfigLoadingRules{ExplicitPath: l.Kubeconfig, Precedence: filepath.SplitList(files)}
	file, err := rules.Load()
	if err != nil {
		return "", nil, err
	}
	if name, err = contextOf(file, cmp.Or(l.Kubeconfig, files), l.Context, "--context"); err != nil {
		return "", nil, err
	}
	rc, err = clientcmd.NewNonInteractiveClientConfig(*file, name, &clientcmd.ConfigOverrides{}, rules).ClientConfig()
	if err != nil {
		return "", nil, fmt.Errorf("context %s: %w", name, err)
	}
	return name, rc, nil
}

// own reads the credentials without asking the cluster. client-go makes them while it sends a request, so it is given
// one whose network only takes down what it was handed.
func own(rc *rest.Config) (Credentials, error) {
	as := rc.Impersonate
	switch {
	case rc.Username != "" || rc.Password != "":
		return Credentials{}, errors.New("a user name and password are not accepted; use a token, an exec plugin or a " +
			"client certificate")
	case as.UserName != "" || as.UID != "" || len(as.Groups) > 0 || len(as.Extra) > 0:
		return Credentials{}, errors.New("it acts as somebody else (as, as-groups), and a decision is recorded under your " +
			"own name; choose a context without it")
	}
	made, err := rc.TransportConfig()
	if err != nil {
		return Credentials{}, err
	}
	var sent noted
	asked, err := transport.HTTPWrappersForConfig(made, &sent)
	if err != nil {
		return Credentials{}, err
	}
	req, err := http.NewRequest(http.MethodGet, rc.Host, http.NoBody) //nolint:noctx // it is never sent
	if err != nil {
		return Credentials{}, err
	}
	resp, err := asked.RoundTrip(req)
	if err != nil {
		return Credentials{}, err
	}
	if err := resp.Body.Close(); err != nil {
		return Credentials{}, err
	}
	got := Credentials{Token: strings.TrimPrefix(sent.authorization, "Bearer ")}
	if made.HasCertCallback() {
		got.Certificate, err = made.TLS.GetCertHolder.GetCert()
		return got, err
	}
	got.Certificate, err = certificate(rc)
	return got, err
}

// certificate is the one that the kubeconfig has; nil when it has none.
func certificate(rc *rest.Config) (*tls.Certificate, error) {
	of := &rest.Config{TLSClientConfig: rest.TLSClientConfig{
		CertFile: rc.CertFile, CertData: rc.CertData, KeyFile: rc.KeyFile, KeyData: rc.KeyData,
	}}
	if err := rest.LoadTLSFiles(of); err != nil {
		return nil, err
	}
	if len(of.CertData) == 0 {
		return nil, nil
	}
	pair, err := tls.X509KeyPair(of.CertData, of.KeyData)
	if err != nil {
		return nil, fmt.Errorf("the client certificate: %w", err)
	}
	return &pair, nil
}

// noted takes the place of the network.
type noted struct{ authorization string }

// RoundTrip notes what would have been sent.
func (n *noted) RoundTrip(req *http.Request) (*http.Response, error) {
	n.authorization = req.Header.Get("Authorization")
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody, Request: req}, nil
}
