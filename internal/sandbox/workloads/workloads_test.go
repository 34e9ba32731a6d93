package workloads_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
)

// A rollout keeps within the room of its strategy at every moment, and ends.
func TestARolloutKeepsWithinItsRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.node("a", 8)
	b.deploy(deployment(3))
	b.pass(0)
	if d := b.get(); d.Status.Replicas != 3 || d.Status.AvailableReplicas != 0 || progressing(d) != "ReplicaSetUpdated" {
		t.Fatalf("before the models are loaded: %+v", d.Status)
	}
	b.pass(loading)
	d := b.get()
	if d.Status.AvailableReplicas != 3 || d.Status.ObservedGeneration != d.Generation || d.Generation != 1 ||
		progressing(d) != "NewReplicaSetAvailable" {
		t.Fatalf("generation %d: %+v", d.Generation, d.Status)
	}
	b.change(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Args = []string{"--max-num-batched-tokens=4096"}
	})
	for i := 0; ; i++ {
		b.pass(10 * time.Second)
		d, pods := b.get(), b.pods()
		if d.Status.AvailableReplicas < 3 || len(pods) > 4 {
			t.Fatalf("%d pods, %d available", len(pods), d.Status.AvailableReplicas)
		}
		if progressing(d) == "NewReplicaSetAvailable" && d.Status.UpdatedReplicas == 3 && d.Status.Replicas == 3 {
			break
		}
		if i > 100 {
			t.Fatalf("it never ends: %+v", d.Status)
		}
	}
	for _, p := range b.pods() {
		if p.Spec.Containers[0].Args[0] != "--max-num-batched-tokens=4096" {
			t.Errorf("%s has %v", p.Name, p.Spec.Containers[0].Args)
		}
	}
	if d := b.get(); d.Annotations["deployment.kubernetes.io/revision"] != "2" || d.Generation != 2 {
		t.Errorf("revision %v in generation %d", d.Annotations, d.Generation)
	}
	for _, words := range []string{
		"Scaled up replica set m-", "Scaled down replica set m-", "from 3 to 2", "from 1 to 0",
	} {
		if !slices.ContainsFunc(b.events("ScalingReplicaSet"), func(m string) bool { return strings.Contains(m, words) }) {
			t.Errorf("nobody says %q: %q", words, b.events("ScalingReplicaSet"))
		}
	}
	back := func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Args = []string{"--max-num-batched-tokens=8192"}
	}
	b.change(back)
	for range 30 {
		b.pass(10 * time.Second)
	}
	sets, err := b.k.AppsV1().ReplicaSets(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(sets.Items) != 2 || b.get().Annotations["deployment.kubernetes.io/revision"] != "3" {
		t.Errorf("going back makes no third ReplicaSet: %d, %v, %v", len(sets.Items), b.get().Annotations, err)
	}
}

// A pod for which there is no GPU waits and says so, and starts once there is one.
func TestPodsWaitForGPUs(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.node("a", 1)
	b.deploy(deployment(2))
	b.pass(loading)
	b.pass(loading)
	waiting := slices.DeleteFunc(b.pods(), func(p corev1.Pod) bool { return p.Spec.NodeName != "" })
	if len(waiting) != 1 || waiting[0].Status.Phase != corev1.PodPending ||
		waiting[0].Status.Conditions[0].Message != "0/1 nodes are available: 1 Insufficient nvidia.com/gpu." {
		t.Fatalf("%+v", waiting)
	}
	if d := b.get(); d.Status.AvailableReplicas != 1 || d.Status.UnavailableReplicas != 1 {
		t.Errorf("%+v", d.Status)
	}
	b.pass(10 * time.Minute)
	if reason := progressing(b.get()); reason != "ProgressDeadlineExceeded" {
		t.Errorf("after ten minutes: %s", reason)
	}
	b.node("b", 1)
	b.pass(0)
	b.pass(loading)
	if d := b.get(); d.Status.AvailableReplicas != 2 || progressing(d) != "NewReplicaSetAvailable" {
		t.Errorf("%+v", d.Status)
	}
}

// A container that ends starts again, at first at once and then after longer and longer pauses.
func TestACrashedContainerStartsAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.node("a", 1)
	b.deploy(deployment(1))
	b.pass(0)
	b.pass(loading)
	id := workloads.ID{Pod: b.pods()[0].UID}
	status := func() corev1.ContainerStatus { return b.pods()[0].Status.ContainerStatuses[0] }
	b.engines.crash[id] = &workloads.End{Code: 137, Reason: "OOMKilled"}
	b.pass(time.Second)
	if s := status(); s.RestartCount != 1 || s.State.Running == nil || s.Ready ||
		s.LastTerminationState.Terminated.Reason != "OOMKilled" {
		t.Fatalf("%+v", s)
	}
	for n, pause := range []time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second} {
		id.Number = int32(n + 1)
		b.engines.crash[id] = &workloads.End{Code: 1, Reason: "Error"}
		b.pass(time.Second)
		if s := status(); s.State.Waiting == nil || s.State.Waiting.Reason != "CrashLoopBackOff" ||
			s.RestartCount != id.Number+1 {
			t.Fatalf("%+v", s)
		}
		b.pass(pause - time.Second)
		if s := status(); s.State.Waiting == nil {
			t.Errorf("it starts before %v are over", pause)
		}
		b.pass(time.Second)
		if s := status(); s.State.Running == nil {
			t.Fatalf("it does not start after %v: %+v", pause, s)
		}
	}
	b.pass(loading)
	if !status().Ready || len(b.events("BackOff")) == 0 {
		t.Errorf("%+v, %v", status(), b.events("BackOff"))
	}
	want := []string{"/0 started", "/0 ready true", "/0 ended", "/1 started", "/1 ended", "/2 started"}
	for i, words := range want {
		if !strings.HasSuffix(b.engines.story[i], words) {
			t.Errorf("the engines were told %q, want %q", b.engines.story[i], words)
		}
	}
}

// A pod that is to go has its time to end.
func TestAPodHasTimeToEnd(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engines.linger = true
	b.node("a", 2)
	b.deploy(deployment(2))
	b.pass(0)
	b.pass(loading)
	b.change(func(d *appsv1.Deployment) { d.Spec.Replicas = new(int32(1)) })
	b.pass(0)
	if pods, d := b.pods(), b.get(); len(pods) != 2 || d.Status.Replicas != 1 {
		t.Fatalf("%d pods, %+v", len(pods), d.Status)
	}
	b.pass(29 * time.Second)
	if pods := b.pods(); len(pods) != 2 {
		t.Errorf("%d pods before the time is up", len(pods))
	}
	b.pass(time.Second)
	if pods := b.pods(); len(pods) != 1 {
		t.Errorf("%d pods after the time is up", len(pods))
	}
	if last := b.engines.story[len(b.engines.story)-1]; !strings.HasSuffix(last, "/0 ended") {
		t.Errorf("the engines were told %q", b.engines.story)
	}
}

// Recreate lets the old pods end before the first new one begins.
func TestRecreateLetsOldPodsEndFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engines.linger = true
	b.node("a", 2)
	d := deployment(2)
	d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	b.deploy(d)
	b.pass(0)
	b.pass(loading)
	b.change(func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Args = []string{"--x"} })
	b.pass(time.Second)
	for _, p := range b.pods() {
		if p.DeletionTimestamp == nil || p.Spec.Containers[0].Args[0] == "--x" {
			t.Errorf("%s began too early", p.Name)
		}
	}
	b.pass(time.Minute)
	b.pass(loading)
	if d := b.get(); d.Status.AvailableReplicas != 2 || d.Status.UpdatedReplicas != 2 {
		t.Errorf("%+v", d.Status)
	}
}

// What a Deployment made goes with it, unless it is to stay.
func TestWhatADeploymentMadeGoesWithIt(t *testing.T) {
	t.Parallel()
	for policy, left := range map[metav1.DeletionPropagation]int{
		metav1.DeletePropagationBackground: 0, metav1.DeletePropagationForeground: 0, metav1.DeletePropagationOrphan: 2,
	} {
		b := newBench(t)
		b.node("a", 2)
		b.deploy(deployment(2))
		b.pass(0)
		err := b.k.AppsV1().Deployments(namespace).Delete(t.Context(), "m",
			metav1.DeleteOptions{PropagationPolicy: &policy})
		if err != nil {
			t.Fatal(err)
		}
		b.pass(0)
		b.pass(time.Minute)
		all, err := b.k.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil || len(all.Items) != 0 || len(b.pods()) != left {
			t.Errorf("%s: %d Deployments and %d pods are left, want %d; %v", policy, len(all.Items), len(b.pods()), left, err)
		}
	}
}

// The pods of a node that is gone are made again elsewhere.
func TestThePodsOfALostNodeAreMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.node("a", 1)
	b.deploy(deployment(1))
	b.pass(0)
	before := b.pods()[0].Name
	b.node("b", 1)
	if err := b.k.CoreV1().Nodes().Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.pass(0)
	b.pass(loading)
	if pods := b.pods(); len(pods) != 1 || pods[0].Name == before || pods[0].Spec.NodeName != "b" {
		t.Errorf("%+v", pods)
	}
}

// An autoscaler without metrics keeps its limits; with them it goes where they point, and down only after a while.
func TestAnAutoscalerScales(t *testing.T) {
	t.Parallel()
	desired, trouble := int32(2), errors.New("no metrics")
	b := newBench(t, func(o *workloads.Options) {
		o.Desired = func(*autoscalingv2.HorizontalPodAutoscaler, int32) (int32, string, error) {
			return desired, "external metric waiting", trouble
		}
	})
	b.node("a", 8)
	b.deploy(deployment(2))
	scalers := b.k.AutoscalingV2().HorizontalPodAutoscalers(namespace)
	h, err := scalers.Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "m"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			MinReplicas: new(int32(2)), MaxReplicas: 6,
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "m"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, after time.Duration, want int32, reason string) {
		t.Helper()
		b.pass(after)
		now, err := scalers.Get(t.Context(), "m", metav1.GetOptions{})
		if err != nil || *b.get().Spec.Replicas != want || now.Status.Conditions[1].Reason != reason {
			t.Errorf("%s: %d replicas, want %d; %+v, %v", what, *b.get().Spec.Replicas, want, now.Status, err)
		}
	}
	check("without metrics", 0, 2, "FailedGetResourceMetric")
	h.ResourceVersion, h.Spec.MinReplicas = "", new(int32(3))
	if _, err := scalers.Update(t.Context(), h, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	check("with a higher minimum", 0, 3, "FailedGetResourceMetric")
	want := "New size: 3; reason: Current number of replicas below Spec.MinReplicas"
	if got := b.events("SuccessfulRescale"); len(got) != 1 || got[0] != want {
		t.Errorf("%q", got)
	}
	trouble, desired = nil, 9
	check("above the maximum", time.Minute, 6, "ValidMetricFound")
	desired = 3
	check("lower, for the first time", time.Minute, 6, "ValidMetricFound")
	check("lower for a while", 3*time.Minute, 6, "ValidMetricFound")
	check("lower for five minutes", time.Minute, 3, "ValidMetricFound")
	for _, m := range b.get().ManagedFields {
		if m.Subresource == "scale" && m.Manager != "kube-controller-manager" {
			t.Errorf("%+v", m)
		}
	}
}

// The bot's own reader sees what it sees of a cluster, with nothing unread.
func TestTheBotReadsIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.node("a", 4)
	b.deploy(deployment(2))
	b.pass(0)
	b.pass(loading)
	b.change(func(d *appsv1.Deployment) {
		d.Spec.Template.Spec.Containers[0].Args = []string{"--max-num-batched-tokens=4096"}
	})
	b.pass(0)
	reader, err := cluster.New(b.config)
	if err != nil {
		t.Fatal(err)
	}
	ref := incident.WorkloadRef{
		APIVersion: "apps/v1", Kind: "Deployment", Namespace: namespace, Name: "m", Container: "vllm",
	}
	got := reader.Cluster(t.Context(), ref, b.at, nil)
	if got.Error != "" || len(got.Unread) > 0 || len(got.Pods) != 3 || !got.RolloutRunning || *got.Replicas != 2 {
		t.Errorf("%+v", got)
	}
	said := fmt.Sprint(got.Changes)
	if !strings.Contains(said, "--max-num-batched-tokens") || !strings.Contains(said, "revision 2") {
		t.Errorf("what changed: %s", said)
	}
	owners, err := reader.Owners(t.Context(), namespace, b.pods()[0].Name)
	if err != nil || len(owners) != 2 || owners[1].Name != "m" {
		t.Errorf("owners: %v, %v", owners, err)
	}
	at, err := reader.PodsAt(t.Context(), "", b.pods()[0].Status.PodIP)
	if err != nil || len(at) != 1 || at[0].Name != b.pods()[0].Name {
		t.Errorf("pods at an address: %v, %v", at, err)
	}
}
