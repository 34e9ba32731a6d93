package actions

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// OwnershipGuard is the name of the guardrail that says who owns a field.
const OwnershipGuard = ownershipGuard

// Needs are the rights that the knobs of a pool need in its mode, in the order in which they are used. A knob whose kind of workload it never changes needs
// none.
func (r *Registry) Needs(ctx context.Context, pool incident.Pool) ([]authorizationv1.ResourceAttributes, error) {
	rights, err := r.rights(ctx, pool, pool.Mode)
	if err != nil {
		return nil, err
	}
	out := make([]authorizationv1.ResourceAttributes, len(rights))
	for n, one := range rights {
		out[n] = one.attributes()
	}
	return out, nil
}

// Lacks asks the API server whether the bot lacks a right. One for an autoscaler that this cluster does not have is not lacking: where KEDA is not
// installed, there is nothing to list.
func (r *Registry) Lacks(ctx context.Context, what authorizationv1.ResourceAttributes) (bool, error) {
	may, err := r.cluster.may(ctx, rightOf(what))
	if err == nil && !may {
		may, err = r.cluster.lacksScaler(ctx, rightOf(what))
	}
	return !may, err
}

// Resource finds where the objects of a kind are. *incident.RefusedError says that this cluster has no such kind.
func (r *Registry) Resource(ctx context.Context, apiVersion, kind string) (schema.GroupVersionResource, error) {
	return r.cluster.resource(ctx, apiVersion, kind)
}

// RightText is a right as the refusals name it: `patch deployments.apps/scale "llama-70b" in namespace llm`.
func RightText(what authorizationv1.ResourceAttributes) string { return rightOf(what).String() }

func (r right) attributes() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: r.group, Resource: r.resource, Subresource: r.subresource, Namespace: r.namespace, Name: r.name,
	}
}

func rightOf(a authorizationv1.ResourceAttributes) right {
	return right{verb: a.Verb, group: a.Group, resource: a.Resource, subresource: a.Subresource, namespace: a.Namespace, name: a.Name}
}
