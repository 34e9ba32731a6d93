package evidence

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// TestAnAddressLeadsToAWorkloadOfARealKubernetes follows an alert that has nothing but an address, which Prometheus
// does not know.
func TestAnAddressLeadsToAWorkloadOfARealKubernetes(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t, kubetest.Options{})
	k.MakeNamespace(t, "llm")
	k.Grant(t, kubetest.Bot, "llm",
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}})
	admin := k.Client(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "llama"}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "vllm", Image: "vllm", Ports: []corev1.ContainerPort{{ContainerPort: 8000}}},
		}},
	}
	set, err := admin.AppsV1().StatefulSets("llm").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "llama"},
		Spec:       appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: template.Labels}, Template: template},
	}, metav1.CreateOptions{})
	must(err)
	pod, err := admin.CoreV1().Pods("llm").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "llama-0", Labels: template.Labels, OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "llama", UID: set.UID, Controller: new(true)},
		}},
		Spec: template.Spec,
	}, metav1.CreateOptions{})
	must(err)
	pod.Status = corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}}
	_, err = admin.CoreV1().Pods("llm").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	must(err)
	bot, err := cluster.New(k.ConfigFor(kubetest.Bot))
	must(err)
	f := newFakeProm(t)
	alert := map[string]string{"instance": "10.1.0.1:8000", "namespace": "llm"}
	f.Once(mustTargetQuery(t, alert), promtest.Vector())
	ref, trail, err := newCollector(t, asking(f.Serve()), bot).FindWorkload(t.Context(), alert)
	want := incident.Trail{Kind: incident.TrailAddress, Instance: "10.1.0.1:8000", Pod: "llm/llama-0"}
	if err != nil || ref.String() != "StatefulSet llm/llama" || trail != want {
		t.Errorf("%v, %+v, %v", ref, trail, err)
	}
}
