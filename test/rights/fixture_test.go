package rights

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// engineSets is a kind that the bot has never heard of.
const engineSets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: enginesets.example.org}
spec:
  group: example.org
  scope: Namespaced
  names: {kind: EngineSet, plural: enginesets, listKind: EngineSetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
    subresources: {scale: {specReplicasPath: .spec.engines.number, statusReplicasPath: .status.number}}
`

func setRef() incident.WorkloadRef {
	return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "llm", Name: "set"}
}

// manifest are the objects of the file.
func manifest(t *testing.T) []unstructured.Unstructured {
	t.Helper()
	b, err := os.ReadFile("../../deploy/kubernetes/rbac.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var out []unstructured.Unstructured
	docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(b), 4096)
	for {
		var o unstructured.Unstructured
		err := docs.Decode(&o)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, o)
	}
	if len(out) == 0 {
		t.Fatal("the manifest is empty")
	}
	return out
}

func apply(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	for _, o := range manifest(t) {
		where, known := resources()[o.GetKind()]
		if !known {
			t.Fatalf("this test does not know %s", o.GetKind())
		}
		client := c.Dynamic(t).Resource(where)
		strict := metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict}
		var err error
		if o.GetNamespace() == "" {
			_, err = client.Create(t.Context(), &o, strict)
		} else {
			_, err = client.Namespace(o.GetNamespace()).Create(t.Context(), &o, strict)
		}
		if err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// image is what every container here runs.
const image = "vllm/vllm-openai:v0.20.0"

// makeWorkload makes the pool's Deployment, whose pod has crashed, and a StatefulSet.
func makeWorkload(t *testing.T, c *kubetest.Cluster) {
	t.Helper()
	spec := corev1.PodSpec{
		NodeName:   "gpu-1",
		Containers: []corev1.Container{{Name: "vllm", Image: image, Args: []string{"--max-num-batched-tokens=8192"}}},
	}
	makeTrouble(t, c, makeDeployment(t, c, "llama-70b", spec))
	makeSet(t, c, spec)
}

// makeDeployment makes a Deployment with the ReplicaSet and the pod that its controllers would make, and returns the
// pod.
func makeDeployment(
	t *testing.T, c *kubetest.Cluster, name string, spec corev1.PodSpec, above ...metav1.OwnerReference,
) *corev1.Pod {
	t.Helper()
	labels, two := map[string]string{"app": name}, int32(2)
	selector := &metav1.LabelSelector{MatchLabels: labels}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	k := c.Client(t)
	d, err := k.AppsV1().Deployments("llm").Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: above},
		Spec:       appsv1.DeploymentSpec{Replicas: &two, Selector: selector, Template: template},
	}, metav1.CreateOptions{})
	must(t, err)
	rs, err := k.AppsV1().ReplicaSets("llm").Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-7d4", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "Deployment", d)},
			Annotations:     map[string]string{"deployment.kubernetes.io/revision": "1"},
		},
		Spec: appsv1.ReplicaSetSpec{Replicas: &two, Selector: selector, Template: template},
	}, metav1.CreateOptions{})
	must(t, err)
	pod, err := k.CoreV1().Pods("llm").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name + "-1", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "ReplicaSet", rs)},
		},
		Spec: spec,
	}, metav1.CreateOptions{})
	must(t, err)
	return pod
}

// makeTrouble lets the pod's container crash, with a log, and its node have an event.
func makeTrouble(t *testing.T, c *kubetest.Cluster, pod *corev1.Pod) {
	t.Helper()
	k, now := c.Client(t), metav1.Now()
	pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "vllm", RestartCount: 1,
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: now},
		},
	}}
	_, err := k.CoreV1().Pods("llm").UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
	must(t, err)
	c.StartKubelet(t, pod.Spec.NodeName).SetLog("llm", pod.Name, "vllm", true, "EngineDeadError\n")
	_, err = k.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "node-"}, Type: corev1.EventTypeWarning, Reason: "Rebooted",
		LastTimestamp:  now,
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: pod.Spec.NodeName},
	}, metav1.CreateOptions{})
	must(t, err)
}

// makeSet makes a StatefulSet without pods, with the revision that its controller would make.
func makeSet(t *testing.T, c *kubetest.Cluster, spec corev1.PodSpec) {
	t.Helper()
	k, none := c.Client(t), int32(0)
	labels := map[string]string{"app": "set"}
	set, err := k.AppsV1().StatefulSets("llm").Create(t.Context(), &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	_, err = k.AppsV1().ControllerRevisions("llm").Create(t.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Name: "set-1", Labels: labels,
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "StatefulSet", set)},
		}, Revision: 1,
		Data: runtime.RawExtension{Raw: []byte(`{"spec":{"template":{}}}`)},
	}, metav1.CreateOptions{})
	must(t, err)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
