// Package simkube is the sandbox's cluster with the face of test/kubetest, for tests that run on both, and for those in
// bubbles of simulated time, where nothing may wait for another program.
package simkube

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/bubble"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// Cluster is a cluster with kubetest's users and node, in which pods that name the node are ready, and end, at once. As
// on a cluster without a scheduler, those that name none stay pending. It notes every request, as an audit log does.
type Cluster struct {
	server *kubeapi.Server
	// address is where it is reached, over transport where that is not nil.
	address   string
	transport http.RoundTripper

	mu    sync.Mutex
	names int
	log   []kubetest.AuditEntry
}

// Start serves a cluster on a free port of 127.0.0.1 until the test ends. It has kubetest's users, and these.
func Start(t testing.TB, users ...kubetest.User) *Cluster {
	t.Helper()
	c := start(t, users)
	web := httptest.NewServer(c)
	t.Cleanup(web.Close)
	c.address = web.URL
	return c
}

// Inside is Start without a socket: its configurations reach it in this process, from within a bubble.
func Inside(t testing.TB, users ...kubetest.User) *Cluster {
	t.Helper()
	c := start(t, users)
	c.address, c.transport = "https://kubernetes", bubble.Answered{Handler: c}
	return c
}

// Token is what a user shows.
func Token(user string) string { return tokens + user }

const tokens = "of-"

func start(t testing.TB, users []kubetest.User) *Cluster {
	t.Helper()
	var known []kubeapi.User
	for _, u := range (kubetest.Options{Users: users}).AllUsers() {
		known = append(known, kubeapi.User{Name: u.Name, Token: Token(u.Name), Groups: u.Groups})
	}
	c := &Cluster{}
	var err error
	if c.server, err = kubeapi.New(kubeapi.Options{Users: known}); err != nil {
		t.Fatal(err)
	}
	acting, err := workloads.New(c.server, workloads.Options{
		Fleet:  &prompt{runs: map[workloads.ID]bool{}},
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: kubetest.Node}, Spec: corev1.NodeSpec{Unschedulable: true},
	}
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	if err := kubeapi.Create(c.server.As("test"), nodes, node); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { acting.Run(ctx) })
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	return c
}

// InstallCRD defines custom kinds, which come with the tools.
func (c *Cluster) InstallCRD(t testing.TB, crds ...kubetest.CRD) {
	t.Helper()
	at := schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	for _, crd := range crds {
		var o unstructured.Unstructured
		if err := yaml.Unmarshal(kubetest.Definition(t, crd), &o.Object); err != nil {
			t.Fatal(err)
		}
		_, err := c.Dynamic(t).Resource(at).Create(t.Context(), &o, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("%s: %v", crd, err)
		}
	}
}

// Namespace makes a namespace with a name that no other has.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	c.mu.Lock()
	c.names++
	name := fmt.Sprintf("t%d", c.names)
	c.mu.Unlock()
	if err := c.server.MakeNamespace(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// Grant gives a user rights in a namespace.
func (c *Cluster) Grant(_ testing.TB, user, namespace string, rules ...rbacv1.PolicyRule) {
	c.server.Grant(user, namespace, rules...)
}

// GrantAll gives a user rights in all of them.
func (c *Cluster) GrantAll(_ testing.TB, user string, rules ...rbacv1.PolicyRule) {
	c.server.Grant(user, "", rules...)
}

// AdminConfig is the client configuration of Admin.
func (c *Cluster) AdminConfig() *rest.Config { return c.ConfigFor(kubetest.Admin) }

// ConfigFor is that of a user.
func (c *Cluster) ConfigFor(user string) *rest.Config {
	cfg := c.server.Config(c.address, user)
	cfg.WarningHandler, cfg.Transport = rest.NoWarnings{}, c.transport
	return cfg
}

// ConfigAs is that of Admin, who acts for a user.
func (c *Cluster) ConfigAs(user string) *rest.Config {
	cfg := c.AdminConfig()
	cfg.Impersonate.UserName = user
	return cfg
}

// ConfigWithToken is that of whoever has the token.
func (c *Cluster) ConfigWithToken(token string) *rest.Config {
	cfg := c.ConfigFor("")
	cfg.BearerToken = token
	return cfg
}

// ServiceAccountToken fails the test: this cluster has no service accounts.
func (c *Cluster) ServiceAccountToken(t testing.TB, _, _ string, _ ...string) string {
	t.Helper()
	t.Fatal("this cluster has no service accounts")
	return ""
}

// Client is the client of Admin.
func (c *Cluster) Client(t testing.TB) *kubernetes.Clientset {
	t.Helper()
	k, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Dynamic is that for objects of any kind.
func (c *Cluster) Dynamic(t testing.TB) *dynamic.DynamicClient {
	t.Helper()
	d, err := dynamic.NewForConfig(c.AdminConfig())
	if err != nil {
		t.Fatal(err)
	}
	return d
}
