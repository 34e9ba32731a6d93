package actions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// field is one live field of one live object, with how it is written.
type field struct {
	resource    schema.GroupVersionResource
	subresource string
	object      *unstructured.Unstructured
	target      incident.Target
	value       incident.Value
	ownership   incident.Guardrail
	// set returns the patch that takes the field from its value to another, without the tests of the object.
	set func(to incident.Value) ([]patchOp, error)
	// extra is what a knob found out on the way and needs to describe the step.
	extra map[string]string
}

// patchOp is one operation of a JSON Patch (RFC 6902).
type patchOp struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// ops are the whole patch: the object is the same one, the value is the one that was read, the new value, and the mark of the write.
func (f field) ops(to incident.Value, writeID string) ([]patchOp, error) {
	set, err := f.set(to)
	if err != nil {
		return nil, err
	}
	out := []patchOp{{"test", "/metadata/uid", string(f.object.GetUID())}}
	if !f.value.Present || (f.carriesMark() && f.object.GetAnnotations() == nil) {
		// Absence cannot be tested safely in a JSON Patch, so the version that was read stands for it.
		out = append(out, patchOp{"test", "/metadata/resourceVersion", f.object.GetResourceVersion()})
	}
	out = append(out, set...)
	if !f.carriesMark() || writeID == "" {
		return out, nil
	}
	if f.object.GetAnnotations() == nil {
		return append(out, patchOp{"add", "/metadata/annotations", map[string]string{Annotation: writeID}}), nil
	}
	return append(out, patchOp{"add", "/metadata/annotations/" + escape(Annotation), writeID}), nil
}

// carriesMark says whether the object can carry the annotation; the scale subresource cannot.
func (f field) carriesMark() bool { return f.subresource == "" }

// ours says whether the bot wrote the value that stands now: by the id of the write, or by the field manager where no mark can be carried.
func (f field) ours(writeID string) bool {
	if f.carriesMark() {
		return f.object.GetAnnotations()[Annotation] == writeID
	}
	for _, m := range f.object.GetManagedFields() {
		if m.Manager == Manager && m.Subresource == f.subresource && m.FieldsV1 != nil && strings.Contains(string(m.FieldsV1.GetRawBytes()), `"f:replicas"`) {
			return true
		}
	}
	return false
}

// right names what the bot needs, as "kubectl auth can-i" takes it.
func (f field) right() string {
	resource := f.resource.Resource
	if f.resource.Group != "" {
		resource += "." + f.resource.Group
	}
	if f.subresource != "" {
		resource += "/" + f.subresource
	}
	return fmt.Sprintf("patch %s -n %s", resource, f.object.GetNamespace())
}

// escape writes a key as a part of a JSON Pointer (RFC 6901).
func escape(key string) string {
	return strings.ReplaceAll(strings.ReplaceAll(key, "~", "~0"), "/", "~1")
}

// targetOf names a field of an object.
func targetOf(o *unstructured.Unstructured, name string) incident.Target {
	return incident.Target{
		APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID()), Field: name,
	}
}
