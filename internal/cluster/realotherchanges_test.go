package cluster

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// TestChangesOfOtherWorkloads has no controllers, so that the test says what they wrote.
func TestChangesOfOtherWorkloads(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	now := time.Now().UTC().Truncate(time.Second)
	event := func(name, kind, object, reason, message string, at time.Time) {
		t.Helper()
		_, err := c.admin.CoreV1().Events("llm").Create(t.Context(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "llm"}, Type: "Normal", Reason: reason, Message: message,
			InvolvedObject: corev1.ObjectReference{
				Kind:      kind,
				Name:      object,
				Namespace: "llm",
			}, LastTimestamp: metav1.NewTime(at),
		}, metav1.CreateOptions{})
		must(t, err)
	}
	t.Run("what an autoscaler did is said once, with its reason", func(t *testing.T) {
		d, err := c.admin.AppsV1().Deployments("llm").Create(t.Context(), deploymentOf("auto"), metav1.CreateOptions{})
		must(t, err)
		_, err = c.admin.AppsV1().ReplicaSets("llm").Create(t.Context(), replicaSetOf(d, 1), metav1.CreateOptions{})
		must(t, err)
		_, err = c.admin.AutoscalingV2().
			HorizontalPodAutoscalers("llm").
			Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
				ObjectMeta: metav1.ObjectMeta{Name: "auto-hpa"},
				Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
					MaxReplicas:    5,
					ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "auto"},
				},
			}, metav1.CreateOptions{})
		must(t, err)
		at := now.Add(10 * time.Minute) // after the only revision
		event(
			"auto-1",
			HPAKind,
			"auto-hpa",
			"SuccessfulRescale",
			"New size: 4; reason: num_requests_waiting above target",
			at,
		)
		event(
			"auto-2",
			"Deployment",
			"auto",
			"ScalingReplicaSet",
			"Scaled up replica set auto-1 from 2 to 4",
			at.Add(time.Second),
		)
		event(
			"auto-3",
			"Deployment",
			"auto",
			"ScalingReplicaSet",
			"Scaled down replica set auto-1 from 4 to 3",
			at.Add(5*time.Minute),
		)
		event(
			"auto-4",
			"Deployment",
			"auto",
			"ScalingReplicaSet",
			"Scaled down replica set auto-1 from 9 to 8",
			now.Add(-3*time.Hour),
		)
		event("auto-5", HPAKind, "another", "SuccessfulRescale", "New size: 9; reason: not ours", at)
		got := c.bot.Cluster(t.Context(), deploymentRef("auto"), now, nil)
		want := []string{
			"Deployment auto: Scaled down replica set auto-1 from 4 to 3",
			"HorizontalPodAutoscaler auto-hpa: New size: 4; reason: num_requests_waiting above target",
		}
		if diff := cmp.Diff(want, said(got, incident.ChangeScale)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("KEDA", func(t *testing.T) {
		c.deployment(t, "llm", "kedaed", 1, settled(1, 1))
		c.custom(
			t,
			"keda.sh/v1alpha1",
			"ScaledObject",
			"scaledobjects",
			"so",
			map[string]any{
				"scaleTargetRef": map[string]any{"name": "kedaed"},
				"triggers":       []any{map[string]any{"type": "cpu", "metadata": map[string]any{"value": "50"}}},
			},
			nil,
		)
		event(
			"keda-1",
			ScaledObjectKind,
			"so",
			"KEDAScaleTargetActivated",
			"Scaled apps/v1.Deployment llm/kedaed from 0 to 1, triggered by s0",
			now,
		)
		event(
			"keda-2",
			HPAKind,
			"keda-hpa-so",
			"SuccessfulRescale",
			"New size: 2; reason: All metrics below target",
			now.Add(-time.Minute),
		)
		event("keda-3", ScaledObjectKind, "so", "KEDAScalersStarted", "no scaling", now)
		want := []string{
			"ScaledObject so: Scaled apps/v1.Deployment llm/kedaed from 0 to 1, triggered by s0",
			"HorizontalPodAutoscaler keda-hpa-so: New size: 2; reason: All metrics below target",
		}
		if diff := cmp.Diff(want,
			said(c.bot.Cluster(t.Context(), deploymentRef("kedaed"), now, nil), incident.ChangeScale)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("what the bot did is its own, by the fields that it set", func(t *testing.T) {
		scaleTo := func(name string, n int32, manager string) {
			t.Helper()
			_, err := c.admin.AppsV1().
				Deployments("llm").
				Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, n),
					metav1.PatchOptions{FieldManager: manager}, "scale")
			must(t, err)
			d, err := c.admin.AppsV1().Deployments("llm").Get(t.Context(), name, metav1.GetOptions{})
			must(t, err)
			d.Status = settled(n, n)
			d.Status.ObservedGeneration += d.Generation
			_, err = c.admin.AppsV1().Deployments("llm").UpdateStatus(t.Context(), d, metav1.UpdateOptions{})
			must(t, err)
		}
		own := func(name string, want ...string) {
			t.Helper()
			var got []string
			for _, ch := range c.bot.Cluster(t.Context(), deploymentRef(name), now, nil).Changes {
				if ch.Own {
					got = append(got, ch.Object+": "+ch.Text)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: own (-want +got):\n%s", name, diff)
			}
		}
		now := time.Now().UTC()
		d := c.deployment(t, "llm", "mine", 2, settled(2, 2))
		_, err := c.admin.AppsV1().ReplicaSets("llm").Create(t.Context(), replicaSetOf(d, 1), metav1.CreateOptions{})
		must(t, err)
		const said = "Scaled up replica set mine-1 from 2 to 3"
		scaled := func(name, message string, at time.Time) {
			event(name, "Deployment", "mine", "ScalingReplicaSet", message, at)
		}
		scaled("mine-1", said, now.Add(time.Second))
		scaled("mine-2", "Scaled down replica set mine-1 from 4 to 2", now.Add(time.Second))
		scaled("mine-3", said, now.Add(5*time.Minute))
		scaleTo("mine", 3, "kubectl")
		own("mine")
		scaleTo("mine", 2, "kubectl")
		scaleTo("mine", 3, incident.FieldManager)
		own("mine", "Deployment mine: "+said)
		scaleTo("mine", 2, "kubectl") // who has set it back has the field
		scaleTo("mine", 3, "kubectl")
		own("mine")

		c.deployment(t, "llm", "hpaed", 2, settled(2, 2))
		hpas := c.admin.AutoscalingV2().HorizontalPodAutoscalers("llm")
		_, err = hpas.Create(t.Context(), &autoscalingv2.HorizontalPodAutoscaler{
			ObjectMeta: metav1.ObjectMeta{Name: "hpaed"},
			Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
				MaxReplicas:    5,
				ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "hpaed"},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		event(
			"hpaed-1",
			HPAKind,
			"hpaed",
			"SuccessfulRescale",
			"New size: 3; reason: Current number of replicas below Spec.MinReplicas",
			now.Add(time.Second),
		)
		own("hpaed")
		_, err = hpas.Patch(
			t.Context(),
			"hpaed",
			types.MergePatchType,
			[]byte(`{"spec":{"minReplicas":3}}`),
			metav1.PatchOptions{FieldManager: incident.FieldManager},
		)
		must(t, err)
		own("hpaed", "HorizontalPodAutoscaler hpaed: New size: 3; reason: Current number of replicas below Spec.MinReplicas")

		so := c.custom(
			t,
			"keda.sh/v1alpha1",
			"ScaledObject",
			"scaledobjects",
			"mine",
			map[string]any{
				"scaleTargetRef": map[string]any{"name": "kedaed2"},
				"triggers":       []any{map[string]any{"type": "cpu", "metadata": map[string]any{"value": "50"}}},
			},
			nil,
		)
		c.deployment(t, "llm", "kedaed2", 2, settled(2, 2))
		event(
			"kedaed2-1",
			HPAKind,
			"keda-hpa-mine",
			"SuccessfulRescale",
			"New size: 3; reason: Current number of replicas below Spec.MinReplicas",
			now.Add(time.Second),
		)
		_, err = c.dyn.Resource(schema.GroupVersionResource{
			Group: "keda.sh", Version: "v1alpha1",
			Resource: "scaledobjects",
		}).
			Namespace("llm").
			Patch(
				t.Context(),
				so.GetName(),
				types.MergePatchType, []byte(`{"spec":{"minReplicaCount":3}}`),
				metav1.PatchOptions{FieldManager: incident.FieldManager})
		must(t, err)
		own(
			"kedaed2",
			"HorizontalPodAutoscaler keda-hpa-mine: New size: 3; reason: Current number of replicas below Spec.MinReplicas",
		)
	})
	t.Run("a custom kind by the Deployment below it", func(t *testing.T) {
		c.custom(
			t,
			"production-stack.vllm.ai/v1alpha1",
			"VLLMRuntime",
			"vllmruntimes",
			"stack",
			map[string]any{"deploymentConfig": map[string]any{"replicas": int64(1)}},
			map[string]any{"replicas": int64(1), "selector": "app=below"},
		)
		d, err := c.admin.AppsV1().Deployments("llm").Create(t.Context(), deploymentOf("below"), metav1.CreateOptions{})
		must(t, err)
		var newest *appsv1.ReplicaSet
		for number := range 2 {
			rs := replicaSetOf(d, number+1)
			rs.Spec.Template.Spec.Containers[0].Args = []string{"--max-num-seqs=" + strconv.Itoa(number+1)}
			newest, err = c.admin.AppsV1().ReplicaSets("llm").Create(t.Context(), rs, metav1.CreateOptions{})
			must(t, err)
		}
		stranger := replicaSetOf(d, 3) // the same labels, another owner
		stranger.OwnerReferences[0].UID = "another"
		_, err = c.admin.AppsV1().ReplicaSets("llm").Create(t.Context(), stranger, metav1.CreateOptions{})
		must(t, err)
		c.pod(t, "llm", "below-2-x", "below", corev1.PodStatus{}, kubetest.Owner("apps/v1", "ReplicaSet", newest))
		event("below-1", "Deployment", "below", "ScalingReplicaSet", "Scaled down replica set below-2 from 4 to 3", now)
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
		rollouts := said(got, incident.ChangeRollout)
		if len(rollouts) != 2 ||
			rollouts[0] != "Deployment below: revision 2 (ReplicaSet below-2): --max-num-seqs 1 -> 2" &&
				rollouts[1] != "Deployment below: revision 2 (ReplicaSet below-2): --max-num-seqs 1 -> 2" {
			t.Errorf("%q", rollouts)
		}
		if got := said(got, incident.ChangeScale); !cmp.Equal(
			got,
			[]string{"Deployment below: Scaled down replica set below-2 from 4 to 3"},
		) {
			t.Errorf("%q", got)
		}
	})
	t.Run("a custom kind without a history", func(t *testing.T) {
		o := c.custom(
			t,
			"production-stack.vllm.ai/v1alpha1",
			"VLLMRuntime",
			"vllmruntimes",
			"bare",
			map[string]any{"apiKey": "hunter2", "deploymentConfig": map[string]any{"replicas": int64(1)}},
			map[string]any{"replicas": int64(1), "selector": "app=bare"},
		)
		ref := incident.WorkloadRef{
			APIVersion: "production-stack.vllm.ai/v1alpha1",
			Kind:       "VLLMRuntime",
			Namespace:  "llm",
			Name:       "bare",
		}
		got := c.bot.Cluster(t.Context(), ref, now, nil)
		want := fmt.Sprintf(
			"VLLMRuntime bare: its specification was written by %s (generation %d); what changed is not kept",
			o.GetManagedFields()[0].Manager,
			o.GetGeneration(),
		)
		if diff := cmp.Diff([]string{want}, said(got, incident.ChangeRollout)); diff != "" || got.Unread != nil {
			t.Errorf("%q\n%s", got.Unread, diff)
		}
		if got := c.bot.Cluster(t.Context(), ref, now.Add(3*time.Hour), nil); got.Changes != nil {
			t.Errorf("after three hours: %+v", got.Changes)
		}
	})
	t.Run("a LeaderWorkerSet by its own revisions", func(t *testing.T) {
		c.kube.InstallCRD(t, kubetest.LeaderWorkerSets)
		spec := func(image string) map[string]any {
			pod := map[string]any{
				"spec": map[string]any{
					"containers": []any{map[string]any{"name": "vllm", "image": image, "args": []any{"--max-num-seqs=8"}}},
				},
			}
			return map[string]any{
				"leaderWorkerTemplate": map[string]any{"leaderTemplate": pod, "workerTemplate": pod, "size": int64(2)},
			}
		}
		o := c.custom(t, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "leaderworkersets", "lws", spec("vllm:v2"), nil)
		for i, image := range []string{"vllm:v1", "vllm:v2"} {
			raw, err := json.Marshal(map[string]any{"spec": spec(image)})
			must(t, err)
			_, err = c.admin.AppsV1().ControllerRevisions("llm").Create(t.Context(), &appsv1.ControllerRevision{
				ObjectMeta: metav1.ObjectMeta{
					Name: fmt.Sprintf("lws-%d", i), Labels: map[string]string{"leaderworkerset.sigs.k8s.io/name": "lws"},
					OwnerReferences: []metav1.OwnerReference{
						kubetest.Owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", o),
					},
				}, Data: runtime.RawExtension{Raw: raw}, Revision: int64(i + 1),
			}, metav1.CreateOptions{})
			must(t, err)
		}
		got := c.bot.Cluster(
			t.Context(),
			incident.WorkloadRef{
				APIVersion: "leaderworkerset.x-k8s.io/v1",
				Kind:       "LeaderWorkerSet",
				Namespace:  "llm",
				Name:       "lws",
			},
			now, nil,
		)
		if !strings.Contains(
			strings.Join(said(got, incident.ChangeRollout), "\n"),
			"LeaderWorkerSet lws: revision 2 (ControllerRevision lws-1): leader: image vllm:v1 -> vllm:v2; worker: image "+
				"vllm:v1 -> vllm:v2",
		) ||
			!cmp.Equal(got.Args, map[string]float64{"max_num_seqs": 8}) ||
			got.Unread != nil {
			t.Errorf("%+v", got)
		}
	})
}
