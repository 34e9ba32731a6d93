package replicas

import (
	"context"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scaleShape is a change of a scale.
func scaleShape() admission.Shape {
	return admission.Field{Path: []string{"replicas"}, Setting: incident.SettingReplicas}.Shape()
}

// shape is a change of the minimum of this kind.
func (k ownerKind) shape() admission.Shape {
	return admission.Field{Path: []string{k.Minimum}, Setting: k.Minimum, Filled: k.filled}.Shape()
}

// Shapes are those of a scale, and of the minimum of each kind of owner that the bot changes.
func (Knob) Shapes() []admission.Shape {
	out := []admission.Shape{scaleShape()}
	for _, k := range ownerKinds() {
		if k.owner != nil {
			out = append(out, k.shape())
		}
	}
	return out
}

// Leaves are the scale of the workload, and the minimum of what owns it.
func (Knob) Leaves(ctx context.Context, c kube.Kinds, pool incident.Pool) ([]admission.Leaf, error) {
	w, err := c.Workload(ctx, pool.Workload)
	if err != nil {
		return nil, err
	}
	l := poolLimits(pool)
	scale := w
	scale.Subresource = incident.SubresourceScale
	out := []admission.Leaf{{Place: scale, Shape: scaleShape(), Min: l.Min, Max: l.Max}}
	for _, o := range writtenOwners(pool, w) {
		out = append(out, admission.Leaf{Place: o.place, Shape: o.kind.shape(), Min: l.Min, Max: l.Max})
	}
	return out, nil
}

// writtenOwner is an object other than the workload's scale that the knob of a pool may write.
type writtenOwner struct {
	kind  ownerKind
	place kube.Place
}

// writtenOwners are the autoscaler that the pool names, and the workload where it is its own.
func writtenOwners(pool incident.Pool, w kube.Place) []writtenOwner {
	var out []writtenOwner
	for _, kind := range ownerKinds() {
		switch {
		case kind.owner == nil: // the bot refuses with the field that people change
		case kind.list != nil && kind.Kind == pool.Autoscaler.Kind:
			out = append(out, writtenOwner{kind, kube.Place{
				Resource: kind.Resource, Namespace: pool.Workload.Namespace, Name: pool.Autoscaler.Name,
			}})
		case kind.list == nil && kind.Kind == pool.Workload.Kind && kind.Resource.Group == w.Resource.Group:
			out = append(out, writtenOwner{kind, w})
		}
	}
	return out
}
