package replicas

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scaleField is the field that a scale subresource sets.
var scaleField = incident.Target{
	Field: "spec.replicas (scale)", Setting: incident.SettingReplicas, Subresource: incident.SubresourceScale,
}

// plainScale sets a workload's replicas through its scale subresource, of any kind that has one.
type plainScale struct {
	c    *kube.Reader
	pool incident.Pool
	workload
	broken *incident.RefusedError
	// instead is live's.
	instead string
}

// newPlainScale looks, for a new step on an object that an operator owns, for one that is made to be scaled in its
// place.
func newPlainScale(
	ctx context.Context, c *kube.Reader, pool incident.Pool, w workload, at incident.Target,
) *plainScale {
	s := &plainScale{c: c, pool: pool, workload: w}
	if owner, _ := cluster.OwnerAmong(w.object.GetOwnerReferences()); owner != nil && at.Name == "" &&
		!cluster.IsMadeToBeScaled(w.object) {
		s.instead = scalerBeside(ctx, c, w)
	}
	return s
}

// scalerBeside names the object that is made to be scaled in place of a workload: the one whose scale selects all of
// its pods. Dynamo has one for each component of a graph, and a DisaggregatedSet one for each role, all with the same
// owner. It only makes a refusal more useful, so what cannot be read is left out, and so are several that fit.
func scalerBeside(ctx context.Context, c *kube.Reader, w workload) string {
	pods := podsOf(ctx, c, w)
	if len(pods) == 0 {
		return ""
	}
	var fit []string
	for _, k := range cluster.MadeToBeScaled() {
		r, found, err := c.Kind(ctx, k.GroupVersion().String(), k.Kind)
		if err != nil || !found {
			continue
		}
		all, err := c.List(ctx, r, w.ref.Namespace)
		if err != nil {
			continue
		}
		for i := range all {
			if !slices.ContainsFunc(pods, func(pod unstructured.Unstructured) bool {
				return !cluster.ScalesPodWith(&all[i], pod.GetLabels())
			}) {
				fit = append(fit, k.Kind+" "+all[i].GetName())
			}
		}
	}
	if len(fit) != 1 {
		return ""
	}
	return fit[0]
}

// podsOf are the pods that a workload's scale selects; none when they cannot be read.
func podsOf(ctx context.Context, c *kube.Reader, w workload) []unstructured.Unstructured {
	selector := cluster.Text(w.scale, "status", "selector")
	if selector == "" {
		return nil
	}
	pods, err := c.Select(ctx, podResource, w.ref.Namespace, selector)
	if err != nil {
		return nil
	}
	return pods
}

func (s *plainScale) Live() live.Field {
	return live.Field{
		Target: live.TargetOf(s.object, scaleField), Value: live.Int(s.replicas), Object: s.object,
		Resource: s.resource, Subresource: incident.SubresourceScale, ForOthers: cluster.IsMadeToBeScaled(s.object),
		Version: s.scale.GetResourceVersion(), Path: s.path.fields, Pathless: s.path.unknown,
		Instead: s.instead, Broken: s.broken,
		Read: func(o *unstructured.Unstructured) (incident.Value, error) {
			n, err := cluster.ScaleReplicas(o)
			return live.Int(n), err
		},
	}
}

func (s *plainScale) Propose(req incident.StepRequest) (incident.Step, error) {
	if err := s.checkAwake(); err != nil {
		return incident.Step{}, err
	}
	to, bounds, err := addReplicas(s.replicas, req, poolLimits(s.pool))
	if err != nil {
		return incident.Step{}, err
	}
	return incident.Step{
		To:    live.Int(to),
		Title: fmt.Sprintf("Scale %s from %d to %d replicas", s.ref.Name, s.replicas, to),
		Diff: live.Diff(s.Live().Target, fmt.Sprintf("spec.replicas: %d", s.replicas),
			fmt.Sprintf("spec.replicas: %d", to)),
		Cost:  fmt.Sprintf("Needs free GPUs for %s.", s.more(to-s.replicas)),
		Speed: scaleSpeed,
		Risk:  scaleRisk,
		Guardrails: slices.Concat([]incident.Guardrail{bounds, live.Ownership(s.Live(), live.ReplicasField)},
			s.cautionUnlisted(), s.cautionUndo(to)),
		Worked: poolLimits(s.pool).Worked(s.replicas, to),
	}, nil
}

// cautionUndo says that the API server may refuse the way back. An admission policy lets values beyond the limits pass
// only as far as the object itself notes them (live.UndoNote), and a scale has no annotations: a write below the
// minimum can't be told from that of a thief.
func (s *plainScale) cautionUndo(to int64) []incident.Guardrail {
	least := poolLimits(s.pool).Min
	if s.replicas >= least {
		return nil
	}
	return []incident.Guardrail{live.Caution("rollback", "the rollback to %d is below the pool's minimum of %d: where "+
		"the admission policies are in force they refuse it, and %d stays until someone scales it", s.replicas, least, to)}
}

const (
	scaleSpeed = "Takes minutes (model loading)."
	scaleRisk  = "Caches start cold."
)

func (s *plainScale) Admit(to incident.Value) error {
	n, err := live.Whole(to)
	if err != nil {
		return err
	}
	if err := s.checkAwake(); err != nil {
		return err
	}
	if g := live.Ownership(s.Live(), live.ReplicasField); g.Verdict == incident.GuardRefuse {
		return live.Refused("%s", g.Reason)
	}
	return poolLimits(s.pool).Check(n)
}

func (s *plainScale) Change(to incident.Value) ([]live.Operation, error) {
	n, err := live.Whole(to)
	if err != nil {
		return nil, err
	}
	return []live.Operation{live.Test("/spec/replicas", s.replicas), live.Replace("/spec/replicas", n)}, nil
}

func (s *plainScale) Rollout(ctx context.Context, _ incident.Op, want incident.Value) (incident.Rollout, error) {
	n, err := live.Whole(want)
	if err != nil {
		return incident.Rollout{}, err
	}
	return s.rollout(ctx, s.c, n)
}
