package cluster

import (
	"errors"
	"fmt"
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
		owner("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", runtime),
	)
	stackedRS := c.replicaSet(t, "llm", "stacked-abc", owner("apps/v1", "Deployment", stacked))
	c.pod(t, "llm", "stacked-abc-1", "stacked", readyPod(start, "10.1.0.1"), owner("apps/v1", "ReplicaSet", stackedRS))
	llama := c.deployment(t, "llm", "llama", 4, settled(4, 1))
	llamaRS := c.replicaSet(t, "llm", "llama-6f7d", owner("apps/v1", "Deployment", llama))
	c.llamaPods(t, start, owner("apps/v1", "ReplicaSet", llamaRS))

	t.Run("a workload, its pods and warnings", func(t *testing.T) {
		t.Parallel()
		c.event(t, "e1", "Pod", "llama-6f7d-crash", "Warning", "Back-off\nrestarting", now.Add(-2*time.Minute), 12)
		c.event(t, "e2", "ReplicaSet", "llama-6f7d", "Warning", "exceeded quota", now.Add(-time.Minute), 1)
		c.event(t, "e3", "Deployment", "llama", "Warning", "oldest", now.Add(-3*time.Minute), 0)
		c.event(t, "e4", "Pod", "llama-6f7d-crash", "Normal", "pulled", now, 1)
		c.event(t, "e5", "Pod", "other-1", "Warning", "not ours", now, 1)
		c.event(t, "e6", "ReplicaSet", "llama-big-6f7d", "Warning", "not ours", now, 1)
		c.event(t, "e7", "Deployment", "llama", "Warning", "too old", now.Add(-2*time.Hour), 1)
		got := c.bot.Cluster(t.Context(), deploymentRef("llama"), now)
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
		if got := c.bot.Cluster(t.Context(), deploymentRef("behind"), now); !got.RolloutRunning || got.Error != "" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("none of the replicas is ready", func(t *testing.T) {
		t.Parallel()
		c.deployment(t, "llm", "dark", 2, settled(2, 0))
		if got := c.bot.Cluster(t.Context(), deploymentRef("dark"), now); got.ReadyReplicas == nil ||
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
			now,
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
			now,
		)
		if got.Error != "" || got.Replicas == nil || *got.Replicas != 3 || len(got.Pods) != 1 ||
			got.Pods[0].Name != "stacked-abc-1" {
			t.Errorf("%+v", got)
		}
	})
	t.Run("what a custom kind does not say about its readiness is counted, or not known", func(t *testing.T) {
		t.Parallel()
		two := map[string]any{"replicas": int64(2)}
		leader := func(name string, ready bool) {
			status := readyPod(start, "10.1.1.1")
			if !ready {
				status.Conditions = nil
			}
			c.pod(t, "llm", name, "group", status)
		}
		leader("group-0", true)
		leader("group-1", false)
		one, zero := int64(1), int64(0)
		for _, tt := range []struct {
			kind, version, plural string
			status                map[string]any
			ready                 *int64
		}{
			{
				"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
				map[string]any{"replicas": int64(2), "hpaPodSelector": "app=group"},
				&one,
			},
			{
				"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
				map[string]any{"replicas": int64(2), "readyReplicas": int64(1), "hpaPodSelector": "app=nobody"},
				&one,
			},
			{
				"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "leaderworkersets",
				map[string]any{"replicas": int64(2), "hpaPodSelector": "app=nobody"},
				&zero,
			},
			{
				"DisaggregatedSetRoleScaler", "disaggregatedset.x-k8s.io/v1", "disaggregatedsetrolescalers",
				map[string]any{"replicas": int64(2), "selector": "app=group"},
				&one,
			},
			{
				"DisaggregatedSetRoleScaler", "disaggregatedset.x-k8s.io/v1", "disaggregatedsetrolescalers",
				map[string]any{"replicas": int64(2)},
				nil,
			},
			{
				"Model", "kubeai.org/v1", "models",
				map[string]any{"replicas": map[string]any{"all": int64(2), "ready": int64(1)}},
				&one,
			},
			{"Model", "kubeai.org/v1", "models", nil, nil},
		} {
			name := fmt.Sprintf("ready-%d", time.Now().UnixNano())
			c.custom(t, tt.version, tt.kind, tt.plural, name, two, tt.status)
			got := c.bot.Cluster(
				t.Context(),
				incident.WorkloadRef{APIVersion: tt.version, Kind: tt.kind, Namespace: "llm", Name: name},
				now,
			)
			if wanted := map[string]string{"Model": "Model llm/" + name}[tt.kind]; got.Autoscaler != wanted {
				t.Errorf("%s: scaled by %q", tt.kind, got.Autoscaler)
			}
			if !cmp.Equal(got.ReadyReplicas, tt.ready) || got.Replicas == nil || *got.Replicas != 2 {
				t.Errorf("%s with %v: %+v", tt.kind, tt.status, got)
			}
		}
		got := c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{
				APIVersion: "production-stack.vllm.ai/v1alpha1",
				Kind:       "VLLMRuntime",
				Namespace:  "llm",
				Name:       "stack",
			},
			now,
		)
		if got.ReadyReplicas == nil || *got.ReadyReplicas != 1 {
			t.Errorf("VLLMRuntime: %+v", got)
		}
	})
	t.Run("a number of replicas that is not set is one", func(t *testing.T) {
		t.Parallel()
		c.custom(
			t,
			"production-stack.vllm.ai/v1alpha1",
			"VLLMRuntime",
			"vllmruntimes",
			"unset",
			map[string]any{"deploymentConfig": map[string]any{}},
			map[string]any{"replicas": int64(1)},
		)
		got := c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{
				APIVersion: "production-stack.vllm.ai/v1alpha1",
				Kind:       "VLLMRuntime",
				Namespace:  "llm",
				Name:       "unset",
			},
			now,
		)
		if got.Error != "VLLMRuntime llm/unset does not set its number of replicas, which means 1, and its pods cannot be "+
			"found until it does" ||
			got.Replicas == nil ||
			*got.Replicas != 1 {
			t.Errorf("%+v", got)
		}
		// One that names its pods itself needs no scale.
		c.custom(
			t,
			"production-stack.vllm.ai/v1alpha1",
			"VLLMRuntime",
			"vllmruntimes",
			"named",
			map[string]any{"selector": map[string]any{"matchLabels": map[string]any{"app": "stacked"}}},
			nil,
		)
		got = c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{
				APIVersion: "production-stack.vllm.ai/v1alpha1",
				Kind:       "VLLMRuntime",
				Namespace:  "llm",
				Name:       "named",
			},
			now,
		)
		if got.Error != "" || got.Replicas == nil || *got.Replicas != 1 || len(got.Pods) != 1 {
			t.Errorf("%+v", got)
		}
	})
	t.Run("autoscalers", func(t *testing.T) {
		t.Parallel()
		c.autoscalers(t)
		for name, want := range map[string]string{
			"free": "", "hpa": "HorizontalPodAutoscaler llm/hpa-for-it", "keda": "ScaledObject llm/keda-for-it",
			"paused": "ScaledObject llm/paused-for-it", "labelled": "ScaledObject llm/labelled-for-it",
			"aibrix": "PodAutoscaler llm/aibrix-for-it", "foreign": "",
		} {
			got := c.bot.Cluster(t.Context(), deploymentRef(name), now)
			if got.Autoscaler != want || got.Error != "" {
				t.Errorf("%s: %+v", name, got)
			}
		}
	})
	t.Run("what is missing or forbidden is said", func(t *testing.T) {
		t.Parallel()
		c.deployment(t, "narrow", "small", 1, settled(1, 1))
		small := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "narrow", Name: "small"}
		got := c.bot.Cluster(t.Context(), small, now)
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
		if got := c.bot.Cluster(t.Context(), podless, now); !strings.Contains(
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
				incident.WorkloadRef{APIVersion: "ray.io/v1", Kind: "RayService", Namespace: "llm", Name: "x"},
				"this cluster has no kind RayService in ray.io/v1",
			},
			{incident.WorkloadRef{APIVersion: "a/b/c", Kind: "X", Namespace: "llm", Name: "x"}, "apiVersion of X"},
		} {
			if got := c.bot.Cluster(t.Context(), tt.ref, now); !strings.Contains(got.Error, tt.want) || got.Replicas != nil {
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
		got := stranger.Cluster(t.Context(), deploymentRef("llama"), now)
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
		time.Now()); !strings.Contains(
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
		time.Now()); !strings.Contains(
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

func (c *cluster) owners(t *testing.T, stackedRS *appsv1.ReplicaSet) {
	t.Helper()
	chain, err := c.bot.Owners(t.Context(), "llm", "stacked-abc-1")
	if got := fmt.Sprint(chain); err != nil ||
		got != "[ReplicaSet llm/stacked-abc Deployment llm/stacked VLLMRuntime llm/stack]" {
		t.Errorf("%s, %v", got, err)
	}
	c.pod(t, "llm", "lone", "lone", corev1.PodStatus{})
	node := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}
	c.pod(
		t,
		"llm",
		"static",
		"static",
		corev1.PodStatus{},
		func() metav1.OwnerReference { yes := true; node.Controller = &yes; return node }(),
	)
	for _, name := range []string{"lone", "static"} {
		if chain, err := c.bot.Owners(t.Context(), "llm", name); err != nil || fmt.Sprint(chain) != "[Pod llm/"+name+"]" {
			t.Errorf("%s: %v, %v", name, chain, err)
		}
	}
	replaced := owner("apps/v1", "ReplicaSet", stackedRS)
	replaced.UID = "another"
	c.pod(t, "llm", "orphan", "orphan", corev1.PodStatus{}, replaced)
	gone := replaced
	gone.Name = "gone"
	c.pod(t, "llm", "leftover", "leftover", corev1.PodStatus{}, gone)
	first, second := replaced, gone
	first.Controller, second.Controller = nil, nil
	c.pod(t, "llm", "shared", "shared", corev1.PodStatus{}, first, second)
	unknown := metav1.OwnerReference{
		APIVersion: "ray.io/v1",
		Kind:       "RayCluster",
		Name:       "r",
		UID:        "u",
		Controller: replaced.Controller,
	}
	c.pod(t, "llm", "ray", "ray", corev1.PodStatus{}, unknown)
	narrowRS := c.replicaSet(t, "narrow", "rs")
	c.pod(t, "narrow", "hidden", "hidden", corev1.PodStatus{}, owner("apps/v1", "ReplicaSet", narrowRS))
	twoAbove := c.deployment(t, "llm", "contested", 1, settled(1, 1), looseOwner(first), looseOwner(second))
	contested := c.replicaSet(t, "llm", "contested-abc", owner("apps/v1", "Deployment", twoAbove))
	c.pod(t, "llm", "contested-abc-1", "contested", corev1.PodStatus{}, owner("apps/v1", "ReplicaSet", contested))
	managed := c.deployment(t, "llm", "managed", 1, settled(1, 1), unknown)
	managedRS := c.replicaSet(t, "llm", "managed-abc", owner("apps/v1", "Deployment", managed))
	c.pod(t, "llm", "managed-abc-1", "managed", corev1.PodStatus{}, owner("apps/v1", "ReplicaSet", managedRS))
	slashed := unknown
	slashed.APIVersion, slashed.Kind, slashed.Name = "apps/v1", "ReplicaSet", "a/b"
	c.pod(t, "llm", "slashed", "slashed", corev1.PodStatus{}, slashed)
	broken := owner(
		"broken.example.com/v2",
		"Broken",
		c.custom(t, "broken.example.com/v1", "Broken", "brokens", "b", map[string]any{}, nil),
	)
	webhook := c.deployment(t, "llm", "webhook", 1, settled(1, 1), broken)
	webhookRS := c.replicaSet(t, "llm", "webhook-abc", owner("apps/v1", "Deployment", webhook))
	c.pod(t, "llm", "webhook-abc-1", "webhook", corev1.PodStatus{}, owner("apps/v1", "ReplicaSet", webhookRS))
	for _, tt := range []struct {
		namespace, pod string
		none, several  bool
		chain, want    string
	}{
		{"llm", "nobody", true, false, "[]", "Pod llm/nobody does not exist"},
		{"llm", "orphan", true, false, "[]", "was replaced by another object of that name"},
		{"llm", "leftover", true, false, "[]", "ReplicaSet llm/gone does not exist"},
		{"llm", "shared", true, true, "[]", "2 owners and none of them is its controller"},
		{"llm", "ray", false, false, "[]", "this cluster has no kind RayCluster in ray.io/v1"},
		{"llm", "slashed", false, false, "[]", "a/b"},
		{
			"narrow", "hidden", false, false, "[]",
			"the owners above Pod narrow/hidden are not known: the right to get replicasets.apps in namespace narrow is " +
				"missing: grant it to the bot",
		},
		{"closed", "x", false, false, "[]", "the right to get pods in namespace closed is missing"},
		{
			"llm", "managed-abc-1", false, false, "[ReplicaSet llm/managed-abc Deployment llm/managed]",
			"the owners above Deployment llm/managed are not known: this cluster has no kind RayCluster in ray.io/v1",
		},
		{
			"llm", "webhook-abc-1", false, false, "[ReplicaSet llm/webhook-abc Deployment llm/webhook]",
			"conversion webhook for broken.example.com/v1, Kind=Broken failed",
		},
		{
			"llm", "contested-abc-1", true, true, "[ReplicaSet llm/contested-abc Deployment llm/contested]",
			"the owners above Deployment llm/contested are not known",
		},
	} {
		chain, err := c.bot.Owners(t.Context(), tt.namespace, tt.pod)
		if err == nil || fmt.Sprint(chain) != tt.chain || !strings.Contains(err.Error(), tt.want) ||
			errors.Is(err, incident.ErrNoWorkload) != tt.none ||
			errors.Is(err, ErrAmbiguous) != tt.several {
			t.Errorf("%s/%s: %v, %v", tt.namespace, tt.pod, chain, err)
		}
		if errors.Is(err, incident.ErrUnanswered) {
			t.Errorf("%s/%s: an answer about one object is taken for silence: %v", tt.namespace, tt.pod, err)
		}
	}
}

// brokenCRD is of an operator whose conversion webhook is away: every read in the other version is an internal error.
const brokenCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: brokens.broken.example.com}
spec:
  group: broken.example.com
  scope: Namespaced
  names: {kind: Broken, plural: brokens, listKind: BrokenList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// looseOwner is an owner that is not the controller.
func looseOwner(r metav1.OwnerReference) metav1.OwnerReference {
	r.Controller = nil
	return r
}

func TestAnUnreachableKubernetesIsSaidWithoutSecrets(t *testing.T) {
	t.Parallel()
	k, err := New(&rest.Config{Host: "https://127.0.0.1:1", BearerToken: kubeToken})
	must(t, err)
	got := k.Cluster(t.Context(), deploymentRef("llama"), time.Now())
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
