package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
)

// The names of the workload's parts.
const (
	hashOld = "7d4b9c6f58"
	hashNew = "5f86c7d9bb"
)

// kube is the cluster of an incident: a Deployment, its ReplicaSets and pods.
func (inc *Incident) kube() *kube {
	k := &kube{logs: map[string][]string{}, writes: make(chan string, 16)}
	switch inc.Workload {
	case "StatefulSet":
		k.add(inc.statefulSet(), "apps/v1/statefulsets")
		for _, r := range inc.revisions() {
			k.add(r, "apps/v1/controllerrevisions")
		}
	default:
		k.add(inc.deployment(), "apps/v1/deployments")
		for _, rs := range inc.replicaSets() {
			k.add(rs, "apps/v1/replicasets")
		}
	}
	for i, name := range inc.Pods {
		if inc.Cluster.Pods[name].Gone {
			continue
		}
		pod := inc.podObject(i, name)
		k.objects = append(k.objects, object{
			resource: "v1/pods", namespace: namespace, name: name, labels: pod.Labels, body: pod,
			fields: fields.Set{
				"status.podIP": pod.Status.PodIP, "metadata.name": name, "metadata.namespace": namespace,
				"spec.nodeName": pod.Spec.NodeName,
			},
		})
		if f := inc.Cluster.Pods[name]; f.Crash > 0 {
			k.logs[name] = f.Log
		}
	}
	return k
}

func (k *kube) add(o metav1.Object, resource string) {
	k.objects = append(k.objects, object{
		resource: resource, namespace: o.GetNamespace(), name: o.GetName(), labels: o.GetLabels(), body: o,
		fields: fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()},
	})
}

func (inc *Incident) ago(d seconds) metav1.Time { return metav1.NewTime(inc.At.Add(-d.duration())) }

// age is how old the workload is.
const age = seconds(6 * 86400)

func uid(s string) types.UID {
	return types.UID(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(seed(s)), seed(s)&0xffffffffffff))
}

func selected() map[string]string { return map[string]string{"app": model} }

// template is the pod's; args are spelled as people do.
func (inc *Incident) template(image, hash string) corev1.PodTemplateSpec {
	args := []string{"--model", "meta-llama/Llama-3.3-70B-Instruct", "--served-model-name", model}
	for _, name := range slices.Sorted(maps.Keys(inc.Args)) {
		args = append(args, "--"+strings.ReplaceAll(name, "_", "-"), strconv.FormatFloat(inc.Args[name], 'f', -1, 64))
	}
	labels := selected()
	if hash != "" {
		labels["pod-template-hash"] = hash
	}
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: container, Image: image, Args: args, Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: 8000}},
		}}},
	}
}

func (inc *Incident) image() string { return imageOf + inc.Generation }

const imageOf = "vllm/vllm-openai:v"

func (inc *Incident) newImage() string {
	if inc.Cluster.RolloutImage != "" {
		return inc.Cluster.RolloutImage
	}
	return inc.image()
}

func (inc *Incident) ready() int32 {
	n := int32(0)
	for _, pod := range inc.Pods {
		if f := inc.Cluster.Pods[pod]; !f.NotReady && !f.Gone {
			n++
		}
	}
	return n
}

func (inc *Incident) replicas() int32 {
	n := int32(0)
	for _, pod := range inc.Pods {
		if !inc.Cluster.Pods[pod].Gone {
			n++
		}
	}
	return n
}

func (inc *Incident) deployment() *appsv1.Deployment {
	want, ready := inc.replicas(), inc.ready()
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{Kind: "Deployment", APIVersion: "apps/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: model, Namespace: namespace, UID: uid("deployment"), Generation: 3, ResourceVersion: "1201",
			CreationTimestamp: inc.ago(age), Labels: selected(),
			Annotations: map[string]string{"deployment.kubernetes.io/revision": "3"},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &want, Selector: &metav1.LabelSelector{MatchLabels: selected()},
			Template: inc.template(inc.newImage(), ""),
		},
		Status: appsv1.DeploymentStatus{
			ObservedGeneration: 3, Replicas: want, UpdatedReplicas: want, ReadyReplicas: ready, AvailableReplicas: ready,
			UnavailableReplicas: want - ready,
			Conditions: []appsv1.DeploymentCondition{{
				Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue,
				Reason: "NewReplicaSetAvailable",
			}},
		},
	}
	return d
}

func (inc *Incident) replicaSets() []*appsv1.ReplicaSet {
	rs := func(hash, image, revision string, n int32, born seconds) *appsv1.ReplicaSet {
		name := model + "-" + hash
		yes := true
		return &appsv1.ReplicaSet{
			TypeMeta: metav1.TypeMeta{Kind: "ReplicaSet", APIVersion: "apps/v1"},
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: namespace, UID: uid(name), CreationTimestamp: inc.ago(born),
				Labels:      map[string]string{"app": model, "pod-template-hash": hash},
				Annotations: map[string]string{"deployment.kubernetes.io/revision": revision},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: "apps/v1", Kind: "Deployment", Name: model,
					UID: uid("deployment"), Controller: &yes,
				}},
			},
			Spec: appsv1.ReplicaSetSpec{
				Replicas: &n, Template: inc.template(image, hash),
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": model, "pod-template-hash": hash}},
			},
			Status: appsv1.ReplicaSetStatus{Replicas: n, ReadyReplicas: min(n, inc.ready()), ObservedGeneration: 1},
		}
	}
	return []*appsv1.ReplicaSet{
		rs(hashOld, inc.image(), "2", 0, age),
		rs(hashNew, inc.newImage(), "3", inc.replicas(), inc.newest()),
	}
}

// newest is the age of the newest revision.
func (inc *Incident) newest() seconds {
	if inc.Cluster.Rollout == 0 {
		return 4 * 86400
	}
	return inc.Cluster.Rollout
}

func (inc *Incident) podObject(i int, name string) *corev1.Pod {
	f := inc.Cluster.Pods[name]
	born := f.Age
	if born == 0 {
		born = 86400
	}
	template := inc.template(inc.newImage(), hashNew)
	if f.Version != "" {
		template.Spec.Containers[0].Image = imageOf + f.Version
	}
	ready := corev1.ConditionTrue
	if f.NotReady {
		ready = corev1.ConditionFalse
	}
	start := inc.ago(born)
	template.Spec.NodeName = fmt.Sprintf("gpu-node-%d", i)
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{Kind: "Pod", APIVersion: "v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: uid(name), CreationTimestamp: start, Labels: template.Labels,
			OwnerReferences: []metav1.OwnerReference{inc.owner()},
		},
		Spec: template.Spec,
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: strings.TrimSuffix(inc.instance(i), ":8000"), StartTime: &start,
			Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: start}},
			ContainerStatuses: []corev1.ContainerStatus{inc.containerStatus(f, start)},
		},
	}
}

func (inc *Incident) containerStatus(f PodFacts, born metav1.Time) corev1.ContainerStatus {
	s := corev1.ContainerStatus{
		Name: container, Image: inc.newImage(), Ready: !f.NotReady, // nothing reads the image of a status
		RestartCount: int32(f.Restarts),
	}
	began := born
	if f.Crash > 0 {
		ended := inc.ago(f.Crash)
		began = metav1.NewTime(ended.Add(2 * time.Second))
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			Reason: f.Reason, ExitCode: int32(f.ExitCode), StartedAt: born, FinishedAt: ended,
		}
	}
	if f.Waiting != "" {
		s.State.Waiting = &corev1.ContainerStateWaiting{Reason: f.Waiting}
		return s
	}
	s.State.Running = &corev1.ContainerStateRunning{StartedAt: began}
	return s
}
