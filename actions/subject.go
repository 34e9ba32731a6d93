package actions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// subject is one field of one live object, as it was just read. All but rollout are pure.
type subject interface {
	live() live
	// propose works out value, title, diff, cost, speed, risk, needs and the guardrails that only the knob knows.
	propose(req incident.StepRequest) (incident.Step, error)
	// admit refuses a value that must not be written now, whoever asked for it. It is not asked for an undo.
	admit(to incident.Value) error
	// change is the part of the patch that takes the field from its value to another.
	change(to incident.Value) ([]operation, error)
	// rollout looks at how far the cluster has followed.
	rollout(ctx context.Context, op incident.Op, want incident.Value) (incident.Rollout, error)
}

// live is what every subject has.
type live struct {
	target incident.Target
	value  incident.Value
	// resource and subresource are where the field is written; object is the whole object, version its version when the value was read.
	resource    schema.GroupVersionResource
	subresource string
	object      *unstructured.Unstructured
	version     string
	// read takes the value out of the API server's answer to a write.
	read func(*unstructured.Unstructured) (incident.Value, error)
	// path leads to the field in the object's managed fields; nil when it is not known, for the reason in pathless.
	path     []string
	pathless string
	// instead names an object that is made to be scaled in place of this one; empty when none was seen.
	instead string
	// whenAbsent is what the API server fills in when the field is taken away; empty when nothing.
	whenAbsent string
	// assumed is what an absent value is taken to mean by the setting assumedBy, for a step from it; absent when no setting says it.
	assumed   incident.Value
	assumedBy string
	// broken says why the field cannot be written at all, not even to undo a step; unread that it cannot even be read.
	broken *incident.RefusedError
	unread bool
	// secrets must not be repeated from the API server's messages.
	secrets []string
}

// right is what a write of the field needs.
func (l live) right() right {
	return right{
		verb: "patch", group: l.resource.Group, resource: l.resource.Resource, subresource: l.subresource,
		namespace: l.target.Namespace, name: l.target.Name,
	}
}

// holds says whether the field has the wanted value. A field that was taken away may hold what the API server fills in.
func (l live) holds(want incident.Value) bool {
	return l.value == want || !want.Present && l.whenAbsent != "" && l.value == incident.Set(l.whenAbsent)
}

// assumes answers *incident.DriftError when an absent value is taken to mean another one now than when the step was worked out.
func (l live) assumes(step incident.Step) error {
	if !l.assumed.Present || l.assumed == step.Assumed {
		return nil
	}
	return &incident.DriftError{
		Target: step.Target,
		Why:    fmt.Sprintf("%s is %s now, and the step was worked out with %s", l.assumedBy, l.assumed, step.Assumed),
	}
}

// wrote says whether the bot wrote the value that stands now: under this id, or by its name where the object cannot carry the id. Who changes a
// value takes its ownership away from everybody else, so the bot's name stands only for its own value.
func (l live) wrote(id string) bool {
	if l.subresource == "" {
		return l.carries(id)
	}
	return slices.ContainsFunc(l.object.GetManagedFields(), func(m managedFields) bool {
		return m.Manager == Manager && m.Subresource == l.subresource && m.FieldsV1 != nil
	})
}

// operation is one operation of a JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// MarshalJSON leaves the value out where the operation has none.
func (o operation) MarshalJSON() ([]byte, error) {
	m := map[string]any{"op": o.Op, "path": o.Path}
	if o.Op != "remove" {
		m["value"] = o.Value
	}
	return json.Marshal(m)
}

// operations are the whole patch: it is the object with the value that was read, the new value, and the id of the write.
func operations(s subject, to incident.Value, id string) ([]operation, error) {
	now := s.live()
	change, err := s.change(to)
	if err != nil {
		return nil, err
	}
	out := []operation{{"test", "/metadata/uid", now.target.UID}}
	if !now.value.Present || now.subresource == "" && now.object.GetAnnotations() == nil {
		// A JSON Patch cannot test that something is absent, so the version stands for it. Elsewhere it would be too strict: the status of a
		// workload in trouble changes all the time, and an undo must not fail for that.
		out = append(out, operation{"test", "/metadata/resourceVersion", now.version})
	}
	out = append(out, change...)
	switch {
	case now.subresource != "": // the scale subresource has no annotations of its own
	case now.object.GetAnnotations() == nil:
		out = append(out, operation{"add", "/metadata/annotations", map[string]string{Annotation: id}})
	default:
		out = append(out, operation{"add", "/metadata/annotations/" + escape(Annotation), id})
	}
	return out, nil
}

// escape writes a key as a part of a JSON Pointer (RFC 6901).
func escape(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// targetOf is a field of an object: at says which field, the object everything else.
func targetOf(o *unstructured.Unstructured, at incident.Target) incident.Target {
	at.APIVersion, at.Kind, at.UID = o.GetAPIVersion(), o.GetKind(), string(o.GetUID())
	at.Namespace, at.Name = o.GetNamespace(), o.GetName()
	return at
}

// unified is the diff of one field as a person reads it. An absent side has no line.
func unified(t incident.Target, from, to string) string {
	out := "--- " + t.Object() + "\n+++ " + t.Object()
	if from != "" {
		out += "\n-" + from
	}
	if to != "" {
		out += "\n+" + to
	}
	return out
}
