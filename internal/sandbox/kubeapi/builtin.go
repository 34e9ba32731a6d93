package kubeapi

import (
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// definitions is the kind of those who define kinds.
var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

// builtin are the kinds of Kubernetes that are served: those that the bot reads or writes, and that make up the
// workloads of the sandbox.
func builtin() []*kind {
	core, apps := schema.GroupVersion{Version: "v1"}, schema.GroupVersion{Group: "apps", Version: "v1"}
	scale := &scalePaths{
		replicas: []string{"spec", "replicas"}, observed: []string{"status", "replicas"},
		selector: []string{"spec", "selector"},
	}
	out := []*kind{
		{
			GroupVersionResource: core.WithResource("namespaces"), Kind: "Namespace", singular: "namespace",
			short: []string{"ns"}, status: true, unconditional: true, fields: paths("status.phase"),
			typed: func() runtime.Object { return &corev1.Namespace{} },
		},
		{
			GroupVersionResource: core.WithResource("nodes"), Kind: "Node", singular: "node", short: []string{"no"},
			status: true, unconditional: true, typed: func() runtime.Object { return &corev1.Node{} },
		},
		{
			GroupVersionResource: core.WithResource("configmaps"), Kind: "ConfigMap", singular: "configmap",
			short: []string{"cm"}, namespaced: true, unconditional: true,
			typed: func() runtime.Object { return &corev1.ConfigMap{} },
		},
		{
			GroupVersionResource: core.WithResource("events"), Kind: "Event", singular: "event", short: []string{"ev"},
			namespaced: true, unconditional: true,
			fields: paths("involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
				"reason", "reportingComponent", "type"),
			typed: func() runtime.Object { return &corev1.Event{} }, check: checkEvent,
		},
		{
			GroupVersionResource: core.WithResource("pods"), Kind: "Pod", singular: "pod", short: []string{"po"},
			namespaced: true, unconditional: true, status: true, graceful: true, generation: true,
			fields: paths("spec.nodeName", "spec.restartPolicy", "status.phase", "status.podIP"),
			typed:  func() runtime.Object { return &corev1.Pod{} }, fill: fillPod, check: checkPod,
		},
		{
			GroupVersionResource: apps.WithResource("deployments"), Kind: "Deployment", singular: "deployment",
			short: []string{"deploy"}, namespaced: true, unconditional: true, status: true, scale: scale,
			generation: true, notes: true,
			typed: func() runtime.Object { return &appsv1.Deployment{} }, fill: fillDeployment, check: checkDeployment,
		},
		{
			GroupVersionResource: apps.WithResource("replicasets"), Kind: "ReplicaSet", singular: "replicaset",
			short: []string{"rs"}, namespaced: true, unconditional: true, status: true, scale: scale, generation: true,
			typed: func() runtime.Object { return &appsv1.ReplicaSet{} }, fill: fillReplicaSet, check: checkReplicaSet,
		},
		{
			GroupVersionResource: apps.WithResource("controllerrevisions"), Kind: "ControllerRevision",
			singular: "controllerrevision", namespaced: true, unconditional: true,
			typed: func() runtime.Object { return &appsv1.ControllerRevision{} },
		},
		{
			GroupVersionResource: autoscalingv2.SchemeGroupVersion.WithResource("horizontalpodautoscalers"),
			Kind:                 "HorizontalPodAutoscaler", singular: "horizontalpodautoscaler", short: []string{"hpa"},
			namespaced: true, unconditional: true, status: true, generation: true,
			typed: func() runtime.Object { return &autoscalingv2.HorizontalPodAutoscaler{} },
			fill:  fillAutoscaler, check: checkAutoscaler,
		},
		{
			GroupVersionResource: definitions, Kind: "CustomResourceDefinition", singular: "customresourcedefinition",
			short: []string{"crd"}, status: true, generation: true, schema: definitionSchema(),
		},
	}
	return append(out, reviews()...)
}
