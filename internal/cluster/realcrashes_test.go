package cluster

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// crashedPod makes a pod on a node whose container vllm was started again.
func (c *cluster) crashedPod(t *testing.T, namespace, name, app, node, reason string, code int32, at time.Time) {
	t.Helper()
	tpl := template(app)
	tpl.Spec.NodeName = node
	p, err := c.admin.CoreV1().
		Pods(namespace).
		Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: tpl.Labels}, Spec: tpl.Spec},
			metav1.CreateOptions{})
	must(t, err)
	p.Status = readyPod(at.Add(-time.Hour), "10.3.0.1")
	p.Status.ContainerStatuses = []corev1.ContainerStatus{
		{Name: "vllm", Ready: true, RestartCount: 3, LastTerminationState: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{Reason: reason, ExitCode: code, FinishedAt: metav1.NewTime(at)},
		}},
	}
	_, err = c.admin.CoreV1().Pods(namespace).UpdateStatus(t.Context(), p, metav1.UpdateOptions{})
	must(t, err)
}

// nodeEvent writes an event as kubelets and controllers do: about a node, in namespace default.
func (c *cluster) nodeEvent(t *testing.T, node, typ, reason, message string, at time.Time) {
	t.Helper()
	_, err := c.admin.CoreV1().Events("default").Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			GenerateName: "node-",
			Namespace:    "default",
		}, Type: typ, Reason: reason, Message: message,
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: node}, LastTimestamp: metav1.NewTime(at),
	}, metav1.CreateOptions{})
	must(t, err)
}

func (c *cluster) mayReadNodeEvents(t *testing.T) {
	t.Helper()
	c.kube.Grant(
		t,
		kubetest.Bot,
		"default",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	)
}

// TestCrashesAndNodesOfARealKubernetes shares one API server between its parts. It has no right to events of nodes
// until the last part.
func TestCrashesAndNodesOfARealKubernetes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	now := time.Now().UTC().Truncate(time.Second)
	ago := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	kubelet := c.kube.StartKubelet(t, "gpu-1")
	const nodesForbidden = "events of the nodes: the right to list events in namespace default is missing: grant " +
		"it to the bot"

	t.Run("the newest crashes and their last words", func(t *testing.T) {
		c.deployment(t, "llm", "crashy", 3, settled(3, 3))
		c.crashedPod(t, "llm", "crashy-a", "crashy", "gpu-1", "Error", 1, ago(10))
		c.crashedPod(t, "llm", "crashy-b", "crashy", "gpu-1", "OOMKilled", 137, ago(20))
		c.crashedPod(t, "llm", "crashy-c", "crashy", "gpu-1", "Error", 2, ago(300))
		var lines []string
		for i := range 30 {
			lines = append(lines, fmt.Sprintf("\x1b[31mline %d\x1b[0m %s", i, strings.Repeat("x", i%2*250)))
		}
		kubelet.SetLog(
			"llm",
			"crashy-a",
			"vllm",
			true,
			strings.Join(lines, "\n")+"\ntorch.OutOfMemoryError: CUDA out of memory.\xff\n",
		)
		kubelet.SetLog("llm", "crashy-b", "vllm", true, strings.Repeat("z ", 500)+"\n\n")
		got := c.bot.Cluster(t.Context(), deploymentRef("crashy"), now, nil)
		if got.Error != "" || fmt.Sprint(got.Unread) != "["+nodesForbidden+"]" {
			t.Errorf("error %q, unread %q", got.Error, got.Unread)
		}
		want := []incident.Crash{
			{Pod: "crashy-a", Container: "vllm", At: ago(10), Reason: "Error", ExitCode: 1, OutOfMemory: "gpu"},
			{
				Pod:       "crashy-b",
				Container: "vllm",
				At:        ago(20),
				Reason:    "OOMKilled",
				ExitCode:  137,
				Log:       []string{strings.Repeat("z ", maxLogLine)[:maxLogLine-3] + "..."},
			},
			{Pod: "crashy-c", Container: "vllm", At: ago(300), Reason: "Error", ExitCode: 2},
		}
		for i := 11; i < 30; i++ {
			want[0].Log = append(want[0].Log, strings.TrimRight(fmt.Sprintf("line %d %s", i, strings.Repeat("x", i%2*250)), " "))
		}
		want[0].Log = append(want[0].Log, "torch.OutOfMemoryError: CUDA out of memory.?")
		if diff := cmp.Diff(want, got.Crashes); diff != "" {
			t.Errorf("crashes (-want +got):\n%s", diff)
		}
		restart := func(pod, text string, minutes int) incident.RecentChange {
			return incident.RecentChange{
				At:     ago(minutes),
				Kind:   incident.ChangeRestart,
				Object: "Pod " + pod,
				Text:   "container vllm ended: " + text + ", and was started again (3 restarts)",
			}
		}
		if diff := cmp.Diff([]incident.RecentChange{
			restart("crashy-a", "Error, exit code 1", 10),
			restart("crashy-b", "OOMKilled, exit code 137", 20),
		}, got.Changes); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
		for _, q := range kubelet.Asked() {
			if diff := cmp.Diff(url.Values{"previous": {"true"}, "tailLines": {"200"}, "limitBytes": {"65536"}}, q); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		}
	})
	t.Run("of a log with long lines the end is read", func(t *testing.T) {
		c.deployment(t, "llm", "wordy", 1, settled(1, 1))
		c.crashedPod(t, "llm", "wordy-a", "wordy", "gpu-1", "Error", 1, ago(10))
		kubelet.SetLog(
			"llm",
			"wordy-a",
			"vllm",
			true,
			strings.Repeat(strings.Repeat("long ", 200)+"\n", 100)+"CUDA out of memory\n",
		)
		got := c.bot.Cluster(t.Context(), deploymentRef("wordy"), now, nil).Crashes
		if len(got) != 1 || got[0].OutOfMemory != "gpu" || len(got[0].Log) != fewLines ||
			got[0].Log[fewLines-1] != "CUDA out of memory" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a secret that the limit cuts in two", func(t *testing.T) {
		c.deployment(t, "llm", "split", 1, settled(1, 1))
		c.crashedPod(t, "llm", "split-a", "split", "gpu-1", "Error", 1, ago(10))
		kubelet.SetLog(
			"llm",
			"split-a",
			"vllm",
			true,
			strings.Repeat("a ", logBytes/2-9)+"\nhf_hunter2hunter2hunter2hunter2\n",
		)
		got := c.bot.Cluster(t.Context(), deploymentRef("split"), now, nil).Crashes
		if len(got) != 1 || len(got[0].Log) != 1 || strings.Contains(fmt.Sprint(got), "hunter") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a log that is gone", func(t *testing.T) {
		c.deployment(t, "llm", "rotated", 1, settled(1, 1))
		c.crashedPod(t, "llm", "rotated-a", "rotated", "gpu-1", "Error", 1, ago(10))
		got := c.bot.Cluster(t.Context(), deploymentRef("rotated"), now, nil)
		if len(got.Crashes) != 1 || got.Crashes[0].Log != nil || got.Error != "" ||
			!strings.Contains(fmt.Sprint(got.Unread), "pod rotated-a, container vllm: there is none") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("logs that may not be read", func(t *testing.T) {
		c.deployment(t, "narrow", "shut", 1, settled(1, 1))
		c.crashedPod(t, "narrow", "shut-a", "shut", "gpu-1", "Error", 1, ago(10))
		kubelet.SetLog("narrow", "shut-a", "vllm", true, "not for the bot")
		ref := deploymentRef("shut")
		ref.Namespace = "narrow"
		got := c.bot.Cluster(t.Context(), ref, now, nil)
		for _, want := range []string{
			"the log of a crashed container: the right to get pods/log in namespace narrow is missing: grant it to the bot",
			"recent rollouts: the right to list replicasets.apps in namespace narrow is missing: grant it to the bot",
			"recent scaling: the right to list events in namespace narrow is missing: grant it to the bot",
			"the autoscaler and its recent scaling: the right to list scaledobjects.keda.sh in namespace narrow is missing: " +
				"grant it to the bot",
			nodesForbidden,
		} {
			if !strings.Contains(fmt.Sprint(got.Unread), want) {
				t.Errorf("unread = %q; want %q in it", got.Unread, want)
			}
		}
		if len(got.Crashes) != 1 || len(got.Changes) != 1 || got.Crashes[0].Log != nil || *got.Replicas != 1 ||
			strings.Contains(got.Error, "pods/log") ||
			strings.Contains(got.Error, "replicasets") {
			t.Errorf("what may be read is not there, or the error has what it must not: %+v", got)
		}
	})
	t.Run("a node that does not answer", func(t *testing.T) {
		hung := c.kube.StartKubelet(t, "gpu-hung")
		hung.Hang()
		c.deployment(t, "llm", "hanging", 1, settled(1, 1))
		c.crashedPod(t, "llm", "hanging-a", "hanging", "gpu-hung", "Error", 1, ago(10))
		bot, err := New(c.kube.ConfigFor(kubetest.Bot))
		must(t, err)
		bot.logPatience = 50 * time.Millisecond
		got := bot.Cluster(t.Context(), deploymentRef("hanging"), now, nil)
		if len(got.Crashes) != 1 || len(got.Changes) != 1 || got.Error != "" ||
			!strings.Contains(fmt.Sprint(got.Unread), "pod hanging-a, container vllm: its node did not answer in time") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a node that is gone", func(t *testing.T) {
		gone := c.kube.StartKubelet(t, "gpu-gone")
		gone.Stop()
		c.deployment(t, "llm", "lost", 1, settled(1, 1))
		c.crashedPod(t, "llm", "lost-a", "lost", "gpu-gone", "Error", 1, ago(10))
		got := c.bot.Cluster(t.Context(), deploymentRef("lost"), now, nil)
		if len(got.Crashes) != 1 || len(got.Changes) != 1 || got.Error != "" ||
			!strings.Contains(fmt.Sprint(got.Unread), "pod lost-a, container vllm: the kubelet of its node could not be asked") {
			t.Errorf("%+v", got)
		}
	})
	t.Run("what happened to the nodes", func(t *testing.T) {
		c.mayReadNodeEvents(t)
		c.deployment(t, "llm", "noded", 1, settled(1, 1))
		tpl := template("noded")
		tpl.Spec.NodeName = "gpu-7"
		_, err := c.admin.CoreV1().
			Pods("llm").
			Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "noded-a", Labels: tpl.Labels}, Spec: tpl.Spec},
				metav1.CreateOptions{})
		must(t, err)
		c.nodeEvent(t, "gpu-7", "Normal", "NodeNotReady", "Node gpu-7 status is now: NodeNotReady", ago(5))
		c.nodeEvent(t, "gpu-7", "Normal", "NodeNotReady", "the same earlier", ago(15))
		c.nodeEvent(t, "gpu-7", "Warning", "XIDError", "NVRM: Xid (PCI:0000:3b:00): 79,\nGPU has fallen off the bus", ago(6))
		c.nodeEvent(t, "gpu-7", "Normal", "NodeHasSufficientMemory", "all is well", ago(1))
		c.nodeEvent(t, "gpu-7", "Warning", "Rebooted", "too old", ago(121))
		c.nodeEvent(t, "gpu-8", "Warning", "Rebooted", "not our node", ago(1))
		got := c.bot.Cluster(t.Context(), deploymentRef("noded"), now, nil)
		want := []incident.RecentChange{
			{
				At:     ago(5),
				Kind:   incident.ChangeNode,
				Object: "Node gpu-7",
				Text:   "NodeNotReady: Node gpu-7 status is now: NodeNotReady",
			},
			{
				At:     ago(6),
				Kind:   incident.ChangeNode,
				Object: "Node gpu-7",
				Text:   "XIDError: NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus",
			},
		}
		if diff := cmp.Diff(want, got.Changes); diff != "" || got.Unread != nil || got.Error != "" {
			t.Errorf("unread %q, error %q, changes (-want +got):\n%s", got.Unread, got.Error, diff)
		}
	})
	t.Run("no secret gets out", func(t *testing.T) {
		c.leaky(t, kubelet, now)
	})
}

// leaky plants secrets everywhere that somebody may leave one, and walks the whole answer.
func (c *cluster) leaky(t *testing.T, kubelet *kubetest.Kubelet, now time.Time) {
	t.Helper()
	n := 0
	plant := func() string { n++; return fmt.Sprintf("hunter2Hunter2Hunter2n%dZ", n) }
	d, err := c.admin.AppsV1().Deployments("llm").Create(t.Context(), deploymentOf("leaky"), metav1.CreateOptions{})
	must(t, err)
	for i, image := range []string{"vllm:v1", "vllm:v2"} {
		rs := replicaSetOf(d, i+1)
		vllm := &rs.Spec.Template.Spec.Containers[0]
		vllm.Image, vllm.Args = image, []string{
			"--api-key",
			plant(),
			"--hf-token=" + plant(),
			"--served-model-name=sk-" + plant(),
			"--x",
			plant(),
		}
		vllm.Env = []corev1.EnvVar{{Name: "HF_TOKEN", Value: plant()}}
		rs.Spec.Template.Annotations = map[string]string{"note": plant()}
		_, err := c.admin.AppsV1().ReplicaSets("llm").Create(t.Context(), rs, metav1.CreateOptions{})
		must(t, err)
	}
	c.crashedPod(t, "llm", "leaky-a", "leaky", "gpu-1", "password="+plant(), 1, now.Add(-time.Minute))
	kubelet.SetLog(
		"llm",
		"leaky-a",
		"vllm",
		true,
		"non-default args: {'api_key': ['"+plant()+"'], 'port': 80}\nAuthorization: Bearer "+plant()+
			"\nhttps://user:"+plant()+"@host/x\n\x1b[1mhf_\x1b[0m"+plant()+"\n-----BEGIN PRIVATE KEY-----\n"+plant()+
			"\n-----END PRIVATE KEY-----\nthe end\n",
	)
	pending := corev1.PodStatus{
		Reason: "token=" + plant(),
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "x", Message: "secret: " + plant()},
		},
	}
	c.pod(t, "llm", "leaky-b", "leaky", pending)
	c.event(t, "leak-1", "Pod", "leaky-a", "Warning", "failed with --api-key "+plant(), now, 1)
	c.nodeEvent(t, "gpu-1", "Warning", "Odd", "bearer "+plant(), now)
	_, err = c.admin.CoreV1().Events("llm").Create(t.Context(), &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{
			Name:      "leak-2",
			Namespace: "llm",
		}, Type: "Normal", Reason: "ScalingReplicaSet", LastTimestamp: metav1.NewTime(now),
		Message:        "Scaled down replica set leaky-2 from 4 to 2 token " + plant(),
		InvolvedObject: corev1.ObjectReference{Kind: "Deployment", Name: "leaky", Namespace: "llm"},
	}, metav1.CreateOptions{})
	must(t, err)
	got := c.bot.Cluster(t.Context(), deploymentRef("leaky"), now, nil)
	b, err := json.Marshal(got)
	must(t, err)
	if strings.Contains(string(b), "unter2") {
		t.Errorf("a secret got out: %s", b)
	}
	var texts []string
	for _, c := range got.Changes {
		texts = append(texts, c.Text)
	}
	all := strings.Join(texts, "\n")
	for _, want := range []string{
		"image vllm:v1 -> vllm:v2; --api-key changed; --hf-token changed; --served-model-name changed; --x changed; " +
			"environment variables changed: HF_TOKEN; template changed in other places: annotations",
		"Scaled down replica set leaky-2 from 4 to 2 token [redacted]", "Odd: bearer [redacted]",
		"container vllm ended: password=[redacted], exit code 1",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("changes = %s\nwant in it %s", all, want)
		}
	}
	want := []string{
		"non-default args: {'api_key': [redacted] 'port': 80}",
		"Authorization: [redacted]",
		"https://[redacted]@host/x",
		"[redacted]",
		"[redacted]",
		"the end",
	}
	if len(got.Crashes) != 1 || len(got.Events) != 1 || got.Unread != nil || got.Error != "" {
		t.Fatalf("%+v", got)
	}
	if diff := cmp.Diff(want, got.Crashes[0].Log); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}
