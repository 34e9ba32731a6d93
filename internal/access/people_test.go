package access_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// forPeople is a gate that also takes the tokens that people use with the cluster.
func forPeople(t *testing.T, rc *rest.Config) *access.Gate {
	t.Helper()
	g, err := access.New(rc, access.Settings{Audience: audience, ClusterTokens: true})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// provided waits until the API server takes the issuer's tokens: it reads the issuer's keys some time after its start.
func provided(t *testing.T, g *access.Gate, token, who string) {
	t.Helper()
	kubetest.Eventually(t, "the issuer's keys at the API server", func(ctx context.Context) error {
		got, err := g.Check(ctx, access.Shown{Token: token}, access.Decide)
		if err == nil && got != (incident.Actor{Kind: "kubernetes", ID: who}) {
			t.Fatalf("the decision is that of %s", got)
		}
		return err
	})
}

func TestAPersonDecidesWithTheTokenOfTheirCluster(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, kubetest.Bot, reviews...)
	alice, bob := "alice@"+ns+".example.com", "bob@"+ns+".example.com"
	onCall := "on-call-" + ns
	c.GrantAll(t, alice, allow("update", "incidents/decision"))
	allowGroup(t, c, onCall, allow("update", "incidents/decision"))
	g := forPeople(t, c.ConfigFor(kubetest.Bot))
	token := issuer.Token(t, alice, nil, nil)
	provided(t, g, token, alice)
	// By a group, which only the token has.
	provided(t, g, issuer.Token(t, bob, []string{onCall}, nil), bob)
	said := refused(t, g, issuer.Token(t, bob, nil, nil), access.Decide, access.ErrForbidden)
	if !strings.Contains(said, bob) {
		t.Errorf("the error does not say who lacks the right: %s", said)
	}
	refused(t, g, token, access.Pause, access.ErrForbidden)
	// Without the setting it is nobody's, and a token for the bot works as before.
	refused(t, gate(t, c.ConfigFor(kubetest.Bot), ""), token, access.Decide, access.ErrUnauthenticated)
	account := "system:serviceaccount:" + ns + ":sre"
	c.GrantAll(t, account, allow("update", "incidents/decision"))
	provided(t, g, c.ServiceAccountToken(t, ns, "sre", audience), account)

	// A browser keeps a password and sends it by itself, so what is good for the cluster is none.
	_, err := g.Check(t.Context(), access.Shown{Token: token, Password: true}, access.Read)
	if !errors.Is(err, access.ErrUnauthenticated) {
		t.Errorf("as a password: %v", err)
	}
	c.GrantAll(t, account, allow("get", "incidents"))
	made := access.Shown{Token: c.ServiceAccountToken(t, ns, "sre", audience), Password: true}
	kubetest.Eventually(t, "the right to read", func(ctx context.Context) error {
		_, err := g.Check(ctx, made, access.Read)
		return err
	})

	for name, bad := range map[string]string{
		"expired":             issuer.Token(t, alice, nil, map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}),
		"for another program": issuer.Token(t, alice, nil, map[string]any{"aud": "grafana"}),
		"of another issuer":   issuer.Token(t, alice, nil, map[string]any{"iss": "https://issuer.example.com"}),
		"without a name":      issuer.Token(t, "", nil, nil),
		"with more behind":    token + "x",
		"cut":                 token[:len(token)-8],
		"garbage":             "not-a-token-at-all",
		"another bot's":       c.ServiceAccountToken(t, ns, "sre", "grafana"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, g, bad, access.Decide, access.ErrUnauthenticated)
		})
	}
}

// Every pod has a token for the API server. One of those must not decide, whatever rights its account has.
func TestATokenOfAProgramNeedsTheAudienceOfTheBot(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, kubetest.Bot, reviews...)
	account := "system:serviceaccount:" + ns + ":sre"
	c.GrantAll(t, account, allow("*", "incidents"), allow("*", "incidents/decision"))
	g := forPeople(t, c.ConfigFor(kubetest.Bot))
	mounted := c.ServiceAccountToken(t, ns, "sre")
	for _, right := range []access.Right{access.Read, access.Decide} {
		said := refused(t, g, mounted, right, access.ErrUnauthenticated)
		if !strings.Contains(said, account) || !strings.Contains(said, "--audience "+audience) {
			t.Errorf("the error does not say what to do: %s", said)
		}
	}
}

// The API server's word for who it is decides, not the kind of the token.
func TestAnAccountOfKubernetesIsNotAPerson(t *testing.T) {
	t.Parallel()
	for name, user := range map[string]string{
		"a node":                `"username":"system:node:gpu-1","groups":["system:nodes","system:authenticated"]`,
		"a component":           `"username":"system:kube-controller-manager"`,
		"anybody":               `"username":"system:anonymous","groups":["system:unauthenticated"]`,
		"an account by a group": `"username":"ci","groups":["system:serviceaccounts:llm"]`,
		"a node by a group":     `"username":"gpu-1","groups":["system:nodes"]`,
		"a bootstrap token":     `"username":"ab12","groups":["system:bootstrappers"]`,
		"nobody":                `"username":""`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rc := answering(t, 201, review(`{"authenticated":true,"user":{`+user+`}}`))
			refused(t, forPeople(t, rc), "some-token", access.Read, access.ErrUnauthenticated)
		})
	}
}

// What cannot be asked is a no, also when only the second question cannot be.
func TestAPersonWhoCannotBeAskedAboutIsRefused(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	token := issuer.Token(t, "alice@example.com", nil, nil)
	for name, rc := range map[string]*rest.Config{
		"no right to ask":   c.ConfigFor(kubetest.Viewer),
		"nobody at its end": {Host: "https://127.0.0.1:1"},
		"only the first":    secondFails(t),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, forPeople(t, rc), token, access.Decide, errUnanswered)
		})
	}
}

// secondFails is an API server that knows the token for no audience and fails at the next question.
func secondFails(t *testing.T) *rest.Config {
	t.Helper()
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if asked.Add(1) > 1 {
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusCreated)
		if _, err := fmt.Fprint(w, review(`{"authenticated":false}`)); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(srv.Close)
	return &rest.Config{Host: srv.URL}
}

// allowGroup is a grant to everybody in a group.
func allowGroup(t *testing.T, c *kubetest.Cluster, group string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	named := metav1.ObjectMeta{Name: group}
	roles := c.Client(t).RbacV1()
	_, err := roles.ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: named, Rules: rules},
		metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = roles.ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: named, Subjects: []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: group}},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: group},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}
