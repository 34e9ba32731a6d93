package replicas

import (
	"context"
	"fmt"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// AutoscalerOf is what scales the workload of a pool and is an object of its own; zero where nothing does.
func AutoscalerOf(ctx context.Context, c *kube.Reader, pool incident.Pool) (none incident.AutoscalerRef, _ error) {
	w, err := readWorkload(ctx, c, pool.Workload)
	if err != nil {
		return none, err
	}
	of, err := ownerOf(ctx, c, &w)
	if err != nil || of == nil || of.is(w) {
		return none, err
	}
	return of.ref(), nil
}

// ref is the owner as a pool names it.
func (o *owner) ref() incident.AutoscalerRef {
	return incident.AutoscalerRef{Kind: o.object.GetKind(), Name: o.object.GetName()}
}

// is says that the owner is the workload itself.
func (o *owner) is(w workload) bool { return o.object.GetUID() == w.object.GetUID() }

// refuseUnnamed refuses to change an autoscaler that the pool does not name: the bot has the permission to change only
// the one that it does. A workload that scales itself is named.
func refuseUnnamed(pool incident.Pool, w workload, of *owner) *incident.RefusedError {
	found := of.ref()
	if found == pool.Autoscaler || of.is(w) {
		return nil
	}
	no := live.Refused("%s sets the replicas of %s, and pool %s doesn't name it", found, w.ref, pool.Name)
	if !pool.Autoscaler.IsZero() {
		no = live.Refused("%s sets the replicas of %s, and pool %s names %s", found, w.ref, pool.Name, pool.Autoscaler)
	}
	no.Hint = fmt.Sprintf("Add this line to pool %s, and apply what vllm-medic rbac prints then:\n%s", pool.Name,
		found.Setting())
	return no
}
