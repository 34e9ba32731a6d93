package actions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// managedFields says which fields of an object one client has set last.
type managedFields = metav1.ManagedFieldsEntry

// Labels and annotations by which GitOps tools mark what is theirs (argo-cd docs/user-guide/resource_tracking.md; fluxcd kustomize-controller and
// helm-controller docs/spec; Helm's own annotation).
const (
	argoTracking    = "argocd.argoproj.io/tracking-id"
	argoInstance    = "argocd.argoproj.io/instance"
	fluxKustomize   = "kustomize.toolkit.fluxcd.io/name"
	fluxReconcile   = "kustomize.toolkit.fluxcd.io/reconcile"
	fluxApply       = "kustomize.toolkit.fluxcd.io/ssa"
	fluxHelm        = "helm.toolkit.fluxcd.io/name"
	helmRelease     = "meta.helm.sh/release-name"
	fluxManager     = "kustomize-controller"
	fluxHelmManager = "helm-controller"
	argoManager     = "argocd-controller"
	ownershipGuard  = "ownership"
	ownershipNobody = "no operator or GitOps tool that owns the object was seen"
)

// ownership says who else keeps the field. An operator above the object, and Flux when it has set the field itself, are certain to take a change back, so
// they refuse; other GitOps tools may, so they are named.
func ownership(o *unstructured.Unstructured, path []string) incident.Guardrail {
	if c := controllerOf(o); c != nil {
		return deny(ownershipGuard, "%s %s belongs to %s %s, which would take the change back: the setting has to be changed there", o.GetKind(), o.GetName(), c.Kind, c.Name)
	}
	return gitOps(o, path)
}

// controllerOf is the operator's object above this one; the only owner counts as one too.
func controllerOf(o *unstructured.Unstructured) *metav1.OwnerReference {
	refs := o.GetOwnerReferences()
	for i := range refs {
		if refs[i].Controller != nil && *refs[i].Controller {
			return &refs[i]
		}
	}
	if len(refs) == 1 {
		return &refs[0]
	}
	return nil
}

func gitOps(o *unstructured.Unstructured, path []string) incident.Guardrail {
	labels, notes := o.GetLabels(), o.GetAnnotations()
	if name := labels[fluxKustomize]; name != "" {
		return flux(o, path, name)
	}
	argo, _, _ := strings.Cut(notes[argoTracking], ":")
	if argo = cmp.Or(argo, labels[argoInstance]); argo != "" {
		return pass(ownershipGuard, "Argo CD application %s manages it and may set it back, within seconds where self-heal is on", argo)
	}
	if name := labels[fluxHelm]; name != "" {
		return pass(ownershipGuard, "Flux HelmRelease %s manages it and may set it back", name)
	}
	if hasManager(o, argoManager) {
		return pass(ownershipGuard, "Argo CD has written it and may set it back")
	}
	if name := notes[helmRelease]; name != "" {
		return pass(ownershipGuard, "Helm release %s made it; its next upgrade may set it back", name)
	}
	return pass(ownershipGuard, ownershipNobody)
}

// flux knows when Flux leaves an object or its fields alone (kustomize-controller docs/spec/v1 kustomizations.md, "Controlling the apply behavior").
func flux(o *unstructured.Unstructured, path []string, name string) incident.Guardrail {
	mark := func(key string) string { return cmp.Or(o.GetAnnotations()[key], o.GetLabels()[key]) }
	switch {
	case strings.EqualFold(mark(fluxReconcile), "disabled"):
		return pass(ownershipGuard, "Flux Kustomization %s made it, and its reconciliation is disabled", name)
	case slices.ContainsFunc([]string{"IfNotPresent", "Ignore"}, func(s string) bool { return strings.EqualFold(mark(fluxApply), s) }):
		return pass(ownershipGuard, "Flux Kustomization %s made it and leaves it alone", name)
	case sets(o, fluxManager, path):
		return deny(ownershipGuard, "Flux Kustomization %s sets this field and would set it back at its next run: change it in Git, or take the field out of Git", name)
	}
	return pass(ownershipGuard, "Flux Kustomization %s manages the object; it has not set this field", name)
}

func hasManager(o *unstructured.Unstructured, name string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m managedFields) bool { return m.Manager == name })
}

// sets says whether a client has set a field, and nobody has changed it since.
func sets(o *unstructured.Unstructured, manager string, path []string) bool {
	return slices.ContainsFunc(o.GetManagedFields(), func(m managedFields) bool {
		return m.Manager == manager && m.FieldsV1 != nil && covers(m.FieldsV1.GetRawBytes(), path)
	})
}

// lastWriter is the client that has set a field last, with the time; the zero value when the API server does not say.
func lastWriter(o *unstructured.Unstructured, path []string) managedFields {
	var last managedFields
	for _, m := range o.GetManagedFields() {
		if m.FieldsV1 == nil || !covers(m.FieldsV1.GetRawBytes(), path) {
			continue
		}
		if last.Time == nil || m.Time != nil && !m.Time.Before(last.Time) {
			last = m
		}
	}
	return last
}

// covers says whether a set of fields (structured-merge-diff's JSON) has a path of it.
func covers(set []byte, path []string) bool {
	for _, part := range path {
		var level map[string]json.RawMessage
		if err := json.Unmarshal(set, &level); err != nil {
			return false
		}
		next, ok := level[part]
		if !ok {
			return false
		}
		set = next
	}
	return len(path) > 0
}

// lastChange is a sentence about who has set the field last.
func (l live) lastChange() string {
	who := lastWriter(l.object, l.path).Manager
	if who == "" {
		return ""
	}
	return fmt.Sprintf("It was set by %s.", who)
}
