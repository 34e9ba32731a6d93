package diagnosis

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

func client(t *testing.T, name string) (kubernetes.Interface, *kube) {
	t.Helper()
	inc := named(t, name)
	k := inc.kube()
	server := httptest.NewServer(k)
	t.Cleanup(server.Close)
	c, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return c, k
}

func TestClusterShowsTheIncidentsPods(t *testing.T) {
	t.Parallel()
	c, _ := client(t, "dead-one-of-two")
	pods, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=" + model})
	if err != nil {
		t.Fatal(err)
	}
	if len(pods.Items) != 2 {
		t.Fatalf("%d pods, want 2", len(pods.Items))
	}
	b := pods.Items[1].Status.ContainerStatuses[0]
	if b.RestartCount != 4 || b.Ready || b.State.Waiting == nil || b.LastTerminationState.Terminated == nil {
		t.Errorf("pod b does not show its crash: %+v", b)
	}
	byIP, err := c.CoreV1().Pods("").List(t.Context(),
		metav1.ListOptions{FieldSelector: "status.podIP=" + pods.Items[0].Status.PodIP})
	if err != nil || len(byIP.Items) != 1 || byIP.Items[0].Name != pods.Items[0].Name {
		t.Errorf("by address: %d pods, %v", len(byIP.Items), err)
	}
	none, err := c.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app=other"})
	if err != nil || len(none.Items) != 0 {
		t.Errorf("another label finds %d pods, %v", len(none.Items), err)
	}
}

func TestClusterHasTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	_, k := client(t, "oom-logprobs")
	if text := strings.Join(k.logs["b"], "\n"); !strings.Contains(text, "CUDA out of memory") {
		t.Errorf("the log is %q", text)
	}
	w := httptest.NewRecorder()
	k.ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/namespaces/llm/pods/b/log?previous=true", nil))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "CUDA out of memory") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	k.ServeHTTP(w,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/namespaces/llm/pods/a/log?previous=true", nil))
	if w.Code != http.StatusBadRequest {
		t.Errorf("a pod that never crashed has a previous log: %d", w.Code)
	}
}

func TestClusterRefusesAndRemembersWrites(t *testing.T) {
	t.Parallel()
	c, k := client(t, "dead-one-of-two")
	if err := c.CoreV1().Pods(namespace).Delete(t.Context(), "b", metav1.DeleteOptions{}); err == nil {
		t.Error("a write is taken")
	}
	select {
	case got := <-k.writes:
		if !strings.HasPrefix(got, "DELETE ") {
			t.Errorf("remembered %q", got)
		}
	default:
		t.Error("the write is not remembered")
	}
}

func TestClusterKnowsNoOtherKinds(t *testing.T) {
	t.Parallel()
	_, k := client(t, "dead-one-of-two")
	for _, path := range []string{
		"/apis/keda.sh/v1alpha1/namespaces/llm/scaledobjects", "/api/v1/namespaces/llm/secrets",
		"/api/v1/namespaces/llm/pods/nobody", "/apis/apps/v1/namespaces/llm/deployments/x/scale",
	} {
		w := httptest.NewRecorder()
		k.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != http.StatusNotFound {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
