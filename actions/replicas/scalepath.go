package replicas

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// scalePath is where a kind keeps the number of replicas that its scale subresource sets.
type scalePath struct {
	// fields lead to it in the managed fields of an object; nil when it is not known, for the reason in unknown.
	fields  []string
	unknown string
}

// String is "spec.replicas".
func (p scalePath) String() string { return strings.Join(p.names(), ".") }

// names are the fields without the marks of managed fields.
func (p scalePath) names() []string {
	out := make([]string, len(p.fields))
	for i, f := range p.fields {
		out[i] = strings.TrimPrefix(f, "f:")
	}
	return out
}

// unset says that the object certainly has no number there. Most kinds take that for one replica, and the API server
// cannot read their scale then.
func (p scalePath) unset(o *unstructured.Unstructured) bool {
	if p.fields == nil {
		return false
	}
	_, found, err := unstructured.NestedFieldNoCopy(o.Object, p.names()...)
	return err == nil && !found
}

// definitions are the definitions of custom kinds.
var definitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1",
	Resource: "customresourcedefinitions",
}

// plainKinds keep their replicas in spec.replicas, as their projects document them.
func plainKinds() []schema.GroupResource {
	return []schema.GroupResource{
		{Group: "leaderworkerset.x-k8s.io", Resource: "leaderworkersets"},
		{Group: "disaggregatedset.x-k8s.io", Resource: "disaggregatedsetrolescalers"},
		{Group: "orchestration.aibrix.ai", Resource: "stormservices"},
		cluster.Models.GroupResource(),
		{Group: "nvidia.com", Resource: "dynamographdeploymentscalingadapters"},
		{Group: "argoproj.io", Resource: "rollouts"},
		{Group: "workload.serving.volcano.sh", Resource: "modelservings"},
	}
}

// findScalePath finds it out: Kubernetes' own kinds and some others have one place, who has scaled the object before
// has left it in the managed fields, and else the kind's definition says it. The right to read that one is not needed
// for anything else, so without it the path is not known.
func findScalePath(
	ctx context.Context, c *kube.Reader, r schema.GroupVersionResource, o *unstructured.Unstructured,
) (scalePath, error) {
	if r.Group == "apps" || slices.Contains(plainKinds(), r.GroupResource()) {
		return scalePath{fields: []string{"f:spec", "f:replicas"}}, nil
	}
	if fields := scaledField(o); fields != nil {
		return scalePath{fields: fields}, nil
	}
	name := r.Resource + "." + r.Group
	crd, err := c.Get(ctx, definitions, incident.WorkloadRef{Kind: "CustomResourceDefinition", Name: name})
	no, refused := errors.AsType[*incident.RefusedError](err)
	switch {
	case errors.Is(err, kube.ErrGone):
		return scalePath{unknown: "there is no definition " + name}, nil
	case refused && no.Cause == incident.CauseRight:
		return scalePath{unknown: no.Reason}, nil
	case err != nil:
		return scalePath{}, err
	}
	if fields := definedField(crd, r.Version); fields != nil {
		return scalePath{fields: fields}, nil
	}
	return scalePath{unknown: "the definition " + name + " does not say it"}, nil
}

// scaledField is the one field that an earlier change through the scale subresource has set. The API server
// translates it to the object's own field.
func scaledField(o *unstructured.Unstructured) []string {
	for _, m := range o.GetManagedFields() {
		if m.Subresource != "scale" || m.FieldsV1 == nil {
			continue
		}
		if leaf := onlyLeaf(m.FieldsV1.GetRawBytes()); leaf != nil {
			return leaf
		}
	}
	return nil
}

// onlyLeaf is the path of a set of fields that has a single one; nil for any other.
func onlyLeaf(set []byte) []string {
	var out []string
	for {
		var level map[string]json.RawMessage
		if err := json.Unmarshal(set, &level); err != nil || len(level) > 1 {
			return nil
		}
		if len(level) == 0 {
			return out
		}
		for name, below := range level {
			if !strings.HasPrefix(name, "f:") {
				return nil
			}
			out, set = append(out, name), below
		}
	}
}

// definedField is specReplicasPath of a version of a custom kind, which is a plain path below .spec.
func definedField(crd *unstructured.Unstructured, version string) []string {
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		return nil
	}
	for _, v := range versions {
		m, ok := v.(map[string]any)
		if !ok || m["name"] != version {
			continue
		}
		path, _, err := unstructured.NestedString(m, "subresources", "scale", "specReplicasPath")
		if err != nil || !strings.HasPrefix(path, ".spec.") || strings.ContainsAny(path, "[]'\"") {
			return nil
		}
		var out []string
		for name := range strings.SplitSeq(strings.TrimPrefix(path, "."), ".") {
			out = append(out, "f:"+name)
		}
		return out
	}
	return nil
}
