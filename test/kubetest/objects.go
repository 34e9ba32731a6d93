package kubetest

import (
	"context"
	"fmt"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/test/process"
)

// defaultAccount is the service account that pods use which name none. The controller-manager makes it; without one,
// Namespace does.
const defaultAccount = "default"

// NamespacePrefix begins the names of the tests' namespaces. It is in no word that Kubernetes says: a test that looks
// for such a name, or leaves it out of what it compares, must not find it in another one, as "t3" is in "int32".
const NamespacePrefix = "test-ns-"

// Namespace makes a namespace for this test, with a name that no other test has, and waits until pods can be made in
// it. It goes with the cluster; the autoscalers in it, which are looked at every second, go with the test.
func (c *Cluster) Namespace(t testing.TB) string {
	t.Helper()
	name := c.name(NamespacePrefix)
	c.MakeNamespace(t, name)
	t.Cleanup(func() { c.removeAutoscalers(t, name) })
	return name
}

func (c *Cluster) removeAutoscalers(t testing.TB, namespace string) {
	t.Helper()
	if !c.opts.Controllers {
		return // nobody looks at them
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), process.Patience)
	defer cancel()
	all := c.Client(t).AutoscalingV2().HorizontalPodAutoscalers(namespace)
	if err := all.DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Errorf("remove the autoscalers of namespace %s: %v", namespace, err)
	}
}

// name is a name that nothing else in the cluster has.
func (c *Cluster) name(prefix string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.names++
	return fmt.Sprintf("%s%d", prefix, c.names)
}

// MakeNamespace makes a namespace of this name, if there is none, and waits until pods can be made in it.
func (c *Cluster) MakeNamespace(t testing.TB, name string) {
	t.Helper()
	k := c.Client(t)
	_, err := k.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("namespace %s: %v", name, err)
	}
	if !c.opts.Controllers {
		account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: defaultAccount}}
		_, err := k.CoreV1().ServiceAccounts(name).Create(t.Context(), account, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatalf("service account of namespace %s: %v", name, err)
		}
	}
	Eventually(t, "the service account of namespace "+name, func(ctx context.Context) error {
		_, err := k.CoreV1().ServiceAccounts(name).Get(ctx, defaultAccount, metav1.GetOptions{})
		return err
	})
}

// ServiceAccountToken makes the service account if there is none and returns a token of it for these audiences; for the
// API server itself when none is named.
func (c *Cluster) ServiceAccountToken(t testing.TB, namespace, name string, audiences ...string) string {
	t.Helper()
	accounts := c.Client(t).CoreV1().ServiceAccounts(namespace)
	_, err := accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatalf("service account %s/%s: %v", namespace, name, err)
	}
	req, err := accounts.CreateToken(t.Context(), name,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("token of service account %s/%s: %v", namespace, name, err)
	}
	return req.Status.Token
}

// ConfigWithToken is a client configuration with a token of the test's own.
func (c *Cluster) ConfigWithToken(bearer string) *rest.Config {
	cfg := c.anonymous()
	cfg.BearerToken = bearer
	return cfg
}

// Owner is the reference to the object that controls another one.
func Owner(apiVersion, kind string, o metav1.Object) metav1.OwnerReference {
	controls := true
	return metav1.OwnerReference{
		APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: &controls,
	}
}

// controllersWork says that the controller-manager has begun: it has made the default service account.
func (c *Cluster) controllersWork(ctx context.Context) error {
	k, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	_, err = k.CoreV1().ServiceAccounts("default").Get(ctx, defaultAccount, metav1.GetOptions{})
	return err
}

// makeNode makes kwok's node, with more of everything than a test asks for.
func (c *Cluster) makeNode(ctx context.Context) error {
	k, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("256"), corev1.ResourceMemory: resource.MustParse("4Ti"),
		corev1.ResourcePods: resource.MustParse("1000"),
		"nvidia.com/gpu":    resource.MustParse("64"),
	}
	_, err = k.CoreV1().Nodes().Create(ctx, &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: Node, Labels: map[string]string{"kubernetes.io/hostname": Node}},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("node %s: %w", Node, err)
	}
	return nil
}

func (c *Cluster) nodeReady(ctx context.Context) error {
	k, err := kubernetes.NewForConfig(c.AdminConfig())
	if err != nil {
		return err
	}
	n, err := k.CoreV1().Nodes().Get(ctx, Node, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for _, cond := range n.Status.Conditions {
		if cond.Type == corev1.NodeReady && cond.Status == corev1.ConditionTrue {
			return nil
		}
	}
	return fmt.Errorf("node %s is not ready", Node)
}
