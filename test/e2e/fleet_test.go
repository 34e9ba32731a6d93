package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// follow makes the fleet do what the real objects say, as the cluster would.
func (w *world) follow(ctx context.Context) {
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		// The API server is down in some scenarios; then the fleet stays as it is.
		if pods, err := w.ready(ctx); err == nil && len(pods) > 0 {
			if w.args == nil {
				must(w.t, w.fleet.SetReplicas(len(pods)))
			} else {
				must(w.t, w.fleet.SetPods(pods))
			}
		}
		if p, err := w.objects(policies).Get(ctx, model, metav1.GetOptions{}); err == nil {
			limit, _, err := unstructured.NestedInt64(p.Object, "spec", "circuitBreaker", "maxParallelRequests")
			if err == nil {
				must(w.t, w.fleet.SetThrottle(int(limit)))
			}
		}
	}
}

// ready are the pods that are ready and stay, by name.
func (w *world) ready(ctx context.Context) ([]fleet.Pod, error) {
	list, err := w.c().Client(w.t).CoreV1().Pods(w.ns).List(ctx, metav1.ListOptions{LabelSelector: "app=" + model})
	if err != nil {
		return nil, err
	}
	var out []fleet.Pod
	for _, p := range list.Items {
		is := func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }
		if p.DeletionTimestamp == nil && slices.ContainsFunc(p.Status.Conditions, is) {
			out = append(out, fleet.Pod{Name: p.Name, IP: p.Status.PodIP, Args: p.Spec.Containers[0].Args})
		}
	}
	return out, nil
}

// followed waits until the fleet has done what the objects say. A scenario counts the replicas that are there as the
// way it should be, and the fleet follows a moment later than the bot reads: in between it would count what is over.
func (w *world) followed() {
	w.t.Helper()
	w.until("the fleet does what the objects say", func() bool {
		pods, err := w.ready(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		is := w.fleet.State()
		same := len(is.Replicas) == len(pods)
		if w.args != nil {
			same = slices.EqualFunc(is.Replicas, pods, func(r fleet.ReplicaState, p fleet.Pod) bool {
				return r.Name == p.Name && slices.Equal(r.Args, p.Args)
			})
		}
		return same && int64(len(pods)) == w.replicas() && int64(is.Throttle) == w.limit()
	})
}

// scenario begins what is going on from now on.
func (w *world) scenario(name string) {
	w.t.Helper()
	s, err := fleet.ScenarioNamed(name)
	if err != nil {
		w.t.Fatal(err)
	}
	w.begin(s)
}

// begin is scenario for one of the test's own.
func (w *world) begin(s fleet.Scenario) {
	w.t.Helper()
	w.followed()
	if err := w.fleet.Apply(s); err != nil {
		w.t.Fatal(err)
	}
}

// must fails the test from any goroutine.
func must(t *testing.T, err error) {
	if err != nil {
		t.Error(fmt.Errorf("the fleet: %w", err))
	}
}
