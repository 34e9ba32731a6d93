package live

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Annotation carries the id of the bot's last write, on objects that can carry it.
const Annotation = incident.LastWriteAnnotation

// Setting is one field of one live object, with what its knob knows of it. All but Rollout are pure.
type Setting interface {
	Live() Field
	// Propose works out value, title, diff, cost, speed, risk, needs and the guardrails that only the knob knows.
	Propose(req incident.StepRequest) (incident.Step, error)
	// Admit refuses a value that must not be written now, whoever asked for it. It is not asked for an undo.
	Admit(to incident.Value) error
	// Change is the part of the patch that takes the field from its value to another.
	Change(to incident.Value) ([]Operation, error)
	// Rollout says how far the cluster has followed.
	Rollout(ctx context.Context, op incident.Op, want incident.Value) (incident.Rollout, error)
}

// Field is one field of one live object, as it was just read.
type Field struct {
	Target incident.Target
	Value  incident.Value
	// Resource and Subresource are where the field is written. Object is the whole object, Version its version when the
	// value was read.
	Resource    schema.GroupVersionResource
	Subresource string
	Object      *unstructured.Unstructured
	Version     string
	// Read takes the value out of the API server's answer to a write.
	Read func(*unstructured.Unstructured) (incident.Value, error)
	// Limits are those of the pool's configuration, beyond which a value is noted before it is replaced. A scale has none
	// here: it has no annotations to note a value in.
	Limits Limits
	// Path leads to the field in the object's managed fields; nil when it is not known, for the reason in Pathless.
	Path     []string
	Pathless string
	// ForOthers says that an operator made the object so that others set this field: it never takes a change back.
	ForOthers bool
	// Instead names an object that is made to be scaled in place of this one; empty when none was seen.
	Instead string
	// WhenAbsent is what the API server fills in when the field is taken away; empty when nothing.
	WhenAbsent string
	// Assumed is what an absent value is taken to mean by the setting AssumedBy, for a step from it; absent when no
	// setting says it.
	Assumed   incident.Value
	AssumedBy string
	// Broken says why the field cannot be written at all, not even to undo a step; Unread that it cannot even be read.
	Broken *incident.RefusedError
	Unread bool
	// Secrets must not be repeated from the API server's messages.
	Secrets []string
}

// Place is where the field is written.
func (f Field) Place() kube.Place {
	return kube.Place{
		Resource: f.Resource, Subresource: f.Subresource, Namespace: f.Target.Namespace, Name: f.Target.Name,
	}
}

// Holds says whether the field has the wanted value. A field that was taken away may hold what the API server fills in.
func (f Field) Holds(want incident.Value) bool {
	return f.Value == want || !want.Present && f.WhenAbsent != "" && f.Value == incident.Set(f.WhenAbsent)
}

// CheckAssumed answers *incident.DriftError when an absent value is taken to mean another one now than when the step
// was worked out.
func (f Field) CheckAssumed(step incident.Step) error {
	if !f.Assumed.Present || f.Assumed == step.Assumed {
		return nil
	}
	return &incident.DriftError{
		Target: step.Target,
		Why:    fmt.Sprintf("%s is %s now, and the step was worked out with %s", f.AssumedBy, f.Assumed, step.Assumed),
	}
}

// WrittenBy says whether the write with this id has set the present value. Where the object cannot carry the id, the
// bot's name as the field's manager says it: who changes a value takes its ownership away from everybody else.
func (f Field) WrittenBy(id string) bool {
	if f.Subresource == "" {
		return f.Carries(id)
	}
	return slices.ContainsFunc(f.Object.GetManagedFields(), func(m managedFields) bool {
		return m.Manager == incident.FieldManager && m.Subresource == f.Subresource && m.FieldsV1 != nil
	})
}

// Carries says whether the object carries the id of the write, whatever the field holds by now: the write took effect.
func (f Field) Carries(id string) bool {
	return f.Subresource == "" && f.Object.GetAnnotations()[Annotation] == id
}

// TargetOf is a field of an object: at says which field, the object everything else.
func TargetOf(o *unstructured.Unstructured, at incident.Target) incident.Target {
	at.APIVersion, at.Kind, at.UID = o.GetAPIVersion(), o.GetKind(), string(o.GetUID())
	at.Namespace, at.Name = o.GetNamespace(), o.GetName()
	return at
}

// Diff is the change of one field as a person reads it. An absent side has no line.
func Diff(t incident.Target, from, to string) string {
	out := "--- " + t.Object() + "\n+++ " + t.Object()
	if from != "" {
		out += "\n-" + from
	}
	if to != "" {
		out += "\n+" + to
	}
	return out
}
