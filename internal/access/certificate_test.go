package access_test

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// forCertificates is a gate that takes client certificates, signed by the cluster's authority or by that of a file.
func forCertificates(t *testing.T, rc *rest.Config, file string) *access.Gate {
	t.Helper()
	g, err := access.New(rc, access.Settings{Audience: audience, ClientCertificates: true, ClientCAFile: file})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// shown is what the handshake hands over.
func shown(t *testing.T, by *identity.Authority, user string, groups []string,
	change func(*x509.Certificate),
) []*x509.Certificate {
	t.Helper()
	b, _ := by.Sign(t, user, groups, change)
	block, _ := pem.Decode(b)
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return []*x509.Certificate{cert}
}

// botOf is an account with the bot's rights: the reviews, and to read what the API server publishes.
func botOf(t *testing.T, c *kubetest.Cluster, ns, name string, rules ...rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	rc := c.ConfigWithToken(c.ServiceAccountToken(t, ns, name))
	user := "system:serviceaccount:" + ns + ":" + name
	c.GrantAll(t, user, reviews...)
	if len(rules) > 0 {
		c.Grant(t, user, "kube-system", rules...)
	}
	return rc
}

// published is the right to read the authority, as the role extension-apiserver-authentication-reader has it.
var published = rbacv1.PolicyRule{
	APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"},
	ResourceNames: []string{"extension-apiserver-authentication"},
}

// unproven checks that a certificate is refused with this error, and returns the error's text.
func unproven(t *testing.T, g *access.Gate, chain []*x509.Certificate, want error) string {
	t.Helper()
	who, err := g.Check(t.Context(), access.Shown{Chain: chain}, access.Decide)
	if err == nil || who != (incident.Actor{}) {
		t.Fatalf("%s may decide: %v", who, err)
	}
	for _, kind := range []error{access.ErrUnauthenticated, access.ErrForbidden} {
		if errors.Is(err, kind) != errors.Is(want, kind) {
			t.Errorf("refused with %v, want %v", err, want)
		}
	}
	return err.Error()
}

func TestAPersonDecidesWithTheirCertificate(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	alice, bob := "alice@"+ns, "bob@"+ns
	c.GrantAll(t, alice, allow("update", "incidents/decision"))
	g := forCertificates(t, botOf(t, c, ns, "bot", published), "")
	kubetest.Eventually(t, "the published authority", func(ctx context.Context) error {
		_, err := g.Authorities(ctx)
		return err
	})
	for who, groups := range map[string][]string{alice: nil, bob: {"system:masters"}} {
		got, err := g.Check(t.Context(), access.Shown{Chain: shown(t, users, who, groups, nil)}, access.Decide)
		if err != nil || got != (incident.Actor{Kind: "kubernetes", ID: who}) {
			t.Errorf("%s: %s, %v", who, got, err)
		}
	}
	for name, tt := range map[string]struct {
		chain []*x509.Certificate
		want  error
		says  string
	}{
		"nobody":               {nil, access.ErrUnauthenticated, ""},
		"without the right":    {shown(t, users, bob, []string{"devs"}, nil), access.ErrForbidden, bob + " needs the right"},
		"of another authority": {shown(t, other(t), alice, nil, nil), access.ErrUnauthenticated, "unknown authority"},
		"of a front proxy":     {shown(t, proxies, alice, nil, nil), access.ErrUnauthenticated, "unknown authority"},
		"expired": {shown(t, users, alice, nil, func(c *x509.Certificate) {
			c.NotAfter = time.Now().Add(-time.Minute)
		}), access.ErrUnauthenticated, "has expired"},
		"of tomorrow": {shown(t, users, alice, nil, func(c *x509.Certificate) {
			c.NotBefore = time.Now().Add(10 * time.Minute)
		}), access.ErrUnauthenticated, "is not valid yet"},
		"of a server": {
			shown(t, users, alice, nil, identity.Serving("alice")), access.ErrUnauthenticated, "incompatible key usage",
		},
		"without a name": {shown(t, users, "", []string{"system:masters"}, nil), access.ErrUnauthenticated, "names nobody"},
		"of a node": {
			shown(t, users, "system:node:gpu-1", []string{"system:nodes", "system:masters"}, nil), access.ErrUnauthenticated,
			"not a person",
		},
		"of a component": {
			shown(t, users, "kube-apiserver-kubelet-client", []string{"kubeadm:cluster-admins", "system:masters"}, nil),
			access.ErrUnauthenticated, "not a person",
		},
		"of an etcd client": {
			shown(t, users, "kube-apiserver-etcd-client", []string{"system:masters"}, nil), access.ErrUnauthenticated,
			"not a person",
		},
		"of an account": {
			shown(t, users, "system:serviceaccount:llm:sre", []string{"system:masters"}, nil), access.ErrUnauthenticated,
			"not a person",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said := unproven(t, g, tt.chain, tt.want); !strings.Contains(said, tt.says) {
				t.Errorf("the error is %q, want %q in it", said, tt.says)
			}
		})
	}
	// Nobody asked for certificates.
	unproven(t, forPeople(t, c.AdminConfig()), shown(t, users, alice, nil, nil), access.ErrUnauthenticated)
	unproven(t, forCertificates(t, nil, ""), shown(t, users, alice, nil, nil), access.ErrUnauthenticated)
}

func other(t *testing.T) *identity.Authority {
	t.Helper()
	a, err := identity.NewAuthority(t.TempDir(), "users") // by its name it is the same
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What cannot be asked is a no, and says what is missing.
func TestAnAuthorityThatCannotBeReadVouchesForNobody(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	chain := shown(t, users, "alice", []string{"system:masters"}, nil)
	proxiesOnly, err := os.ReadFile(proxies.File)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		rc   *rest.Config
		says string
	}{
		"no right to read it": {
			botOf(t, c, ns, "half"),
			"the bot lacks permission to get the ConfigMap kube-system/extension-apiserver-authentication",
		},
		"nobody at its end": {&rest.Config{Host: "https://127.0.0.1:1"}, "connection refused"},
		"not published": {
			answering(t, 200, `{"apiVersion":"v1","kind":"ConfigMap","data":{"requestheader-client-ca-file":"`+
				strings.ReplaceAll(string(proxiesOnly), "\n", `\n`)+`"}}`),
			"client-ca-file in the ConfigMap kube-system/extension-apiserver-authentication holds no certificate",
		},
		"garbage": {
			answering(t, 200, `{"apiVersion":"v1","kind":"ConfigMap","data":{"client-ca-file":"-----BEGIN"}}`),
			"holds no certificate",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := forCertificates(t, tt.rc, "")
			if said := unproven(t, g, chain, errUnanswered); !strings.Contains(said, tt.says) {
				t.Errorf("the error is %q, want %q in it", said, tt.says)
			}
			if _, err := g.Authorities(t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("nobody was told: %v", err)
			}
		})
	}
	if _, err := forPeople(t, &rest.Config{Host: "https://127.0.0.1:1"}).Authorities(t.Context()); err != nil {
		t.Errorf("nobody needs it: %v", err)
	}
}

// A replaced authority counts at once, and the old one no more.
func TestAFileMayNameTheAuthority(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	old, file := other(t), filepath.Join(t.TempDir(), "ca.crt")
	put := func(from string) {
		t.Helper()
		b, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(old.File)
	g := forCertificates(t, c.ConfigFor(kubetest.Admin), file)
	admin := []string{"system:masters"}
	ofOld, ofUsers := shown(t, old, "alice", admin, nil), shown(t, users, "alice", admin, nil)
	if _, err := g.Check(t.Context(), access.Shown{Chain: ofOld}, access.Decide); err != nil {
		t.Error(err)
	}
	unproven(t, g, ofUsers, access.ErrUnauthenticated)
	put(users.File)
	if _, err := g.Check(t.Context(), access.Shown{Chain: ofUsers}, access.Decide); err != nil {
		t.Error(err)
	}
	unproven(t, g, ofOld, access.ErrUnauthenticated)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	unproven(t, g, ofUsers, errUnanswered)
	bad := access.Settings{Audience: audience, ClientCertificates: true, ClientCAFile: file}
	if _, err := access.New(c.AdminConfig(), bad); err == nil || !strings.Contains(err.Error(), "access.client_ca_file") {
		t.Errorf("a gate without its file: %v", err)
	}
}
