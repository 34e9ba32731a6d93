package replicas

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Knob is the number of replicas: it is set by the scale of the workload, or by the minimum of the object that owns it.
type Knob struct{}

// Find finds what sets a workload's replicas: its scale subresource, or the minimum of the autoscaler that owns them.
// With a target it reads that one.
func (Knob) Find(
	ctx context.Context, c *kube.Reader, pool incident.Pool, at incident.Target,
) (live.Setting, error) {
	w, err := readWorkload(ctx, c, pool.Workload)
	if err != nil {
		return nil, err
	}
	if at.Name == "" {
		if err := w.checkScalable(); err != nil {
			return nil, err
		}
	}
	if err := w.readScale(ctx, c); err != nil {
		return nil, err
	}
	if at.Name == "" {
		w.group = podsOfOne(ctx, c, w)
	}
	owner, err := ownerOf(ctx, c, &w)
	var no *incident.RefusedError
	switch {
	case errors.As(err, &no) && at.Name != "":
		// The owner only matters for the warning below; the field that was written is there all the same.
		owner = nil
	case err != nil:
		return nil, err
	}
	if at.Name == "" && owner != nil {
		if no := refuseUnnamed(pool, w, owner); no != nil {
			return nil, no
		}
	}
	if at.Name == "" || owner != nil && at.Key() == live.TargetOf(owner.object, incident.Target{}).Key() {
		if owner != nil {
			return newOwnerMinimum(c, pool, w, *owner)
		}
		return newPlainScale(ctx, c, pool, w, at), nil
	}
	return findWritten(ctx, c, pool, w, owner, at)
}

// findWritten reads the field that a step has written, which is no longer the one that a new step would take.
func findWritten(
	ctx context.Context, c *kube.Reader, pool incident.Pool, w workload, owner *owner, at incident.Target,
) (live.Setting, error) {
	itself := at.Key() == live.TargetOf(w.object, incident.Target{}).Key()
	if itself && cluster.IsModel(w.object) && at.Subresource != incident.SubresourceScale {
		return newOwnerMinimum(c, pool, w, *model(w.object))
	}
	if itself {
		s := newPlainScale(ctx, c, pool, w, at)
		if owner != nil {
			s.broken = live.Refused("%s %s owns the replicas of %s now", owner.object.GetKind(), owner.object.GetName(), w.ref)
		}
		return s, nil
	}
	kinds := listedKinds(w.resource.Group)
	i := slices.IndexFunc(kinds, func(k ownerKind) bool { return k.Kind == at.Kind && k.owner != nil })
	if i < 0 {
		return nil, live.Refused("the pool's workload is %s now, and the step was made for %s", w.ref, at)
	}
	of, err := ownerAt(ctx, c, kinds[i], at)
	if err != nil {
		return nil, err
	}
	return newOwnerMinimum(c, pool, w, *of)
}

// ownerAt reads one autoscaler by its name. It lists, because that is the right which the bot has for autoscalers.
func ownerAt(ctx context.Context, c *kube.Reader, kind ownerKind, at incident.Target) (*owner, error) {
	all, err := c.List(ctx, kind.Resource, at.Namespace)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].GetName() == at.Name {
			return kind.owner(&all[i]), nil
		}
	}
	no := live.Refused("%s %s/%s does not exist", at.Kind, at.Namespace, at.Name)
	return nil, fmt.Errorf("%w: %w", kube.ErrGone, no)
}

// Needs are the rights on the workload's scale, and those on whatever may own it: to see all, and to change the one
// that the pool names.
func (Knob) Needs(ctx context.Context, c kube.Kinds, pool incident.Pool) ([]kube.Need, error) {
	w, err := c.Workload(ctx, pool.Workload)
	if err != nil {
		return nil, err
	}
	scale := w
	scale.Subresource = incident.SubresourceScale
	out := []kube.Right{w.Right("get"), scale.Right("get"), scale.Right("patch")}
	for _, kind := range listedKinds(w.Resource.Group) {
		out = append(out, kube.Place{Resource: kind.Resource, Namespace: pool.Workload.Namespace}.Right("list"))
	}
	for _, o := range writtenOwners(pool, w) {
		out = append(out, o.place.Right("patch"))
	}
	return kube.Required(out...), nil
}

// OwnerMissing says whether a right is for an autoscaler that this cluster does not have: where KEDA or AIBrix is not
// installed there is nothing to look for.
func OwnerMissing(ctx context.Context, c *kube.Reader, right kube.Right) (bool, error) {
	for _, kind := range ownerKinds() {
		if kind.list != nil && kind.Kind != cluster.HPAKind && right.Group == kind.Resource.Group &&
			right.Resource == kind.Resource.Resource {
			_, found, err := c.Kind(ctx, kind.Resource.GroupVersion().String(), kind.Kind)
			return err == nil && !found, err
		}
	}
	return false, nil
}

// addReplicas works out how many replicas a request leads to.
func addReplicas(now int64, req incident.StepRequest, l live.Limits) (int64, incident.Guardrail, error) {
	asked, err := live.Plus(now, req)
	if err != nil {
		return 0, incident.Guardrail{}, err
	}
	return l.Adjust(now, asked)
}

func poolLimits(pool incident.Pool) live.Limits { return live.LimitsOf(pool, incident.StepReplicas) }
