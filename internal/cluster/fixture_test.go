package cluster

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// kubeToken is the bot's token on servers that refuse it; it must never be shown.
const kubeToken = "bot-hunter2-token"

// cluster is a real API server without controllers, so that the test decides every status. The bot may read all of
// namespace llm, only pods and Deployments of namespace narrow, only Deployments of namespace podless, and nothing of
// namespace closed.
type cluster struct {
	kube  *kubetest.Cluster
	admin *kubernetes.Clientset
	dyn   *dynamic.DynamicClient
	bot   *Reader
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	k := kubetest.Start(t, kubetest.Options{AuditLog: true})
	bot, err := New(k.ConfigFor(kubetest.Bot))
	must(t, err)
	c := &cluster{kube: k, admin: k.Client(t), dyn: k.Dynamic(t), bot: bot}
	for _, name := range []string{"llm", "narrow", "podless", "closed"} {
		k.MakeNamespace(t, name)
	}
	k.InstallCRD(t, kubetest.ScaledObjects, kubetest.PodAutoscalers, kubetest.VLLMRuntimes)
	k.InstallCRDYAML(t, []byte(brokenCRD))
	k.Grant(
		t,
		kubetest.Bot,
		"llm",
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	)
	k.Grant(
		t,
		kubetest.Bot,
		"narrow",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
	)
	k.Grant(
		t,
		kubetest.Bot,
		"podless",
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}},
	)
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// custom creates an object of a custom kind with its status.
func (c *cluster) custom(
	t *testing.T,
	apiVersion, kind, plural, name string,
	spec, status map[string]any,
) *unstructured.Unstructured {
	t.Helper()
	gv, err := schema.ParseGroupVersion(apiVersion)
	must(t, err)
	o := &unstructured.Unstructured{
		Object: map[string]any{
			"apiVersion": apiVersion,
			"kind":       kind,
			"metadata":   map[string]any{"name": name},
			"spec":       spec,
		},
	}
	res := c.dyn.Resource(gv.WithResource(plural)).Namespace("llm")
	o, err = res.Create(t.Context(), o, metav1.CreateOptions{})
	must(t, err)
	if status != nil {
		o.Object["status"] = status
		o, err = res.UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
		must(t, err)
	}
	return o
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "vllm", Image: "vllm", Ports: []corev1.ContainerPort{{ContainerPort: 8000}}}},
		},
	}
}

func (c *cluster) deployment(
	t *testing.T,
	namespace, name string,
	replicas int32,
	status appsv1.DeploymentStatus,
	owners ...metav1.OwnerReference,
) *appsv1.Deployment {
	t.Helper()
	d, err := c.admin.AppsV1().Deployments(namespace).Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(name),
		},
	}, metav1.CreateOptions{})
	must(t, err)
	status.ObservedGeneration += d.Generation
	d.Status = status
	d, err = c.admin.AppsV1().Deployments(namespace).UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
	must(t, err)
	return d
}

func (c *cluster) replicaSet(t *testing.T, namespace, name string, owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
	t.Helper()
	rs, err := c.admin.AppsV1().ReplicaSets(namespace).Create(t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		Spec: appsv1.ReplicaSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rs": name}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"rs": name}},
				Spec:       template("x").Spec,
			},
		},
	}, metav1.CreateOptions{})
	must(t, err)
	return rs
}

func (c *cluster) pod(
	t *testing.T,
	namespace, name, app string,
	status corev1.PodStatus,
	owners ...metav1.OwnerReference,
) *corev1.Pod {
	t.Helper()
	tpl := template(app)
	p, err := c.admin.CoreV1().
		Pods(namespace).
		Create(t.Context(),
			&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tpl.Labels, OwnerReferences: owners}, Spec: tpl.Spec},
			metav1.CreateOptions{})
	must(t, err)
	p.Status = status
	p, err = c.admin.CoreV1().Pods(namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	must(t, err)
	return p
}

func (c *cluster) event(t *testing.T, name, kind, object, typ, message string, at time.Time, count int32) {
	t.Helper()
	_, err := c.admin.CoreV1().Events("llm").Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: "llm",
		}, Type: typ, Reason: "Because", Message: message, Count: count,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: object, Namespace: "llm"}, LastTimestamp: metav1.NewTime(at),
	}, metav1.CreateOptions{})
	must(t, err)
}

func deploymentRef(name string) incident.WorkloadRef {
	return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: name, Container: "vllm"}
}

func settled(n, ready int32) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{
		Replicas:          n,
		UpdatedReplicas:   n,
		ReadyReplicas:     ready,
		AvailableReplicas: ready,
		Conditions: []appsv1.DeploymentCondition{
			{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"},
		},
	}
}

func readyPod(start time.Time, ip string) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: start}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "vllm", Ready: true}},
	}
}

func (c *cluster) llamaPods(t *testing.T, start time.Time, rs metav1.OwnerReference) {
	t.Helper()
	fine := readyPod(start, "10.2.0.1")
	fine.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "sidecar", RestartCount: 50},
		{
			Name:         "vllm",
			Ready:        true,
			RestartCount: 1,
			LastTerminationState: corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1},
			},
		},
	}
	c.pod(t, "llm", "llama-6f7d-fine", "llama", fine, rs)
	crash := readyPod(start, "10.2.0.2")
	crash.Conditions[0].Status = corev1.ConditionFalse
	crash.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "vllm", RestartCount: 7,
		State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137},
		},
	}}
	c.pod(t, "llm", "llama-6f7d-crash", "llama", crash, rs)
	c.pod(
		t,
		"llm",
		"llama-6f7d-pending",
		"llama",
		corev1.PodStatus{
			Phase: corev1.PodPending,
			Conditions: []corev1.PodCondition{
				{
					Type:               corev1.PodScheduled,
					Status:             corev1.ConditionFalse,
					LastTransitionTime: metav1.NewTime(start),
					Reason:             "Unschedulable",
					Message:            "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
				},
			},
		},
		rs,
	)
	c.pod(t, "llm", "llama-6f7d-evicted", "llama", corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on resource: ephemeral-storage.",
		Conditions: []corev1.PodCondition{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start)},
		},
	}, rs)
	// Nobody makes another one in the place of this: it is a pod that should serve.
	c.pod(
		t,
		"llm",
		"llama-by-hand",
		"llama",
		corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError"},
	)
}

func (c *cluster) autoscalers(t *testing.T) {
	t.Helper()
	for _, name := range []string{"free", "hpa", "keda", "paused", "labelled", "aibrix", "foreign"} {
		c.deployment(t, "llm", name, 1, settled(1, 1))
	}
	hpa := func(name, target string, labels map[string]string, owners ...metav1.OwnerReference) {
		_, err := c.admin.AutoscalingV2().
			HorizontalPodAutoscalers("llm").
			Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					MaxReplicas:    5,
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target},
				},
			}, metav1.CreateOptions{})
		must(t, err)
	}
	hpa("hpa-for-it", "hpa", nil)
	hpa("not-for-it", "somebody-else", nil)
	elsewhere := c.custom(
		t,
		"keda.sh/v1alpha1",
		"ScaledObject",
		"scaledobjects",
		"keda-for-it",
		map[string]any{
			"scaleTargetRef": map[string]any{"name": "another"},
			"triggers":       []any{map[string]any{"type": "cpu", "metadata": map[string]any{"value": "50"}}},
		},
		nil,
	)
	hpa("keda-hpa-x", "keda", nil, kubetest.Owner("keda.sh/v1alpha1", "ScaledObject", elsewhere))
	hpa("keda-hpa-y", "labelled", map[string]string{kedaLabel: "labelled-for-it"})
	// A paused object has no generated autoscaler. Its target's version and kind have defaults.
	c.custom(
		t,
		"keda.sh/v1alpha1",
		"ScaledObject",
		"scaledobjects",
		"paused-for-it",
		map[string]any{
			"scaleTargetRef": map[string]any{"name": "paused"},
			"triggers":       []any{map[string]any{"type": "cpu", "metadata": map[string]any{"value": "50"}}},
		},
		nil,
	)
	pods := func(name string, ref map[string]any) {
		ref["apiVersion"], ref["kind"] = "apps/v1", "Deployment"
		c.custom(
			t,
			"autoscaling.aibrix.ai/v1alpha1",
			"PodAutoscaler",
			"podautoscalers",
			name,
			map[string]any{"scaleTargetRef": ref, "maxReplicas": int64(5), "scalingStrategy": "KPA"},
			nil,
		)
	}
	pods("aibrix-for-it", map[string]any{"name": "aibrix"})
	pods("not-for-it", map[string]any{"name": "foreign", "namespace": "elsewhere"})
}
