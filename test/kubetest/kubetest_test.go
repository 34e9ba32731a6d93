package kubetest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

var kube = kubetest.Share(kubetest.Options{
	Controllers: true, Kwok: true, AuditLog: true,
	Users: []kubetest.User{{Name: "sre", Groups: []string{"oncall"}}},
})

func TestMain(m *testing.M) { os.Exit(kube.Main(m)) }

func deployment(name, node string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeName:   node,
					Containers: []corev1.Container{{Name: "vllm", Image: "vllm/vllm-openai:v0.29.0"}},
				},
			},
		},
	}
}

func TestDeploymentsBecomeReadyOnTheNodeAndStayPendingWithoutOne(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	k, ns := c.Client(t), c.Namespace(t)
	for _, d := range []*appsv1.Deployment{deployment("placed", kubetest.Node, 2), deployment("stuck", "", 1)} {
		if _, err := k.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubetest.Eventually(t, "two ready pods", func(ctx context.Context) error {
		d, err := k.AppsV1().Deployments(ns).Get(ctx, "placed", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if d.Status.ReadyReplicas != 2 {
			return fmt.Errorf("%d are ready", d.Status.ReadyReplicas)
		}
		return nil
	})
	kubetest.Eventually(t, "a pending pod", func(ctx context.Context) error {
		pods, err := k.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=stuck"})
		if err != nil {
			return err
		}
		if len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodPending {
			return fmt.Errorf("%d pods", len(pods.Items))
		}
		return nil
	})
}

func TestRightsCountOnlyWhereTheyAreGranted(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	here, there := c.Namespace(t), c.Namespace(t)
	read := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}}
	c.Grant(t, "sre", here, read)
	account := "system:serviceaccount:" + here + ":robot"
	robot := c.ConfigWithToken(c.ServiceAccountToken(t, here, "robot"))
	c.Grant(t, account, there, read)
	sre, err := kubernetes.NewForConfig(c.ConfigFor("sre"))
	if err != nil {
		t.Fatal(err)
	}
	bot, err := kubernetes.NewForConfig(robot)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		who       string
		client    *kubernetes.Clientset
		namespace string
		forbidden bool
	}{{"sre", sre, here, false}, {"sre", sre, there, true}, {"robot", bot, there, false}, {"robot", bot, here, true}} {
		_, err := tt.client.CoreV1().Pods(tt.namespace).List(t.Context(), metav1.ListOptions{})
		if apierrors.IsForbidden(err) != tt.forbidden || err != nil && !tt.forbidden {
			t.Errorf("%s in %s: %v", tt.who, tt.namespace, err)
		}
	}
	nobody, err := kubernetes.NewForConfig(c.ConfigFor("nobody"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nobody.CoreV1().Pods(here).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) &&
		!apierrors.IsUnauthorized(err) {
		t.Errorf("a user that does not exist may list pods: %v", err)
	}
}

func TestTokensAreGoodOnlyForTheirAudience(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	tok := c.ServiceAccountToken(t, ns, "human", "vllm-medic")
	review := func(audience string) authenticationv1.TokenReviewStatus {
		got, err := c.Client(t).AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
			Spec: authenticationv1.TokenReviewSpec{Token: tok, Audiences: []string{audience}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return got.Status
	}
	if s := review("vllm-medic"); !s.Authenticated || s.User.Username != "system:serviceaccount:"+ns+":human" {
		t.Errorf("the right audience: %+v", s)
	}
	if s := review("another"); s.Authenticated {
		t.Errorf("a wrong audience is accepted: %+v", s)
	}
	human, err := kubernetes.NewForConfig(c.ConfigWithToken(tok))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := human.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Errorf("a token for the bot is good for the API server: %v", err)
	}
}

func TestAuditTellsWritesFromDryRuns(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	ns := c.Namespace(t)
	c.Grant(t, kubetest.Bot, ns,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "list"}})
	bot, err := kubernetes.NewForConfig(c.ConfigFor(kubetest.Bot))
	if err != nil {
		t.Fatal(err)
	}
	maps := bot.CoreV1().ConfigMaps(ns)
	for _, o := range []metav1.CreateOptions{{DryRun: []string{metav1.DryRunAll}}, {}} {
		if _, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, o); err != nil {
			t.Fatal(err)
		}
	}
	if err := maps.Delete(t.Context(), "x", metav1.DeleteOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("delete: %v", err)
	}
	if list, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil || len(list.Items) == 0 {
		t.Fatalf("list: %v", err)
	}
	var got []string
	for _, e := range c.Writes(t, kubetest.Bot) {
		if e.ObjectRef.Namespace == ns {
			got = append(got, fmt.Sprintf("%s %s %d", e.Verb, e.ObjectRef.Resource, e.Code()))
		}
	}
	if want := "create configmaps 201, delete configmaps 403"; strings.Join(got, ", ") != want {
		t.Errorf("writes: %v, want %s", got, want)
	}
	if n := len(c.Audit(t, kubetest.Bot)); n < 4 {
		t.Errorf("%d entries, want at least 4", n)
	}
}

func TestShippedKindsCheckTheirSchema(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	c.InstallCRD(t, kubetest.ScaledObjects, kubetest.BackendTrafficPolicies)
	c.InstallCRD(t, kubetest.ScaledObjects) // twice is fine
	ns := c.Namespace(t)
	scaled := c.Dynamic(t).Resource(schema.GroupVersionResource{
		Group: "keda.sh", Version: "v1alpha1",
		Resource: "scaledobjects",
	}).Namespace(ns)
	good := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject", "metadata": map[string]any{"name": "x"},
		"spec": map[string]any{
			"scaleTargetRef": map[string]any{"name": "x"},
			"triggers":       []any{map[string]any{"type": "cpu", "metadata": map[string]any{}}},
		},
	}}
	if _, err := scaled.Create(t.Context(), good, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, err := scaled.Patch(t.Context(), "x", types.MergePatchType, []byte(`{"spec":{"minReplicaCount":"three"}}`),
		metav1.PatchOptions{})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a text in place of a number: %v", err)
	}
	bad := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.envoyproxy.io/v1alpha1", "kind": "BackendTrafficPolicy",
		"metadata": map[string]any{"name": "x"}, "spec": map[string]any{},
	}}
	policies := c.Dynamic(t).Resource(schema.GroupVersionResource{
		Group: "gateway.envoyproxy.io", Version: "v1alpha1",
		Resource: "backendtrafficpolicies",
	})
	if _, err := policies.Namespace(ns).Create(t.Context(), bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) {
		t.Errorf("a policy without a target: %v", err)
	}
}

// An outage needs a cluster of its own: it would disturb the other tests.
func TestAnOutageKeepsObjectsTokensAndAddress(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	ns := c.Namespace(t)
	k := c.Client(t)
	c.StopServer(t)
	if _, err := k.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err == nil ||
		errors.As(err, new(apierrors.APIStatus)) {
		t.Fatalf("the stopped server answers: %v", err)
	}
	c.StartServer(t)
	if _, err := k.CoreV1().Namespaces().Get(t.Context(), ns, metav1.GetOptions{}); err != nil {
		t.Errorf("after the outage: %v", err)
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if _, err := k.CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Errorf("a pod without controllers: %v", err)
	}
}

func TestABrokenStartIsReportedWithTheLastLinesOfTheProcess(t *testing.T) {
	t.Parallel()
	reason := failure(t, func(t testing.TB) {
		kubetest.Start(t, kubetest.Options{ServerArgs: []string{"--no-such-flag"}})
	})
	for _, want := range []string{"readiness of kube-apiserver", "the process has ended", "unknown flag: --no-such-flag"} {
		if !strings.Contains(reason, want) {
			t.Errorf("%q is missing in:\n%s", want, reason)
		}
	}
}

func TestKubeconfigLeadsToTheCluster(t *testing.T) {
	t.Parallel()
	c := kube.Cluster(t)
	path := c.Kubeconfig(t, kubetest.Viewer)
	b, err := os.ReadFile(path)
	if err != nil || !strings.Contains(string(b), c.ConfigFor(kubetest.Viewer).Host) {
		t.Errorf("%s: %v\n%s", path, err, b)
	}
	//nolint:noctx // it must fail before anything is sent
	resp, err := http.DefaultClient.Get(c.ConfigFor(kubetest.Viewer).Host)
	if err == nil {
		_ = resp.Body.Close()
		t.Error("the server's certificate is trusted without its authority")
	}
}

// recorder is a testing.TB whose failure does not end the test that made it.
type recorder struct {
	testing.TB
	reason string
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.reason = fmt.Sprintf(format, args...)
	panic(r)
}

func failure(t *testing.T, f func(testing.TB)) string {
	t.Helper()
	r := &recorder{TB: t}
	func() {
		defer func() {
			if got := recover(); got != nil && got != any(r) {
				panic(got)
			}
		}()
		f(r)
	}()
	if r.reason == "" {
		t.Fatal("it did not fail")
	}
	return r.reason
}

func TestANodeAnswersForLogsAsAKubeletDoes(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t, kubetest.Options{})
	k, ns := c.Client(t), c.Namespace(t)
	kubelet := c.StartKubelet(t, "answering")
	_, err := k.CoreV1().Pods(ns).Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{NodeName: "answering", Containers: []corev1.Container{{Name: "vllm", Image: "vllm"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubelet.SetLog(ns, "p", "vllm", true, "one\ntwo\nthree\n")
	read := func(previous bool, lines, limit int64) (string, error) {
		b, err := k.CoreV1().Pods(ns).GetLogs("p",
			&corev1.PodLogOptions{
				Container: "vllm", Previous: previous, TailLines: &lines,
				LimitBytes: &limit,
			}).DoRaw(t.Context())
		return string(b), err
	}
	for _, tt := range []struct {
		lines, limit int64
		want         string
	}{{5, 100, "one\ntwo\nthree\n"}, {2, 100, "two\nthree\n"}, {2, 5, "two\nt"}} {
		if got, err := read(true, tt.lines, tt.limit); err != nil || got != tt.want {
			t.Errorf("%d lines, %d bytes: %q, %v", tt.lines, tt.limit, got, err)
		}
	}
	if got, err := read(false, 1, 1); !apierrors.IsBadRequest(err) {
		t.Errorf("a log that is not there: %q, %v", got, err)
	}
	kubelet.Stop()
	if got, err := read(true, 1, 1); !apierrors.IsInternalError(err) {
		t.Errorf("a node that is gone: %q, %v", got, err)
	}
}
