package replicas

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// workload is a workload with its scale, as both were just read.
type workload struct {
	ref      incident.WorkloadRef
	resource schema.GroupVersionResource
	object   *unstructured.Unstructured
	scale    *unstructured.Unstructured
	replicas int64
	// path is where the kind keeps the replicas.
	path scalePath
	// group is how many pods one replica is now; 0 where that is not known, or is not the same for all.
	group int64
	// unlisted says why autoscalers of other namespaces could not be looked for; empty when they were.
	unlisted string
}

// readWorkload reads a workload, without its scale.
func readWorkload(ctx context.Context, c *kube.Reader, ref incident.WorkloadRef) (workload, error) {
	w := workload{ref: ref}
	if ref.IsZero() {
		return w, live.Refused("the pool names no workload")
	}
	var err error
	if w.resource, err = c.Resource(ctx, ref.APIVersion, ref.Kind); err != nil {
		return w, err
	}
	w.object, err = c.Get(ctx, w.resource, ref)
	return w, err
}

// readScale fills in the scale.
func (w *workload) readScale(ctx context.Context, c *kube.Reader) error {
	var err error
	if w.path, err = findScalePath(ctx, c, w.resource, w.object); err != nil {
		return err
	}
	if w.path.unset(w.object) {
		if cluster.ScalesItself(w.object) { // KubeAI has not started it
			return w.checkAwake()
		}
		return live.Refused("%s of %s is not set, so its scale cannot be read: set it once, to the number that runs",
			w.path, w.ref)
	}
	w.scale, err = c.Get(ctx, w.resource, w.ref, incident.SubresourceScale)
	switch {
	case errors.Is(err, kube.ErrGone), apierrors.IsMethodNotSupported(err):
		return refuseUnscalable(w.ref)
	case err != nil:
		return err
	}
	if w.replicas, err = cluster.ScaleReplicas(w.scale); err != nil {
		return live.Refused("the scale of %s cannot be read: %s", w.ref, err)
	}
	return nil
}

// refuseUnscalable refuses a kind without a scale subresource, with the field that its operator follows where it is
// known.
func refuseUnscalable(ref incident.WorkloadRef) *incident.RefusedError {
	no := live.Refused("%s has no scale subresource, so its replicas cannot be set safely", ref)
	if field := live.OperatorFields(ref.APIVersion, ref.Kind).Replicas; field != "" {
		no.Hint = fmt.Sprintf("Its operator follows %s: change it there.", field)
	}
	return no
}

// checkAwake refuses to scale a workload from nothing: somebody has put it to sleep, or an autoscaler has, and both
// must stay so.
func (w workload) checkAwake() error {
	if w.replicas == 0 {
		return live.NotNow("%s has 0 replicas: it is scaled to zero intentionally; scale it up manually", w.ref)
	}
	return nil
}

// checkScalable refuses workloads that have no number of replicas, or for which it means more than a number.
func (w workload) checkScalable() error {
	if w.ref.Kind == "DaemonSet" && w.resource.Group == "apps" {
		no := live.Refused("%s runs one pod on each of its nodes, so it has no number of replicas", w.ref)
		no.Hint = "Add a node that spec.template.spec.nodeSelector selects, or run vLLM in a Deployment."
		return no
	}
	if w.ref.Kind == "StormService" {
		return w.checkNotPooled()
	}
	return w.checkNotRanked()
}
