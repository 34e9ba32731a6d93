package conformance_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// acting is a real cluster with controllers, and a node whose pods are ready at once.
var acting = kubetest.Share(kubetest.Options{Controllers: true, Kwok: true})

// prompt is a fleet in which everything is ready, and ends, at once.
type prompt struct {
	mu     sync.Mutex
	ending map[workloads.ID]bool
}

func (p *prompt) Started(workloads.Run)    {}
func (p *prompt) Ready(workloads.ID, bool) {}
func (p *prompt) Ended(workloads.ID)       {}

func (p *prompt) Ending(id workloads.ID, _ time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ending[id] = true
}

func (p *prompt) State(id workloads.ID) workloads.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ending[id] {
		return workloads.State{Ended: &workloads.End{}}
	}
	return workloads.State{Ready: true}
}

// simulatedWorkloads is the sandbox's cluster with a node as acting's.
func simulatedWorkloads(t *testing.T) *kubernetes.Clientset {
	t.Helper()
	s, err := kubeapi.New(kubeapi.Options{Users: []kubeapi.User{
		{Name: kubetest.Admin, Token: "t", Groups: []string{kubeapi.Administrators}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := workloads.New(s, workloads.Options{Fleet: &prompt{ending: map[workloads.ID]bool{}}})
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: kubetest.Node}}
	if err := kubeapi.Create(s.As("test"), corev1.SchemeGroupVersion.WithResource("nodes"), node); err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() { c.Run(ctx) })
	t.Cleanup(func() {
		end()
		running.Wait()
	})
	k, err := kubernetes.NewForConfig(s.Config(web.URL, kubetest.Admin))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// story is what somebody who looks at a Deployment sees, without what each cluster makes up.
type story struct {
	Generation, Observed                 int64
	Replicas, Updated, Ready, Available  int32
	Revision                             string
	Conditions, Sets, Events, PodsOwners []string
}

var madeUp = regexp.MustCompile(`\bm-[a-z0-9]{6,10}\b`)

// look reads the story once the Deployment is at rest with a number of replicas.
func look(t *testing.T, k *kubernetes.Clientset, ns string, replicas int32) story {
	t.Helper()
	var out story
	kubetest.Eventually(t, "the Deployment to rest", func(ctx context.Context) error {
		d, err := k.AppsV1().Deployments(ns).Get(ctx, "m", metav1.GetOptions{})
		if err != nil {
			return err
		}
		pods, err := k.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		s := d.Status
		out = story{
			Generation: d.Generation, Observed: s.ObservedGeneration, Replicas: s.Replicas, Updated: s.UpdatedReplicas,
			Ready: s.ReadyReplicas, Available: s.AvailableReplicas,
			Revision: d.Annotations["deployment.kubernetes.io/revision"],
		}
		if s.ObservedGeneration != d.Generation || s.Replicas != replicas || s.AvailableReplicas != replicas ||
			s.UpdatedReplicas != replicas || len(pods.Items) != int(replicas) {
			return fmt.Errorf("%d pods, %+v", len(pods.Items), s)
		}
		for _, c := range s.Conditions {
			out.Conditions = append(out.Conditions, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Reason))
		}
		for _, p := range pods.Items {
			out.PodsOwners = append(out.PodsOwners, p.OwnerReferences[0].Kind+" "+p.Labels["app"])
		}
		return nil
	})
	sets, err := k.AppsV1().ReplicaSets(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, rs := range sets.Items {
		hash := rs.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		out.Sets = append(out.Sets, fmt.Sprintf("revision %s with %d pods, named for its hash: %t",
			rs.Annotations["deployment.kubernetes.io/revision"], *rs.Spec.Replicas, rs.Name == "m-"+hash))
	}
	events, err := k.CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ScalingReplicaSet"})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events.Items {
		out.Events = append(out.Events, fmt.Sprintf("%dx %s", e.Count, madeUp.ReplaceAllString(e.Message, "m-HASH")))
	}
	for _, list := range [][]string{out.Conditions, out.Sets, out.Events, out.PodsOwners} {
		slices.Sort(list)
	}
	return out
}

// A rollout, the way back, and more and fewer replicas look the same on both.
func TestADeploymentGoesTheSameWay(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"app": "m"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "m"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: new(intstr.FromInt32(1)), MaxUnavailable: new(intstr.FromInt32(0)),
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeName: kubetest.Node, TerminationGracePeriodSeconds: new(int64(1)),
					Containers: []corev1.Container{{Name: "vllm", Image: "i:1", Args: []string{"a"}}},
				},
			},
		},
	}
	genuine := acting.Cluster(t)
	theirs, ours := genuine.Client(t), simulatedWorkloads(t)
	places := []struct {
		k  *kubernetes.Clientset
		ns string
	}{{theirs, genuine.Namespace(t)}, {ours, "default"}}
	for _, p := range places {
		if _, err := p.k.AppsV1().Deployments(p.ns).Create(t.Context(), d, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const args = `[{"op":"replace","path":"/spec/template/spec/containers/0/args","value":["%s"]}]`
	const scale = `[{"op":"replace","path":"/spec/replicas","value":%d}]`
	for _, step := range []struct {
		name, patch string
		replicas    int32
	}{
		{"made", "[]", 3},
		{"a rollout", fmt.Sprintf(args, "b"), 3},
		{"the way back", fmt.Sprintf(args, "a"), 3},
		{"more replicas", fmt.Sprintf(scale, 5), 5},
		{"fewer replicas", fmt.Sprintf(scale, 1), 1},
	} {
		var seen []story
		for _, p := range places {
			_, err := p.k.AppsV1().Deployments(p.ns).Patch(t.Context(), "m", types.JSONPatchType, []byte(step.patch),
				metav1.PatchOptions{})
			if err != nil {
				t.Fatal(err)
			}
			seen = append(seen, look(t, p.k, p.ns, step.replicas))
		}
		if diff := cmp.Diff(seen[0], seen[1]); diff != "" {
			t.Errorf("%s: the Deployments differ (-real +simulated):\n%s", step.name, diff)
		}
	}
}
