package sandbox

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/gateway"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

// populate makes the objects of the model and lets its pods run.
func (w *world) populate() error {
	admin := w.kube.As("kubectl")
	if err := w.kube.MakeNamespace(namespace); err != nil {
		return err
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "gpu-node-1"}}
	if err := kubeapi.Create(admin, corev1.SchemeGroupVersion.WithResource("nodes"), node); err != nil {
		return err
	}
	app := map[string]string{"app": modelName}
	n := int32(replicas)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: modelName, Namespace: namespace, Labels: app},
		Spec: appsv1.DeploymentSpec{
			Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: container, Image: "vllm/vllm-openai:v0.20.0",
					Args: []string{"--model=meta-llama/Llama-70B", "--max-num-seqs=64", "--max-num-batched-tokens=2048"},
				}}},
			},
		},
	}
	if err := kubeapi.Create(admin, deployments, d); err != nil {
		return err
	}
	if err := kubeapi.Create(admin, gateway.Policies, trafficPolicy()); err != nil {
		return err
	}
	if err := errors.Join(w.cluster.Step(), w.gateway.Step()); err != nil {
		return err
	}
	w.grown.Store(true)
	w.pods.cold()
	if got := len(w.fleet.State().Replicas); got != replicas {
		return fmt.Errorf("the simulated cluster runs %d replicas, not %d", got, replicas)
	}
	return w.pods.err()
}

// parallel is how many requests the gateway lets through at the start: more than the 128 that two replicas run at once,
// so that some of them queue.
const parallel = 184

// gatewayName is what the Gateway is called.
const gatewayName = "inference"

// trafficPolicy limits the requests of the model's route.
func trafficPolicy() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": gateway.Policies.GroupVersion().String(), "kind": "BackendTrafficPolicy",
		"metadata": map[string]any{"namespace": namespace, "name": modelName},
		"spec": map[string]any{
			"targetRefs": []any{map[string]any{
				"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "name": modelName,
			}},
			"circuitBreaker": map[string]any{"maxParallelRequests": int64(parallel)},
		},
	}}
}

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")
