package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func ownedPod(name string, status corev1.PodStatus) corev1.Pod {
	yes := true
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			OwnerReferences: []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "rs", Controller: &yes}},
		},
		Spec:   corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm"}}},
		Status: status,
	}
}

func TestAPodThatEndedForGoodIsAChangeAndNoPod(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	ago := func(minutes int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)) }
	terminated := func(minutes int, code int32) []corev1.ContainerStatus {
		return []corev1.ContainerStatus{
			{
				Name: "vllm",
				State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code, FinishedAt: ago(minutes)},
				},
			},
		}
	}
	evicted := ownedPod("evicted", corev1.PodStatus{
		Phase: corev1.PodFailed, Reason: "Evicted", Message: "low on memory", ContainerStatuses: terminated(10, 137),
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse, LastTransitionTime: ago(1)}},
	})
	done := ownedPod("done", corev1.PodStatus{Phase: corev1.PodSucceeded, ContainerStatuses: terminated(20, 0)})
	started := ago(30)
	refused := ownedPod(
		"refused",
		corev1.PodStatus{Phase: corev1.PodFailed, Reason: "UnexpectedAdmissionError", StartTime: &started},
	)
	old := ownedPod(
		"old",
		corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", ContainerStatuses: terminated(121, 137)},
	)
	lone := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lone"},
		Status:     corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted"},
	}
	serving := ownedPod("serving", corev1.PodStatus{Phase: corev1.PodRunning})
	pods := []corev1.Pod{evicted, done, refused, old, lone, serving}

	var names []string
	for _, p := range podsFacts(pods, "vllm") {
		names = append(names, p.Name)
	}
	if diff := cmp.Diff([]string{"lone", "serving"}, names); diff != "" {
		t.Errorf("pods (-want +got):\n%s", diff)
	}
	want := []incident.RecentChange{
		{
			At:     ago(10).Time,
			Kind:   incident.ChangeRestart,
			Object: "Pod evicted",
			Text:   "ended for good (Evicted: low on memory), and its owner replaces it",
		},
		{
			At:     ago(20).Time,
			Kind:   incident.ChangeRestart,
			Object: "Pod done",
			Text:   "ended for good, and its owner replaces it",
		},
		{
			At:     ago(30).Time,
			Kind:   incident.ChangeRestart,
			Object: "Pod refused",
			Text:   "ended for good (UnexpectedAdmissionError), and its owner replaces it",
		},
	}
	if diff := cmp.Diff(want, endedPods(pods, now)); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	// The end of its engine is still one, and is not told twice.
	found := endings([]corev1.Pod{evicted}, "vllm")
	if len(found) != 1 || found[0].crash.ExitCode != 137 {
		t.Fatalf("endings: %+v", found)
	}
	if c, told := found[0].restart(now); told {
		t.Errorf("told twice: %+v", c)
	}

	var many []corev1.Pod
	for i := range 9 {
		many = append(many, ownedPod(fmt.Sprintf("refused-%d", i), refused.Status))
	}
	if got := endedPods(many, now); len(got) != maxEndedPods+1 || !strings.HasPrefix(got[maxEndedPods].Text, "6 more") {
		t.Errorf("of many: %+v", got)
	}
}

func TestOnlyTheEnginesContainerCounts(t *testing.T) {
	t.Parallel()
	one := resource.MustParse("1")
	gpu := func(device string) corev1.ResourceRequirements {
		return corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceName(device): one, corev1.ResourceCPU: one},
		}
	}
	proxy := corev1.Container{Name: "istio-proxy", Image: "docker.io/istio/proxyv2:1.27"}
	for _, c := range []struct {
		name       string
		named      string
		containers []corev1.Container
		annotation string
		want       []string
	}{
		{
			"the one that is named", "engine",
			[]corev1.Container{proxy, {Name: "engine"}, {Name: "vllm", Resources: gpu("nvidia.com/gpu")}},
			"",
			[]string{"engine"},
		},
		{
			"a name that this pod does not have", "engine",
			[]corev1.Container{proxy, {Name: "worker", Resources: gpu("amd.com/gpu")}},
			"",
			[]string{"worker"},
		},
		{
			"those with a GPU", "",
			[]corev1.Container{
				proxy,
				{Name: "router", Image: "x/vllm-router"},
				{Name: "a", Resources: gpu("nvidia.com/gpu")},
				{Name: "b", Resources: gpu("nvidia.com/mig-1g.5gb")},
			},
			"",
			[]string{"a", "b"},
		},
		{
			"by the image", "",
			[]corev1.Container{proxy, {Name: "main", Image: "registry:5000/vllm/vllm-openai:v0.11.0@sha256:0"}},
			"",
			[]string{"main"},
		},
		{
			"an image of a registry that is called so is none", "",
			[]corev1.Container{
				{Name: "x", Image: "vllm.example/exporter:1"},
				{Name: "main", Args: []string{"-m", "vllm.entrypoints.openai.api_server"}},
			},
			"",
			[]string{"main"},
		},
		{
			"by the command", "",
			[]corev1.Container{proxy, {Name: "main", Command: []string{"/usr/bin/vllm", "serve"}}},
			"",
			[]string{"main"},
		},
		{"by the pod's default", "", []corev1.Container{proxy, {Name: "main"}}, "main", []string{"main"}},
		{"else the first", "", []corev1.Container{{Name: "main"}, proxy}, "gone", []string{"main"}},
		{"none", "", nil, "", nil},
	} {
		pod := corev1.Pod{Spec: corev1.PodSpec{Containers: c.containers}}
		if c.annotation != "" {
			pod.Annotations = map[string]string{defaultContainer: c.annotation}
		}
		if diff := cmp.Diff(c.want, engineNames(&pod, c.named)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}

	ended := corev1.ContainerState{
		Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1, FinishedAt: metav1.Now()},
	}
	pod := ownedPod("a", corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{
		{
			Name:                 "istio-proxy",
			RestartCount:         9,
			LastTerminationState: ended,
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		}, {Name: "vllm", RestartCount: 1},
	}})
	pod.Spec.Containers = []corev1.Container{proxy, {Name: "vllm"}}
	if got := podFacts(&pod, ""); got.Restarts != 1 || got.Reason != "container istio-proxy: CrashLoopBackOff" {
		t.Errorf("the proxy's restarts count, or it is not said that it waits: %+v", got)
	}
	if got := endings([]corev1.Pod{pod}, ""); len(got) != 0 {
		t.Errorf("the proxy's end counts: %+v", got)
	}
	for _, start := range []string{"", "ContainerCreating", "PodInitializing"} {
		pod.Status.ContainerStatuses[0].State.Waiting.Reason = start
		if got := podFacts(&pod, ""); got.Reason != "" {
			t.Errorf("a proxy that waits for %q: %+v", start, got)
		}
	}
}

func TestAnInitContainerCountsWhileItKeepsThePodFromStarting(t *testing.T) {
	t.Parallel()
	ended := func(code int32) *corev1.ContainerStateTerminated {
		return &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: code, FinishedAt: metav1.Now()}
	}
	failed := corev1.ContainerState{Terminated: ended(1)}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	yes, always := true, corev1.ContainerRestartPolicyAlways
	for _, c := range []struct {
		name    string
		status  corev1.ContainerStatus
		sidecar bool
		want    string
	}{
		{"failed now", corev1.ContainerStatus{State: failed}, false, "init container fetch: last ended: Error, exit code 1"},
		{
			"waits for another try",
			corev1.ContainerStatus{
				State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
				LastTerminationState: failed,
			},
			false, "init container fetch: CrashLoopBackOff; init container fetch: last ended: Error, exit code 1",
		},
		{
			"tries again",
			corev1.ContainerStatus{State: running, Started: &yes, LastTerminationState: failed},
			false,
			"init container fetch: last ended: Error, exit code 1",
		},
		{
			"did its work in the end",
			corev1.ContainerStatus{
				Ready: true, State: corev1.ContainerState{Terminated: ended(0)},
				LastTerminationState: failed,
			},
			false, "",
		},
		{
			"a sidecar that runs again",
			corev1.ContainerStatus{State: running, Started: &yes, LastTerminationState: failed},
			true, "",
		},
		{
			"a sidecar that does not start",
			corev1.ContainerStatus{State: running, LastTerminationState: failed},
			true,
			"init container fetch: last ended: Error, exit code 1",
		},
		{"runs for the first time", corev1.ContainerStatus{State: running}, false, ""},
	} {
		c.status.Name = "fetch"
		pod := ownedPod("a", corev1.PodStatus{InitContainerStatuses: []corev1.ContainerStatus{c.status}})
		pod.Spec.InitContainers = []corev1.Container{{Name: "fetch"}}
		if c.sidecar {
			pod.Spec.InitContainers[0].RestartPolicy = &always
		}
		if got := podFacts(&pod, "vllm"); got.Reason != c.want {
			t.Errorf("%s: reason %q; want %q", c.name, got.Reason, c.want)
		}
		if got := endings([]corev1.Pod{pod}, "vllm"); (len(got) == 1) != (c.want != "") {
			t.Errorf("%s: endings %+v", c.name, got)
		}
	}
}
