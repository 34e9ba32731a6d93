package cluster

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func deploymentOf(name string) *appsv1.Deployment {
	two := int32(2)
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &two,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}},
			Template: template(name),
		},
	}
}

// replicaSetOf is what the Deployment controller makes of a revision.
func replicaSetOf(d *appsv1.Deployment, number int) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{
			Name: d.Name + "-" + strconv.Itoa(
				number,
			), Labels: d.Spec.Template.Labels, Annotations: map[string]string{revisionAnnotation: strconv.Itoa(number)},
			OwnerReferences: []metav1.OwnerReference{kubetest.Owner("apps/v1", "Deployment", d)},
		},
		Spec: appsv1.ReplicaSetSpec{Selector: d.Spec.Selector, Template: *d.Spec.Template.DeepCopy()},
	}
}

// said are the changes of a kind, the newest first, without the names that Kubernetes makes up.
func said(c incident.Cluster, kind incident.ChangeKind) []string {
	var out []string
	for _, one := range c.Changes {
		if one.Kind == kind {
			out = append(out, one.Object+": "+madeUp.ReplaceAllString(one.Text, "-*"))
		}
	}
	return out
}

var madeUp = regexp.MustCompile(`-[a-z0-9]{8,10}\b`)

// TestChangesThatRealControllersMake lets the Deployment, StatefulSet and autoscaling controllers write the history
// that is read.
func TestChangesThatRealControllersMake(t *testing.T) {
	t.Parallel()
	k := kubetest.Start(t, kubetest.Options{Controllers: true, Kwok: true})
	k.MakeNamespace(t, "llm")
	k.Grant(
		t,
		kubetest.Bot,
		"llm",
		rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"get", "list"}},
	)
	k.Grant(
		t,
		kubetest.Bot,
		"default",
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list"}},
	)
	bot, err := New(k.ConfigFor(kubetest.Bot))
	must(t, err)
	admin := k.Client(t)

	t.Run("a Deployment is rolled out, scaled and taken back", func(t *testing.T) {
		t.Parallel()
		deployments := admin.AppsV1().Deployments("llm")
		d := deploymentOf("llama")
		d.Spec.Template.Spec.NodeName = kubetest.Node
		d.Spec.Template.Spec.Containers[0].Args = []string{"--model", "m", "--max-num-seqs=256"}
		_, err := deployments.Create(t.Context(), d, metav1.CreateOptions{})
		must(t, err)
		patch := func(p string) {
			_, err := deployments.Patch(t.Context(), "llama", types.StrategicMergePatchType, []byte(p), metav1.PatchOptions{})
			must(t, err)
		}
		// finished waits until the rollout of a revision has ended and the controller's events of scaling are there: it
		// writes them a little later.
		finished := func(revision string, replicas int64, scalings ...string) (got incident.Cluster) {
			t.Helper()
			kubetest.Eventually(t, "the rollout of revision "+revision, func(ctx context.Context) error {
				d, err := deployments.Get(ctx, "llama", metav1.GetOptions{})
				if err != nil {
					return err
				}
				got = bot.Cluster(ctx, deploymentRef("llama"), time.Now(), nil)
				if got.RolloutRunning || d.Annotations[revisionAnnotation] != revision || got.ReadyReplicas == nil ||
					*got.ReadyReplicas != replicas ||
					len(got.Pods) != int(replicas) {
					return fmt.Errorf("revision %s, %+v", d.Annotations[revisionAnnotation], got)
				}
				if diff := cmp.Diff(scalings, said(got, incident.ChangeScale)); diff != "" {
					return fmt.Errorf("scaling (-want +got):\n%s", diff)
				}
				return nil
			})
			return got
		}
		const (
			first  = "Deployment llama: revision 1 (ReplicaSet llama-*): no earlier one is kept to compare it with"
			second = "Deployment llama: revision 2 (ReplicaSet llama-*): image vllm -> vllm:v2; --api-key added; " +
				"--max-num-seqs 256 -> 128"
			back = "Deployment llama: back to an earlier template as revision 3 (ReplicaSet llama-*): image vllm:v2 -> " +
				"vllm; --api-key removed; --max-num-seqs 128 -> 256"
			scaledTo3 = "Deployment llama: Scaled up replica set llama-* from 2 to 3"
			scaledTo4 = "Deployment llama: Scaled up replica set llama-* from 3 to 4"
		)
		rollouts := func(got incident.Cluster, args map[string]float64, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, said(got, incident.ChangeRollout)); diff != "" || got.Unread != nil ||
				!cmp.Equal(args, got.Args) {
				t.Errorf("unread %q, args %v, rollouts (-want +got):\n%s", got.Unread, got.Args, diff)
			}
		}
		rollouts(finished("1", 2), map[string]float64{"max_num_seqs": 256}, first)
		afterTick(t)
		patch(`{"spec":{"replicas":3}}`)
		finished("1", 3, scaledTo3)
		patch(
			`{"spec":{"template":{"spec":{"containers":[{"name":"vllm","image":"vllm:v2",` +
				`"args":["--model","m","--max-num-seqs=128","--api-key=x"]}]}}}}`,
		)
		// When the first revision was complete is no longer known once there is a second one: growing counts as part of
		// its rollout then.
		finished("2", 3)
		afterTick(t)
		patch(`{"spec":{"replicas":4}}`)
		rollouts(finished("2", 4, scaledTo4), map[string]float64{"max_num_seqs": 128}, second, first)
		afterTick(t)
		patch(
			`{"spec":{"template":{"spec":{"containers":[{"name":"vllm","image":"vllm",` +
				`"args":["--model","m","--max-num-seqs=256"]}]}}}}`,
		)
		got := finished("3", 4)
		rollouts(got, map[string]float64{"max_num_seqs": 256}, back, second)
	})
	t.Run("a StatefulSet", func(t *testing.T) {
		t.Parallel()
		sets := admin.AppsV1().StatefulSets("llm")
		one, tpl := int32(1), template("set")
		tpl.Spec.NodeName = kubetest.Node
		_, err := sets.Create(t.Context(), &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{
				Name: "set",
			}, Spec: appsv1.StatefulSetSpec{
				Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: tpl.Labels},
				Template: tpl,
			},
		}, metav1.CreateOptions{})
		must(t, err)
		ref := incident.WorkloadRef{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "llm", Name: "set"}
		says := func(want ...string) {
			t.Helper()
			kubetest.Eventually(t, "the revisions of the set", func(ctx context.Context) error {
				got := bot.Cluster(ctx, ref, time.Now(), nil)
				if d := cmp.Diff(want, said(got, incident.ChangeRollout)); d != "" || got.Unread != nil {
					return fmt.Errorf("unread %q\n%s", got.Unread, d)
				}
				return nil
			})
		}
		first := "StatefulSet set: revision 1 (ControllerRevision set-*): no earlier one is kept to compare it with"
		says(first)
		image := func(image string) {
			_, err = sets.Patch(
				t.Context(),
				"set",
				types.StrategicMergePatchType,
				fmt.Appendf(nil, `{"spec":{"template":{"spec":{"containers":[{"name":"vllm","image":%q}]}}}}`, image),
				metav1.PatchOptions{},
			)
			must(t, err)
		}
		afterTick(t)
		image("vllm:v2")
		says("StatefulSet set: revision 2 (ControllerRevision set-*): image vllm -> vllm:v2", first)
		afterTick(t)
		image("vllm")
		says("StatefulSet set: back to an earlier template as revision 3 (ControllerRevision set-*): image vllm:v2 -> vllm",
			"StatefulSet set: revision 2 (ControllerRevision set-*): image vllm -> vllm:v2")
	})
}

// afterTick waits for the next second: Kubernetes keeps times in whole ones, and the order of two changes must show.
func afterTick(t *testing.T) {
	t.Helper()
	begun := time.Now().Unix()
	kubetest.Eventually(t, "the next second", func(context.Context) error {
		if time.Now().Unix() == begun {
			return fmt.Errorf("it is still %d", begun)
		}
		return nil
	})
}
