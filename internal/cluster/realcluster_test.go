package cluster

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// TestAgainstARealKubernetes shares one API server between its parts.
func TestAgainstARealKubernetes(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.kube.InstallCRD(t, kubetest.LeaderWorkerSets, kubetest.RoleScalers, kubetest.Models)
	t.Cleanup(func() {
		asked := c.kube.Audit(t, kubetest.Bot)
		if len(asked) == 0 {
			t.Error("the audit log does not know the bot")
		}
		for _, e := range asked {
			if e.Writing() {
				t.Errorf("the bot did more than read: %v", e)
			}
		}
	})
	now := time.Now().UTC().Truncate(time.Second)
	start := now.Add(-time.Hour)
	runtime := c.custom(
		t,
		"production-stack.vllm.ai/v1alpha1",
		"VLLMRuntime",
		"vllmruntimes",
		"stack",
		map[string]any{"deploymentConfig": map[string]any{"replicas": int64(3)}},
		map[string]any{"replicas": int64(2), "selector": "app=stacked"},
	)
	stacked := c.deployment(
		t,
		"llm",
		"stacked",
		1,
		settled(1, 1),
		kubetest.Owner("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", runtime),
	)
	stackedRS := c.replicaSet(t, "llm", "stacked-abc", kubetest.Owner("apps/v1", "Deployment", stacked))
	ownedByRS := kubetest.Owner("apps/v1", "ReplicaSet", stackedRS)
	c.pod(t, "llm", "stacked-abc-1", "stacked", readyPod(start, "10.1.0.1"), ownedByRS)
	llama := c.deployment(t, "llm", "llama", 4, settled(4, 1))
	llamaRS := c.replicaSet(t, "llm", "llama-6f7d", kubetest.Owner("apps/v1", "Deployment", llama))
	c.llamaPods(t, start, kubetest.Owner("apps/v1", "ReplicaSet", llamaRS))

	t.Run("pods by their names", func(t *testing.T) {
		t.Parallel()
		for name, image := range map[string]string{"canary-1": "vllm/vllm-openai:v0.25.0", "canary-2": "vllm/vllm-openai"} {
			spec := template("canary").Spec
			spec.Containers[0].Image = image
			spec.Containers = append(spec.Containers, corev1.Container{Name: "proxy", Image: "envoyproxy/envoy:v1.30.0"})
			_, err := c.admin.CoreV1().Pods("llm").Create(t.Context(),
				&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
					Name: name, Labels: map[string]string{"llm-d.ai/role": "prefill"},
				}, Spec: spec}, metav1.CreateOptions{})
			must(t, err)
		}
		found, err := c.bot.Named(t.Context(), "llm", []string{"canary-1", "canary-2", "gone", "10.0.0.1:8000"})
		got := map[string]string{}
		for _, p := range found {
			got[p.Name] = p.Version + " " + string(p.Role)
		}
		want := map[string]string{"canary-1": "0.25.0 prefill", "canary-2": " prefill"}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("versions and roles are %v, %v; want %v", got, err, want)
		}
		if got, err := c.bot.Named(t.Context(), "podless", []string{"a"}); err == nil || len(got) > 0 {
			t.Errorf("pods that may not be read are %v, %v", got, err)
		}
		if got, err := c.bot.Named(t.Context(), "llm", make([]string, maxStrangers+1)); err == nil || got != nil {
			t.Errorf("too many pods are %v, %v", got, err)
		}
	})

	t.Run("a workload, its pods and warnings", func(t *testing.T) {
		t.Parallel()
		c.event(t, "e1", "Pod", "llama-6f7d-crash", "Warning", "Back-off\nrestarting", now.Add(-2*time.Minute), 12)
		c.event(t, "e2", "ReplicaSet", "llama-6f7d", "Warning", "exceeded quota", now.Add(-time.Minute), 1)
		c.event(t, "e3", "Deployment", "llama", "Warning", "oldest", now.Add(-3*time.Minute), 0)
		c.event(t, "e4", "Pod", "llama-6f7d-crash", "Normal", "pulled", now, 1)
		c.event(t, "e5", "Pod", "other-1", "Warning", "not ours", now, 1)
		c.event(t, "e6", "ReplicaSet", "llama-big-6f7d", "Warning", "not ours", now, 1)
		c.event(t, "e7", "Deployment", "llama", "Warning", "too old", now.Add(-2*time.Hour), 1)
		got := c.bot.Cluster(t.Context(), deploymentRef("llama"), now, nil)
		four, one := int64(4), int64(1)
		const noNode = "Unschedulable 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
		want := incident.Cluster{
			Workload: deploymentRef("llama"), Replicas: &four, ReadyReplicas: &one,
			Pods: []incident.Pod{
				{
					Name:         "llama-6f7d-crash",
					Phase:        "Running",
					Restarts:     7,
					Started:      start,
					Waiting:      "CrashLoopBackOff",
					CrashLooping: true,
					Reason:       "CrashLoopBackOff; last ended: OOMKilled, exit code 137",
				},
				{
					Name:     "llama-6f7d-fine",
					Phase:    "Running",
					Ready:    true,
					Restarts: 1,
					Started:  start,
					Reason:   "last ended: Error, exit code 1",
				},
				{Name: "llama-6f7d-pending", Unscheduled: start, Phase: "Pending", Unschedulable: noNode, Reason: noNode},
				{Name: "llama-by-hand", Phase: "Failed", Reason: "UnexpectedAdmissionError"},
			},
			Events: []string{
				now.Add(-time.Minute).Format(time.RFC3339) + " ReplicaSet llama-6f7d: Because: exceeded quota",
				now.Add(-2*time.Minute).Format(time.RFC3339) + " Pod llama-6f7d-crash: Because: Back-off restarting (12 times)",
				now.Add(-3*time.Minute).Format(time.RFC3339) + " Deployment llama: Because: oldest",
			},
			Changes: []incident.RecentChange{{
				At: start, Kind: incident.ChangeRestart, Object: "Pod llama-6f7d-evicted",
				Text: "ended for good (Evicted: The node was low on resource: ephemeral-storage.), and its owner replaces it",
			}},
			Crashes: []incident.Crash{
				{
					Pod:       "llama-6f7d-crash",
					Container: "vllm",
					Reason:    "OOMKilled",
					ExitCode:  137,
				}, {Pod: "llama-6f7d-fine", Container: "vllm", Reason: "Error", ExitCode: 1},
			},
			Unread: []incident.Unread{
				{Part: incident.PartCrashLog, Why: "pod llama-6f7d-crash, container vllm: it is empty"},
				{Part: incident.PartCrashLog, Why: "pod llama-6f7d-fine, container vllm: it is empty"},
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
		c.deployment(t, "llm", "behind", 2, behind)
		if got := c.bot.Cluster(t.Context(), deploymentRef("behind"), now, nil); !got.RolloutRunning || got.Error != "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("none of the replicas is ready", func(t *testing.T) {
		t.Parallel()
		c.deployment(t, "llm", "dark", 2, settled(2, 0))
		if got := c.bot.Cluster(t.Context(), deploymentRef("dark"), now, nil); got.ReadyReplicas == nil ||
			*got.ReadyReplicas != 0 ||
			len(got.Pods) != 0 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a StatefulSet", func(t *testing.T) {
		t.Parallel()
		two := int32(2)
		s, err := c.admin.AppsV1().StatefulSets("llm").Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Name: "set"},
			Spec: appsv1.StatefulSetSpec{
				Replicas: &two,
				Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "set"}},
				Template: template("set"),
			},
		}, metav1.CreateOptions{})
		must(t, err)
		s.Status = appsv1.StatefulSetStatus{
			ObservedGeneration: s.Generation,
			Replicas:           2,
			ReadyReplicas:      2,
			CurrentRevision:    "a",
			UpdateRevision:     "b",
		}
		_, err = c.admin.AppsV1().StatefulSets("llm").UpdateStatus(t.Context(), s, metav1.UpdateOptions{})
		must(t, err)
		got := c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "llm", Name: "set"},
			now, nil,
		)
		if got.Error != "" || *got.Replicas != 2 || *got.ReadyReplicas != 2 || !got.RolloutRunning {
			t.Errorf("%+v", got)
		}
	})
	t.Run("a custom kind is read through its scale", func(t *testing.T) {
		t.Parallel()
		got := c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{
				APIVersion: "production-stack.vllm.ai/v1alpha1",
				Kind:       "VLLMRuntime",
				Namespace:  "llm",
				Name:       "stack",
			},
			now, nil,
		)
		if got.Error != "" || got.Replicas == nil || *got.Replicas != 3 || len(got.Pods) != 1 ||
			got.Pods[0].Name != "stacked-abc-1" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("what a custom kind does not say about its readiness is counted, or not known", func(t *testing.T) {
		t.Parallel()
		c.countsReadiness(t, start, now)
	})
	t.Run("a number of replicas that is not set is one", func(t *testing.T) {
		t.Parallel()
		c.assumesOneReplica(t, now)
		c.hasNoSelector(t, now)
	})
	t.Run("autoscalers", func(t *testing.T) {
		t.Parallel()
		c.autoscalers(t)
		for name, want := range map[string]string{
			"free": "", "hpa": "HorizontalPodAutoscaler llm/hpa-for-it", "keda": "ScaledObject llm/keda-for-it",
			"paused": "ScaledObject llm/paused-for-it", "labelled": "ScaledObject llm/labelled-for-it",
			"aibrix": "PodAutoscaler llm/aibrix-for-it", "foreign": "",
		} {
			got := c.bot.Cluster(t.Context(), deploymentRef(name), now, nil)
			if got.Autoscaler != want || got.Error != "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
	t.Run("what is missing or forbidden is said", func(t *testing.T) {
		t.Parallel()
		c.deployment(t, "narrow", "small", 1, settled(1, 1))
		small := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "narrow", Name: "small"}
		got := c.bot.Cluster(t.Context(), small, now, nil)
		for _, want := range []string{
			"the right to list scaledobjects.keda.sh in namespace narrow is missing",
			"the right to list events in namespace narrow is missing",
		} {
			if !strings.Contains(fmt.Sprint(got.Unread), want) {
				t.Errorf("not read: %q; want %q in it", got.Unread, want)
			}
		}
		// Events, and who scales, are context: the workload and its pods are known without them, and no step on its
		// arguments is refused.
		if got.Error != "" || got.Replicas == nil || *got.Replicas != 1 || got.ReadyReplicas == nil ||
			*got.ReadyReplicas != 1 {
			t.Errorf("what could be read is not there: %+v", got)
		}
		c.deployment(t, "podless", "small", 1, settled(1, 1))
		podless := small
		podless.Namespace = "podless"
		if got := c.bot.Cluster(t.Context(), podless, now, nil); !strings.Contains(
			got.Error,
			"the right to list pods in namespace podless is missing",
		) ||
			got.Replicas == nil {
			t.Errorf("without the right to list pods: %+v", got)
		}
		for _, tt := range []struct {
			ref  incident.WorkloadRef
			want string
		}{
			{
				incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "closed", Name: "x"},
				"the right to get deployments.apps in namespace closed is missing: grant it to the bot",
			},
			{deploymentRef("nothing"), "no workload: Deployment llm/nothing does not exist"},
			{
				incident.WorkloadRef{APIVersion: "absent.example.com/v1", Kind: "Absent", Namespace: "llm", Name: "x"},
				"this cluster has no kind Absent in absent.example.com/v1",
			},
			{incident.WorkloadRef{APIVersion: "a/b/c", Kind: "X", Namespace: "llm", Name: "x"}, "apiVersion of X"},
		} {
			got := c.bot.Cluster(t.Context(), tt.ref, now, nil)
			if !strings.Contains(got.Error, tt.want) || got.Replicas != nil {
				t.Errorf("%v: %+v", tt.ref, got)
			}
		}
	})
	t.Run("owners up to the top", func(t *testing.T) {
		t.Parallel()
		c.owners(t, stackedRS)
	})
	t.Run("pods by their address", func(t *testing.T) {
		t.Parallel()
		c.pod(
			t,
			"llm",
			"ended",
			"ended",
			corev1.PodStatus{Phase: corev1.PodSucceeded, PodIP: "10.1.0.1", PodIPs: []corev1.PodIP{{IP: "10.1.0.1"}}},
		)
		got, err := c.bot.PodsAt(t.Context(), "llm", "10.1.0.1")
		if diff := cmp.Diff([]PodAddress{{Namespace: "llm", Name: "stacked-abc-1", Ports: []int32{8000}}}, got); diff != "" ||
			err != nil {
			t.Errorf("%v\n%s", err, diff)
		}
		_, err = c.bot.PodsAt(t.Context(), "", "10.1.0.1")
		if err == nil || err.Error() != "the right to list pods in all namespaces is missing: grant it to the bot" ||
			errors.Is(err, incident.ErrNoWorkload) {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("nothing is ever written", func(t *testing.T) {
		t.Parallel()
		k := c.bot
		_, err := k.typed.CoreV1().
			Pods("llm").
			Create(t.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "x"}},
				metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil || !strings.Contains(err.Error(), "connection only reads") {
			t.Errorf("err = %v", err)
		}
	})
	t.Run("refused credentials are not shown", func(t *testing.T) {
		t.Parallel()
		cfg := c.kube.ConfigFor(kubetest.Bot)
		cfg.BearerToken = kubeToken
		stranger, err := New(cfg)
		must(t, err)
		if _, err := stranger.Owners(t.Context(), "llm", "stacked-abc-1"); !errors.Is(err, incident.ErrUnanswered) {
			t.Errorf("owners: %v", err)
		}
		got := stranger.Cluster(t.Context(), deploymentRef("llama"), now, nil)
		if !strings.Contains(got.Error, "does not accept the bot's credentials") &&
			!strings.Contains(got.Error, "could not be asked for its kinds") ||
			strings.Contains(got.Error, "hunter2") {
			t.Errorf("error = %q", got.Error)
		}
	})
}

// TestAKubernetesOutageIsNoAnswer stops the API server in the middle.
func TestAKubernetesOutageIsNoAnswer(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t, kubetest.Options{})
	k.GrantAll(
		t,
		kubetest.Bot,
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	)
	bot, err := New(k.ConfigFor(kubetest.Bot))
	must(t, err)
	if _, err := bot.Owners(t.Context(), "default", "x"); !errors.Is(err, incident.ErrNoWorkload) {
		t.Errorf("before: %v", err)
	}
	if got := bot.Cluster(t.Context(),
		incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "x"},
		time.Now(), nil); !strings.Contains(
		got.Error,
		"does not exist",
	) {
		t.Errorf("before: %+v", got)
	}
	k.StopServer(t)
	if _, err := bot.Owners(t.Context(), "default", "x"); !errors.Is(err, incident.ErrUnanswered) ||
		errors.Is(err, incident.ErrNoWorkload) {
		t.Errorf("in the outage: %v", err)
	}
	if got := bot.Cluster(t.Context(),
		incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "default", Name: "x"},
		time.Now(), nil); !strings.Contains(
		got.Error,
		"could not be asked",
	) {
		t.Errorf("in the outage: %+v", got)
	}
	k.StartServer(t)
	if _, err := bot.Owners(t.Context(), "default", "x"); !errors.Is(err, incident.ErrNoWorkload) {
		t.Errorf("after: %v", err)
	}
}

func TestAnUnreachableKubernetesIsSaidWithoutSecrets(t *testing.T) {
	t.Parallel()
	k, err := New(&rest.Config{Host: "https://127.0.0.1:1", BearerToken: kubeToken})
	must(t, err)
	got := k.Cluster(t.Context(), deploymentRef("llama"), time.Now(), nil)
	_, ownersErr := k.Owners(t.Context(), "llm", "llama-1")
	_, podsErr := k.PodsAt(t.Context(), "llm", "10.0.0.1")
	for _, text := range []string{got.Error, fmt.Sprint(ownersErr), fmt.Sprint(podsErr)} {
		if !strings.Contains(text, "the Kubernetes API could not be asked") ||
			!strings.Contains(text, "connection refused") ||
			strings.Contains(text, "hunter2") {
			t.Errorf("error = %q", text)
		}
	}
	if errors.Is(ownersErr, incident.ErrNoWorkload) || errors.Is(podsErr, incident.ErrNoWorkload) ||
		!errors.Is(ownersErr, incident.ErrUnanswered) ||
		!errors.Is(podsErr, incident.ErrUnanswered) {
		t.Error("an API that did not answer is taken for an answer")
	}
	if _, err := New(nil); err == nil {
		t.Error("New takes no configuration")
	}
}
