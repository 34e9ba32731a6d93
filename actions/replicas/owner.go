package replicas

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
)

// owner is the object that owns a workload's replicas: a HorizontalPodAutoscaler, a KEDA ScaledObject or an AIBrix
// PodAutoscaler, or a KubeAI Model, which is its own.
type owner struct {
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	// minField and maxField are its fields under spec; without them it means minDefault and maxDefault.
	minField, maxField     string
	minDefault, maxDefault int64
	// cap is a further upper limit and capWhy what sets it; 0 for none.
	cap    int64
	capWhy string
	// filled is what the API server fills in for an absent minimum; empty when nothing.
	filled string
	// stopped says why a higher minimum would have no effect.
	stopped string
}

// String is "HorizontalPodAutoscaler llama-70b".
func (o *owner) String() string { return o.object.GetKind() + " " + o.object.GetName() }

// ownerKind is a kind of object that may own a workload's replicas.
type ownerKind struct {
	cluster.AutoscalerKind

	// list reads those that may own the replicas of the workload, which is itself where nil.
	list func(context.Context, *kube.Reader, *workload) ([]unstructured.Unstructured, error)
	// owner is what the kind calls its limits; nil where the bot does not change them.
	owner func(*unstructured.Unstructured) *owner
	// filled is what the API server fills in for an absent minimum; empty when nothing.
	filled string
}

// ownerKinds has a row for each kind of owner. Those that a cluster need not have come first.
func ownerKinds() []ownerKind {
	return []ownerKind{
		keda(), aibrix(), kthena(cluster.KthenaPolicy), kthena(cluster.KthenaBinding),
		horizontalPodAutoscaler(), kubeai(),
	}
}

// listedKinds are those whose objects are apart from the workload, which is of this API group.
func listedKinds(group string) []ownerKind {
	return slices.DeleteFunc(ownerKinds(), func(k ownerKind) bool { return k.list == nil || !k.Scales(group) })
}

// ifInstalled lists the objects of a kind that a cluster need not have.
func ifInstalled(
	kind cluster.AutoscalerKind) func(context.Context, *kube.Reader, *workload,
) ([]unstructured.Unstructured, error) {
	return func(ctx context.Context, c *kube.Reader, w *workload) ([]unstructured.Unstructured, error) {
		return c.Installed(ctx, kind.Resource, kind.Kind, w.ref.Namespace)
	}
}

// ownerOf finds who owns the workload's replicas; nil when nobody does. That it cannot be known, or that several do,
// is an error.
func ownerOf(ctx context.Context, c *kube.Reader, w *workload) (*owner, error) {
	among := cluster.Candidates{}
	for _, kind := range listedKinds(w.resource.Group) {
		var err error
		if among[kind.Kind], err = kind.list(ctx, c, w); err != nil {
			return nil, err
		}
	}
	return onlyOwner(*w, among)
}

// onlyOwner is the one autoscaler of a workload among those of its namespace. An autoscaler that another one made is
// not turned: its maker would take the change back.
func onlyOwner(w workload, among cluster.Candidates) (*owner, error) {
	var all []cluster.Autoscaler
	orphan := ""
	for _, a := range cluster.AutoscalersOf(w.ref, w.object, among) {
		if a.Object == nil {
			orphan = fmt.Sprintf("%s %s was made by %s %s, which does not scale %s: fix that first", cluster.HPAKind,
				a.HPA, a.Kind, a.Name, w.ref)
			continue
		}
		all = append(all, a)
	}
	switch {
	case len(all) > 1:
		return nil, live.Refused("%s is scaled by several autoscalers (%s): keep only one of them",
			w.ref, autoscalerNames(all))
	case orphan != "":
		return nil, live.Refused("%s", orphan)
	case len(all) == 1:
		return asOwner(w, all[0])
	}
	return nil, nil
}

// asOwner adds what the kind of an autoscaler calls its limits. One that the bot does not change is refused, with the
// field for a person.
func asOwner(w workload, a cluster.Autoscaler) (*owner, error) {
	for _, kind := range ownerKinds() {
		switch {
		case kind.Kind != a.Kind:
		case kind.owner == nil:
			return nil, live.Refused("%s %s sets the replicas of %s and would revert the change: change %s there", a.Kind,
				a.Name, w.ref, cluster.MinimumFor(w.ref, a.Object))
		default:
			return kind.owner(a.Object), nil
		}
	}
	return nil, live.Refused("the replicas are set by %s %s, a kind that the bot does not adjust", a.Kind, a.Name)
}

func autoscalerNames(all []cluster.Autoscaler) string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.Kind + " " + a.Name
	}
	return strings.Join(out, ", ")
}
