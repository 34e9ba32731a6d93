package access_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/access"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/identity"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

const audience = "vllm-medic"

var (
	kube *kubetest.Shared
	// issuer is where the API server's people come from, and users signs their certificates; proxies signs those of
	// front proxies, which may name anybody.
	issuer         *identity.Issuer
	users, proxies *identity.Authority
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "access-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if issuer, err = identity.StartIssuer(dir); err != nil {
		return 1, err
	}
	defer issuer.Close()
	if users, err = identity.NewAuthority(dir, "users"); err != nil {
		return 1, err
	}
	if proxies, err = identity.NewAuthority(dir, "proxies"); err != nil {
		return 1, err
	}
	kube = kubetest.Share(kubetest.Options{ServerArgs: append(issuer.ServerArgs(), "--client-ca-file="+users.File,
		"--requestheader-client-ca-file="+proxies.File, "--requestheader-username-headers=X-Remote-User")})
	return kube.Main(m), nil
}

// reviews are the rights of the bot: to ask who somebody is and what they may do.
var reviews = []rbacv1.PolicyRule{
	{APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"tokenreviews"}, Verbs: []string{"create"}},
	{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}},
}

func allow(verb, resource string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{access.Group}, Resources: []string{resource}, Verbs: []string{verb}}
}

func gate(t *testing.T, rc *rest.Config, viewer string) *access.Gate {
	t.Helper()
	g, err := access.New(rc, access.Settings{Audience: audience, ViewerToken: func() string { return viewer }})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// refused checks a request that must be refused with this error, and that the token stands nowhere in it. It returns
// the error's text.
func refused(t *testing.T, g *access.Gate, token string, right access.Right, want error) string {
	t.Helper()
	who, err := g.Check(t.Context(), access.Shown{Token: token}, right)
	if err == nil {
		t.Fatalf("%s may %v", who, right)
	}
	if who != (incident.Actor{}) {
		t.Errorf("a refusal names %s", who)
	}
	for _, kind := range []error{access.ErrUnauthenticated, access.ErrForbidden} {
		if errors.Is(err, kind) != errors.Is(want, kind) {
			t.Errorf("refused with %v, want %v", err, want)
		}
	}
	if token != "" && strings.Contains(err.Error(), token) {
		t.Error("the token stands in the error")
	}
	return err.Error()
}

// Somebody whom another door has let in is asked about by name and groups.
func TestTheRightsOfANamedUserAreAskedOfTheAPIServer(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, kubetest.Bot, reviews...)
	g := gate(t, c.ConfigFor(kubetest.Bot), "")
	alice, bob := "alice@"+ns, "bob@"+ns
	c.GrantAll(t, alice, allow("update", "incidents/decision"))
	if err := g.May(t.Context(), alice, nil, access.Decide); err != nil {
		t.Errorf("alice: %v", err)
	}
	if err := g.May(t.Context(), bob, []string{"system:masters"}, access.Pause); err != nil {
		t.Errorf("by a group: %v", err)
	}
	for name, tt := range map[string]struct {
		user   string
		groups []string
		right  access.Right
	}{
		"no right":      {bob, nil, access.Decide},
		"another right": {alice, nil, access.Pause},
		"a group":       {bob, []string{"nobodys"}, access.Decide},
		"no name":       {"", []string{"system:masters"}, access.Decide},
	} {
		if err := g.May(t.Context(), tt.user, tt.groups, tt.right); !errors.Is(err, access.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What cannot be asked is a no, and not an answer.
	for name, g := range map[string]*access.Gate{
		"no cluster":        gate(t, nil, ""),
		"no right to ask":   gate(t, c.ConfigFor("nobody@"+ns), ""),
		"nobody at its end": gate(t, &rest.Config{Host: "https://127.0.0.1:1"}, ""),
	} {
		if err := g.May(t.Context(), alice, nil, access.Decide); err == nil || errors.Is(err, access.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRightsAreAskedOfTheAPIServer(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, kubetest.Bot, reviews...)
	g := gate(t, c.ConfigFor(kubetest.Bot), "")
	account := func(name string) string { return "system:serviceaccount:" + ns + ":" + name }
	c.GrantAll(t, account("reader"), allow("get", "incidents"))
	c.GrantAll(t, account("decider"), allow("get", "incidents"), allow("update", "incidents/decision"))
	c.GrantAll(t, account("pauser"), allow("update", "incidents/pause"))
	// in a namespace: the bot serves a cluster
	c.Grant(t, account("local"), ns, allow("get", "incidents"), allow("update", "incidents/decision"))
	c.GrantAll(t, account("wide"), allow("update", "incidents")) // the resource itself, not its subresources
	c.GrantAll(t, account("foreign"),
		rbacv1.PolicyRule{
			APIGroups: []string{""}, Resources: []string{"incidents", "incidents/decision"},
			Verbs: []string{"*"},
		})
	rights := map[string]access.Right{"read": access.Read, "decide": access.Decide, "pause": access.Pause}
	for name, may := range map[string]string{
		"reader": "read", "decider": "read decide", "pauser": "pause", "local": "",
		"wide": "", "foreign": "", "nobody": "",
	} {
		token := c.ServiceAccountToken(t, ns, name, audience)
		for verb, right := range rights {
			if !strings.Contains(may, verb) {
				said := refused(t, g, token, right, access.ErrForbidden)
				if !strings.Contains(said, account(name)) || !strings.Contains(said, right.Verb+" incidents") {
					t.Errorf("the error does not say what is needed: %s", said)
				}
				continue
			}
			who, err := g.Check(t.Context(), access.Shown{Token: token}, right)
			if err != nil || who != (incident.Actor{Kind: "kubernetes", ID: account(name)}) {
				t.Errorf("%s may not %s: %s, %v", name, verb, who, err)
			}
		}
	}
}

func TestATokenThatIsNotForTheBotIsNobodys(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, kubetest.Bot, reviews...)
	c.GrantAll(t, "system:serviceaccount:"+ns+":sre", allow("*", "incidents"), allow("*", "incidents/decision"))
	g := gate(t, c.ConfigFor(kubetest.Bot), "")
	good := c.ServiceAccountToken(t, ns, "sre", audience)
	if _, err := g.Check(t.Context(), access.Shown{Token: good}, access.Decide); err != nil {
		t.Fatalf("the right token: %v", err)
	}
	for name, token := range map[string]string{
		"none":                 "",
		"garbage":              "not-a-token-at-all",
		"the API server's own": c.ServiceAccountToken(t, ns, "sre"),
		"another program's":    c.ServiceAccountToken(t, ns, "sre", "grafana"),
		"a broken signature":   good[:len(good)-8] + "AAAAAAAA",
		"cut":                  good[:len(good)/2],
		"with more behind":     good + "x",
		"twice":                good + " " + good,
		"huge":                 strings.Repeat("a", 1<<16),
		"a header in it":       "a\r\nX-Remote-User: admin",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, g, token, access.Decide, access.ErrUnauthenticated)
		})
	}
}

func TestATokenOfADeletedAccountIsNobodys(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, kubetest.Bot, reviews...)
	c.GrantAll(t, "system:serviceaccount:"+ns+":gone", allow("get", "incidents"))
	g := gate(t, c.ConfigFor(kubetest.Bot), "")
	token := c.ServiceAccountToken(t, ns, "gone", audience)
	if _, err := g.Check(t.Context(), access.Shown{Token: token}, access.Read); err != nil {
		t.Fatal(err)
	}
	if err := c.Client(t).CoreV1().ServiceAccounts(ns).Delete(t.Context(), "gone", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	kubetest.Eventually(t, "the end of the token", func(ctx context.Context) error {
		_, err := g.Check(ctx, access.Shown{Token: token}, access.Read)
		if !errors.Is(err, access.ErrUnauthenticated) {
			return errors.Join(errors.New("still answered"), err)
		}
		return nil
	})
}

// errUnanswered is what an error must be when the question could not be asked: no yes, and neither "nobody" nor "not
// allowed".
var errUnanswered = errors.New("neither")

func TestABotThatMayNotAskRefuses(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.GrantAll(t, "system:serviceaccount:"+ns+":sre", allow("get", "incidents"))
	token := c.ServiceAccountToken(t, ns, "sre", audience)
	half := c.ServiceAccountToken(t, ns, "half")
	c.GrantAll(t, "system:serviceaccount:"+ns+":half", reviews[0])
	for name, rc := range map[string]*rest.Config{
		"no right at all":                c.ConfigFor(kubetest.Viewer),
		"only the first question":        c.ConfigWithToken(half),
		"a token of its own that is bad": c.ConfigWithToken("expired"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused(t, gate(t, rc, ""), token, access.Read, errUnanswered)
		})
	}
}

func TestAnAPIServerThatIsAwayIsNeverAYes(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{}) // its own: the others need theirs
	ns := c.Namespace(t)
	c.GrantAll(t, "system:serviceaccount:"+ns+":sre", allow("get", "incidents"))
	g := gate(t, c.ConfigFor(kubetest.Admin), "viewer-secret")
	token := c.ServiceAccountToken(t, ns, "sre", audience)
	if _, err := g.Check(t.Context(), access.Shown{Token: token}, access.Read); err != nil {
		t.Fatal(err)
	}
	c.StopServer(t)
	refused(t, g, token, access.Read, errUnanswered) // a yes of before is not kept
	refused(t, g, jwt("somebody"), access.Read, errUnanswered)
	viewer := access.Shown{Token: "viewer-secret"}
	if who, err := g.Check(t.Context(), viewer, access.Read); err != nil || who.Kind != "viewer" {
		t.Errorf("the viewer token needs no API server: %s, %v", who, err)
	}
	c.StartServer(t)
	kubetest.Eventually(t, "the answer of the server that is back", func(ctx context.Context) error {
		_, err := g.Check(ctx, access.Shown{Token: token}, access.Read)
		return err
	})
}
