package evidence

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// cluster is a real API server with objects whose status the test wrote. The bot may read all of namespace llm but no ReplicaSets of namespace narrow.
type cluster struct {
	t     *testing.T
	admin *kubernetes.Clientset
	dyn   *dynamic.DynamicClient
	bot   Kube
	cfg   *rest.Config
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	adminCfg, botCfg := startKube(t)
	admin, err := kubernetes.NewForConfig(adminCfg)
	must(t, err)
	dyn, err := dynamic.NewForConfig(adminCfg)
	must(t, err)
	bot, err := NewKube(botCfg)
	must(t, err)
	c := &cluster{t: t, admin: admin, dyn: dyn, bot: bot, cfg: botCfg}
	for _, name := range []string{"llm", "narrow", "closed"} {
		_, err := admin.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		must(t, err)
	}
	c.crd("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects", nil)
	c.crd("production-stack.vllm.ai", "v1alpha1", "VLLMRuntime", "vllmruntimes", map[string]any{
		"specReplicasPath": ".spec.deploymentConfig.replicas", "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector",
	})
	all := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}}}
	c.allow("llm", all)
	c.allow("narrow", []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}}, {APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"}}})
	return c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// allow binds the bot to rules in a namespace and waits until the API server obeys them.
func (c *cluster) allow(namespace string, rules []rbacv1.PolicyRule) {
	c.t.Helper()
	_, err := c.admin.RbacV1().Roles(namespace).Create(c.t.Context(), &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "bot"}, Rules: rules}, metav1.CreateOptions{})
	must(c.t, err)
	_, err = c.admin.RbacV1().RoleBindings(namespace).Create(c.t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "bot"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "bot"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "bot"}},
	}, metav1.CreateOptions{})
	must(c.t, err)
	eventually(c.t, "the bot's rights in "+namespace, func(ctx context.Context) error {
		_, err := c.bot.PodsAt(ctx, namespace, "192.0.2.1")
		return err
	})
}

func (c *cluster) crd(group, version, kind, plural string, scale map[string]any) {
	c.t.Helper()
	v := map[string]any{
		"name": version, "served": true, "storage": true,
		"schema":       map[string]any{"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}},
		"subresources": map[string]any{"status": map[string]any{}},
	}
	if scale != nil {
		v["subresources"].(map[string]any)["scale"] = scale
	}
	crds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	_, err := c.dyn.Resource(crds).Create(c.t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Namespaced", "names": map[string]any{"kind": kind, "plural": plural, "listKind": kind + "List"}, "versions": []any{v},
		},
	}}, metav1.CreateOptions{})
	must(c.t, err)
	gvr := schema.GroupVersionResource{Group: group, Version: version, Resource: plural}
	eventually(c.t, kind, func(ctx context.Context) error {
		_, err := c.dyn.Resource(gvr).Namespace("llm").List(ctx, metav1.ListOptions{})
		return err
	})
}

// custom creates an object of a custom kind with its status.
func (c *cluster) custom(apiVersion, kind, plural, name string, spec, status map[string]any, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	c.t.Helper()
	gv, err := schema.ParseGroupVersion(apiVersion)
	must(c.t, err)
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name}, "spec": spec}}
	o.SetOwnerReferences(owners)
	res := c.dyn.Resource(gv.WithResource(plural)).Namespace("llm")
	o, err = res.Create(c.t.Context(), o, metav1.CreateOptions{})
	must(c.t, err)
	if status != nil {
		o.Object["status"] = status
		o, err = res.UpdateStatus(c.t.Context(), o, metav1.UpdateOptions{})
		must(c.t, err)
	}
	return o
}

func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "vllm", Ports: []corev1.ContainerPort{{ContainerPort: 8000}}}}},
	}
}

func (c *cluster) deployment(namespace, name string, replicas int32, status appsv1.DeploymentStatus, owners ...metav1.OwnerReference) *appsv1.Deployment {
	c.t.Helper()
	d, err := c.admin.AppsV1().Deployments(namespace).Create(c.t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		Spec:       appsv1.DeploymentSpec{Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name)},
	}, metav1.CreateOptions{})
	must(c.t, err)
	status.ObservedGeneration += d.Generation
	d.Status = status
	d, err = c.admin.AppsV1().Deployments(namespace).UpdateStatus(c.t.Context(), d, metav1.UpdateOptions{})
	must(c.t, err)
	return d
}

func (c *cluster) replicaSet(namespace, name string, owners ...metav1.OwnerReference) *appsv1.ReplicaSet {
	c.t.Helper()
	rs, err := c.admin.AppsV1().ReplicaSets(namespace).Create(c.t.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: owners},
		Spec:       appsv1.ReplicaSetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"rs": name}}, Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"rs": name}}, Spec: template("x").Spec}},
	}, metav1.CreateOptions{})
	must(c.t, err)
	return rs
}

func (c *cluster) pod(namespace, name, app string, status corev1.PodStatus, owners ...metav1.OwnerReference) *corev1.Pod {
	c.t.Helper()
	tpl := template(app)
	p, err := c.admin.CoreV1().Pods(namespace).Create(c.t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tpl.Labels, OwnerReferences: owners}, Spec: tpl.Spec}, metav1.CreateOptions{})
	must(c.t, err)
	p.Status = status
	p, err = c.admin.CoreV1().Pods(namespace).UpdateStatus(c.t.Context(), p, metav1.UpdateOptions{})
	must(c.t, err)
	return p
}

func (c *cluster) event(name, kind, object, typ, message string, at time.Time, count int32) {
	c.t.Helper()
	_, err := c.admin.CoreV1().Events("llm").Create(c.t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "llm"}, Type: typ, Reason: "Because", Message: message, Count: count,
		InvolvedObject: corev1.ObjectReference{Kind: kind, Name: object, Namespace: "llm"}, LastTimestamp: metav1.NewTime(at),
	}, metav1.CreateOptions{})
	must(c.t, err)
}

func owner(apiVersion, kind string, o metav1.Object) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: o.GetName(), UID: o.GetUID(), Controller: &yes}
}

func deploymentRef(name string) incident.WorkloadRef {
	return incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: name, Container: "vllm"}
}

func settled(n, ready int32) appsv1.DeploymentStatus {
	return appsv1.DeploymentStatus{Replicas: n, UpdatedReplicas: n, ReadyReplicas: ready, AvailableReplicas: ready, Conditions: []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionTrue, Reason: "NewReplicaSetAvailable"}}}
}

func readyPod(start time.Time, ip string) corev1.PodStatus {
	return corev1.PodStatus{
		Phase: corev1.PodRunning, StartTime: &metav1.Time{Time: start}, PodIP: ip, PodIPs: []corev1.PodIP{{IP: ip}},
		Conditions:        []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
		ContainerStatuses: []corev1.ContainerStatus{{Name: "vllm", Ready: true}},
	}
}

// TestAgainstARealKubernetes shares one API server between its parts.
func TestAgainstARealKubernetes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	now := time.Now().UTC().Truncate(time.Second)
	start := now.Add(-time.Hour)
	runtime := c.custom("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", "vllmruntimes", "stack", map[string]any{"deploymentConfig": map[string]any{"replicas": int64(3)}}, map[string]any{"replicas": int64(2), "selector": "app=stacked"})
	stacked := c.deployment("llm", "stacked", 1, settled(1, 1), owner("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", runtime))
	stackedRS := c.replicaSet("llm", "stacked-abc", owner("apps/v1", "Deployment", stacked))
	c.pod("llm", "stacked-abc-1", "stacked", readyPod(start, "10.1.0.1"), owner("apps/v1", "ReplicaSet", stackedRS))
	llama := c.deployment("llm", "llama", 4, settled(4, 1))
	llamaRS := c.replicaSet("llm", "llama-6f7d", owner("apps/v1", "Deployment", llama))
	c.llamaPods(start, owner("apps/v1", "ReplicaSet", llamaRS))

	t.Run("a workload, its pods and warnings", func(t *testing.T) {
		t.Parallel()
		c.event("e1", "Pod", "llama-6f7d-crash", "Warning", "Back-off\nrestarting", now.Add(-2*time.Minute), 12)
		c.event("e2", "ReplicaSet", "llama-6f7d", "Warning", "exceeded quota", now.Add(-time.Minute), 1)
		c.event("e3", "Deployment", "llama", "Warning", "oldest", now.Add(-3*time.Minute), 0)
		c.event("e4", "Pod", "llama-6f7d-crash", "Normal", "pulled", now, 1)
		c.event("e5", "Pod", "other-1", "Warning", "not ours", now, 1)
		c.event("e6", "ReplicaSet", "llama-big-6f7d", "Warning", "not ours", now, 1)
		c.event("e7", "Deployment", "llama", "Warning", "too old", now.Add(-2*time.Hour), 1)
		got := c.bot.Cluster(t.Context(), deploymentRef("llama"), now)
		four, one := int64(4), int64(1)
		want := incident.Cluster{
			Workload: deploymentRef("llama"), Replicas: &four, ReadyReplicas: &one,
			Pods: []incident.Pod{
				{Name: "llama-6f7d-crash", Restarts: 7, Started: start, Reason: "CrashLoopBackOff; last ended: OOMKilled, exit code 137"},
				{Name: "llama-6f7d-evicted", Reason: "Evicted"},
				{Name: "llama-6f7d-fine", Ready: true, Restarts: 1, Started: start, Reason: "last ended: Error, exit code 1"},
				{Name: "llama-6f7d-pending", Reason: "Unschedulable 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."},
			},
			Events: []string{
				now.Add(-time.Minute).Format(time.RFC3339) + " ReplicaSet llama-6f7d: Because: exceeded quota",
				now.Add(-2*time.Minute).Format(time.RFC3339) + " Pod llama-6f7d-crash: Because: Back-off restarting (12 times)",
				now.Add(-3*time.Minute).Format(time.RFC3339) + " Deployment llama: Because: oldest",
			},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("a rollout that has not finished", func(t *testing.T) {
		t.Parallel()
		behind := settled(2, 2)
		behind.ObservedGeneration = -1
		c.deployment("llm", "behind", 2, behind)
		if got := c.bot.Cluster(t.Context(), deploymentRef("behind"), now); !got.RolloutRunning || got.Error != "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("none of the replicas is ready", func(t *testing.T) {
		t.Parallel()
		c.deployment("llm", "dark", 2, settled(2, 0))
		if got := c.bot.Cluster(t.Context(), deploymentRef("dark"), now); got.ReadyReplicas == nil || *got.ReadyReplicas != 0 || len(got.Pods) != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a StatefulSet", func(t *testing.T) {
		t.Parallel()
		two := int32(2)
		s, err := c.admin.AppsV1().StatefulSets("llm").Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "set"},
			Spec:       appsv1.StatefulSetSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "set"}}, Template: template("set")},
		}, metav1.CreateOptions{})
		must(t, err)
		s.Status = appsv1.StatefulSetStatus{ObservedGeneration: s.Generation, Replicas: 2, ReadyReplicas: 2, CurrentRevision: "a", UpdateRevision: "b"}
		_, err = c.admin.AppsV1().StatefulSets("llm").UpdateStatus(t.Context(), s, metav1.UpdateOptions{})
		must(t, err)
		got := c.bot.Cluster(t.Context(), incident.WorkloadRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "llm", Name: "set"}, now)
		if got.Error != "" || *got.Replicas != 2 || *got.ReadyReplicas != 2 || !got.RolloutRunning {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a custom kind is read through its scale", func(t *testing.T) {
		t.Parallel()
		got := c.bot.Cluster(t.Context(), incident.WorkloadRef{APIVersion: "production-stack.vllm.ai/v1alpha1", Kind: "VLLMRuntime", Namespace: "llm", Name: "stack"}, now)
		if got.Error != "" || got.Replicas == nil || *got.Replicas != 3 || len(got.Pods) != 1 || got.Pods[0].Name != "stacked-abc-1" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("autoscalers", func(t *testing.T) {
		t.Parallel()
		c.autoscalers()
		for name, want := range map[string]string{
			"free": "", "hpa": "HorizontalPodAutoscaler llm/hpa-for-it", "keda": "ScaledObject llm/keda-for-it", "paused": "ScaledObject llm/paused-for-it", "labelled": "ScaledObject llm/labelled-for-it",
		} {
			got := c.bot.Cluster(t.Context(), deploymentRef(name), now)
			if got.Autoscaler != want || got.Error != "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
	t.Run("what is missing or forbidden is said", func(t *testing.T) {
		t.Parallel()
		c.deployment("narrow", "small", 1, settled(1, 1))
		small := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "narrow", Name: "small"}
		got := c.bot.Cluster(t.Context(), small, now)
		for _, want := range []string{"the right to list scaledobjects.keda.sh in namespace narrow is missing", "the right to list events in namespace narrow is missing"} {
			if !strings.Contains(got.Error, want) {
				t.Errorf("error = %q; want %q in it", got.Error, want)
			}
		}
		if got.Replicas == nil || *got.Replicas != 1 {
			t.Errorf("what could be read is not there: %+v", got)
		}
		for _, tt := range []struct {
			ref  incident.WorkloadRef
			want string
		}{
			{incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "closed", Name: "x"}, "the right to get deployments.apps in namespace closed is missing: grant it to the bot"},
			{deploymentRef("nothing"), "no workload: Deployment llm/nothing does not exist"},
			{incident.WorkloadRef{APIVersion: "ray.io/v1", Kind: "RayService", Namespace: "llm", Name: "x"}, "this cluster has no kind RayService in ray.io/v1"},
			{incident.WorkloadRef{APIVersion: "a/b/c", Kind: "X", Namespace: "llm", Name: "x"}, "apiVersion of X"},
		} {
			if got := c.bot.Cluster(t.Context(), tt.ref, now); !strings.Contains(got.Error, tt.want) || got.Replicas != nil {
				t.Errorf("%v: %+v", tt.ref, got)
			}
		}
	})
	t.Run("owners up to the top", func(t *testing.T) {
		t.Parallel()
		c.owners(stackedRS)
	})
	t.Run("pods by their address", func(t *testing.T) {
		t.Parallel()
		c.pod("llm", "ended", "ended", corev1.PodStatus{Phase: corev1.PodSucceeded, PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}})
		got, err := c.bot.PodsAt(t.Context(), "llm", "10.1.0.1")
		if diff := cmp.Diff([]PodAddress{{Namespace: "llm", Name: "stacked-abc-1", Ports: []int32{8000}}}, got); diff != "" || err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		_, err = c.bot.PodsAt(t.Context(), "", "10.1.0.1")
		if err == nil || err.Error() != "the right to list pods in all namespaces is missing: grant it to the bot" || errors.Is(err, ErrNoWorkload) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("an alert's labels", func(t *testing.T) {
		t.Parallel()
		f := newFakeProm(t)
		f.once(mustTargetQuery(t, map[string]string{"instance": "10.1.0.1:8000", "namespace": "llm"}), vectorReply())
		ref, how, err := newCollector(t, Config{URL: f.serve()}, c.bot).FindWorkload(t.Context(), map[string]string{"instance": "10.1.0.1:8000", "namespace": "llm"})
		if err != nil || ref.String() != "VLLMRuntime llm/stack" || how != "The address 10.1.0.1:8000 is that of pod llm/stacked-abc-1, which belongs to ReplicaSet stacked-abc, then Deployment stacked, then VLLMRuntime stack." {
			t.Errorf("%v, %q, %v", ref, how, err)
		}
	})
	t.Run("nothing is ever written", func(t *testing.T) {
		t.Parallel()
		k := c.bot.(*kubeClient)
		_, err := k.typed.CoreV1().Pods("llm").Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}}, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "evidence only reads") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("refused credentials are not shown", func(t *testing.T) {
		t.Parallel()
		cfg := rest.CopyConfig(c.cfg)
		cfg.BearerToken = "wrong-hunter2-token"
		stranger, err := NewKube(cfg)
		must(t, err)
		got := stranger.Cluster(t.Context(), deploymentRef("llama"), now)
		if !strings.Contains(got.Error, "does not accept the bot's credentials") && !strings.Contains(got.Error, "could not be asked for its kinds") || strings.Contains(got.Error, "hunter2") {
			t.Errorf("error = %q", got.Error)
		}
	})
}

func (c *cluster) llamaPods(start time.Time, rs metav1.OwnerReference) {
	c.t.Helper()
	fine := readyPod(start, "10.2.0.1")
	fine.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "sidecar", RestartCount: 50},
		{Name: "vllm", Ready: true, RestartCount: 1, LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1}}},
	}
	c.pod("llm", "llama-6f7d-fine", "llama", fine, rs)
	crash := readyPod(start, "10.2.0.2")
	crash.Conditions[0].Status = corev1.ConditionFalse
	crash.ContainerStatuses = []corev1.ContainerStatus{{
		Name: "vllm", RestartCount: 7, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
	}}
	c.pod("llm", "llama-6f7d-crash", "llama", crash, rs)
	c.pod("llm", "llama-6f7d-pending", "llama", corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available: 3 Insufficient nvidia.com/gpu."}}}, rs)
	c.pod("llm", "llama-6f7d-evicted", "llama", corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"}, rs)
}

func (c *cluster) autoscalers() {
	c.t.Helper()
	for _, name := range []string{"free", "hpa", "keda", "paused", "labelled"} {
		c.deployment("llm", name, 1, settled(1, 1))
	}
	hpa := func(name, target string, labels map[string]string, owners ...metav1.OwnerReference) {
		_, err := c.admin.AutoscalingV2().HorizontalPodAutoscalers("llm").Create(c.t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, OwnerReferences: owners},
			Spec:       autoscalingv2.HorizontalPodAutoscalerSpec{MaxReplicas: 5, ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: target}},
		}, metav1.CreateOptions{})
		must(c.t, err)
	}
	hpa("hpa-for-it", "hpa", nil)
	hpa("not-for-it", "somebody-else", nil)
	elsewhere := c.custom("keda.sh/v1alpha1", "ScaledObject", "scaledobjects", "keda-for-it", map[string]any{"scaleTargetRef": map[string]any{"name": "another"}}, nil)
	hpa("keda-hpa-x", "keda", nil, owner("keda.sh/v1alpha1", "ScaledObject", elsewhere))
	hpa("keda-hpa-y", "labelled", map[string]string{kedaLabel: "labelled-for-it"})
	// A paused object has no generated autoscaler. Its target's version and kind have defaults.
	c.custom("keda.sh/v1alpha1", "ScaledObject", "scaledobjects", "paused-for-it", map[string]any{"scaleTargetRef": map[string]any{"name": "paused"}}, nil)
}

func (c *cluster) owners(stackedRS *appsv1.ReplicaSet) {
	t := c.t
	t.Helper()
	chain, err := c.bot.Owners(t.Context(), "llm", "stacked-abc-1")
	if got := fmt.Sprint(chain); err != nil || got != "[ReplicaSet llm/stacked-abc Deployment llm/stacked VLLMRuntime llm/stack]" {
		t.Errorf("%s, %v", got, err)
	}
	c.pod("llm", "lone", "lone", corev1.PodStatus{})
	node := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}
	c.pod("llm", "static", "static", corev1.PodStatus{}, func() metav1.OwnerReference { yes := true; node.Controller = &yes; return node }())
	for _, name := range []string{"lone", "static"} {
		if chain, err := c.bot.Owners(t.Context(), "llm", name); err != nil || fmt.Sprint(chain) != "[Pod llm/"+name+"]" {
			t.Errorf("%s: %v, %v", name, chain, err)
		}
	}
	replaced := owner("apps/v1", "ReplicaSet", stackedRS)
	replaced.UID = "another"
	c.pod("llm", "orphan", "orphan", corev1.PodStatus{}, replaced)
	gone := replaced
	gone.Name = "gone"
	c.pod("llm", "leftover", "leftover", corev1.PodStatus{}, gone)
	first, second := replaced, gone
	first.Controller, second.Controller = nil, nil
	c.pod("llm", "shared", "shared", corev1.PodStatus{}, first, second)
	unknown := metav1.OwnerReference{APIVersion: "ray.io/v1", Kind: "RayCluster", Name: "r", UID: "u", Controller: replaced.Controller}
	c.pod("llm", "ray", "ray", corev1.PodStatus{}, unknown)
	narrowRS := c.replicaSet("narrow", "rs")
	c.pod("narrow", "hidden", "hidden", corev1.PodStatus{}, owner("apps/v1", "ReplicaSet", narrowRS))
	for _, tt := range []struct {
		namespace, pod string
		none, several  bool
		want           string
	}{
		{"llm", "nobody", true, false, "Pod llm/nobody does not exist"},
		{"llm", "orphan", true, false, "was replaced by another object of that name"},
		{"llm", "leftover", true, false, "ReplicaSet llm/gone does not exist"},
		{"llm", "shared", true, true, "2 owners and none of them is its controller"},
		{"llm", "ray", false, false, "this cluster has no kind RayCluster in ray.io/v1"},
		{"narrow", "hidden", false, false, "follow the owners of pod narrow/hidden: the right to get replicasets.apps in namespace narrow is missing: grant it to the bot"},
		{"closed", "x", false, false, "the right to get pods in namespace closed is missing"},
	} {
		chain, err := c.bot.Owners(t.Context(), tt.namespace, tt.pod)
		if err == nil || chain != nil || !strings.Contains(err.Error(), tt.want) || errors.Is(err, ErrNoWorkload) != tt.none || errors.Is(err, ErrAmbiguous) != tt.several {
			t.Errorf("%s/%s: %v, %v", tt.namespace, tt.pod, chain, err)
		}
	}
}

func TestAnUnreachableKubernetesIsSaidWithoutSecrets(t *testing.T) {
	t.Parallel()
	k, err := NewKube(&rest.Config{Host: "https://127.0.0.1:1", BearerToken: kubeToken})
	must(t, err)
	got := k.Cluster(t.Context(), deploymentRef("llama"), time.Now())
	_, ownersErr := k.Owners(t.Context(), "llm", "llama-1")
	_, podsErr := k.PodsAt(t.Context(), "llm", "10.0.0.1")
	for _, text := range []string{got.Error, fmt.Sprint(ownersErr), fmt.Sprint(podsErr)} {
		if !strings.Contains(text, "the Kubernetes API could not be asked") || !strings.Contains(text, "connection refused") || strings.Contains(text, "hunter2") {
			t.Errorf("error = %q", text)
		}
	}
	if errors.Is(ownersErr, ErrNoWorkload) || errors.Is(podsErr, ErrNoWorkload) {
		t.Error("an API that did not answer is taken for an answer")
	}
	if _, err := NewKube(nil); err == nil {
		t.Error("NewKube takes no configuration")
	}
}
