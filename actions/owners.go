package actions

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

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
	lastApplied     = "kubectl.kubernetes.io/last-applied-configuration"
	fluxManager     = "kustomize-controller"
	fluxHelmManager = "helm-controller"
	argoManager     = "argocd-controller"
	hpaManager      = "kube-controller-manager"
	ownershipGuard  = "ownership"
	writersGuard    = "other writers"
	ownershipNobody = "no operator or GitOps tool that owns the object was seen"
)

// madeToBeScaled are kinds that an operator makes so that others scale them; it follows their number and never writes it back (sigs.k8s.io/lws
// disaggregatedsetrolescaler_types.go; dynamo nvidia.com_dynamographdeploymentscalingadapters.yaml).
func madeToBeScaled() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: "disaggregatedset.x-k8s.io", Version: "v1", Kind: "DisaggregatedSetRoleScaler"},
		{Group: "nvidia.com", Version: "v1alpha1", Kind: "DynamoGraphDeploymentScalingAdapter"},
	}
}

func isMadeToBeScaled(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(madeToBeScaled(), func(k schema.GroupVersionKind) bool {
		return k.Kind == o.GetKind() && k.Group == cluster.Group(o.GetAPIVersion())
	})
}

// ownership says who else keeps the field. An operator above the object, and Flux when it has set the field itself, are certain to take a change back, so
// they refuse; other GitOps tools may, which is a caution. of is where an operator would keep the setting.
func ownership(l live, of keptField) incident.Guardrail {
	o := l.object
	c, several := cluster.OwnerAmong(o.GetOwnerReferences())
	switch {
	case isMadeToBeScaled(o) && l.subresource == "scale":
	case several:
		return deny(ownershipGuard, "%s %s has %d owners and none of them is its controller: which of them would take the change back is not known",
			o.GetKind(), o.GetName(), len(o.GetOwnerReferences()))
	case c != nil:
		where := "the setting has to be changed there"
		if field := of(keptBy(c.APIVersion, c.Kind)); field != "" {
			where = "change " + field + " there"
		}
		if l.instead != "" {
			where += ", or let the pool's workload be " + l.instead + ", which is made to be scaled"
		}
		return deny(ownershipGuard, "%s %s belongs to %s %s, which would take the change back: %s", o.GetKind(), o.GetName(), c.Kind, c.Name, where)
	}
	return gitOps(l)
}

func gitOps(l live) incident.Guardrail {
	labels, notes := l.object.GetLabels(), l.object.GetAnnotations()
	if name := labels[fluxKustomize]; name != "" {
		return flux(l, name)
	}
	argo, _, _ := strings.Cut(notes[argoTracking], ":")
	if argo = cmp.Or(argo, labels[argoInstance]); argo != "" {
		return caution(ownershipGuard, "Argo CD application %s manages it and may set it back, within seconds where self-heal is on", argo)
	}
	if name := labels[fluxHelm]; name != "" {
		return caution(ownershipGuard, "Flux HelmRelease %s manages it and may set it back", name)
	}
	if hasManager(l.object, argoManager) {
		return caution(ownershipGuard, "Argo CD has written it and may set it back")
	}
	if name := notes[helmRelease]; name != "" {
		return helm(l, name)
	}
	if applier := applierOf(l); applier != "" {
		return caution(ownershipGuard, "%s applies this field server-side: its next apply fails with a conflict until the change is undone", applier)
	}
	if inManifest(notes[lastApplied], l.path) {
		return caution(ownershipGuard, "kubectl apply has set this field from a manifest; the next apply of that manifest sets it back")
	}
	return pass(ownershipGuard, ownershipNobody)
}

// helm tells Helm 4, which applies on the server and meets a conflict, from Helm 3, which compares and sets back.
func helm(l live, release string) incident.Guardrail {
	switch {
	case applierOf(l) != "":
		return caution(ownershipGuard, "Helm release %s applies this field server-side: its next upgrade fails with a conflict until the change is undone", release)
	case l.path != nil && slices.ContainsFunc(l.object.GetManagedFields(), func(m managedFields) bool {
		return m.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(m.Manager, "helm")
	}):
		return pass(ownershipGuard, "Helm release %s made it; it has not set this field", release)
	}
	return caution(ownershipGuard, "Helm release %s made it; its next upgrade may set it back", release)
}

// applierOf is a client that applies the field on the server (kubectl apply --server-side, Helm 4). Once the bot has changed the value, such an apply
// meets a conflict.
func applierOf(l live) string {
	for _, m := range l.object.GetManagedFields() {
		if m.Operation == metav1.ManagedFieldsOperationApply && m.Manager != Manager && m.FieldsV1 != nil && covers(m.FieldsV1.GetRawBytes(), l.path) {
			return m.Manager
		}
	}
	return ""
}

// flux knows when Flux leaves an object or its fields alone (kustomize-controller docs/spec/v1 kustomizations.md, "Controlling the apply behavior").
func flux(l live, name string) incident.Guardrail {
	mark := func(key string) string { return cmp.Or(l.object.GetAnnotations()[key], l.object.GetLabels()[key]) }
	switch {
	case strings.EqualFold(mark(fluxReconcile), "disabled"):
		return pass(ownershipGuard, "Flux Kustomization %s made it, and its reconciliation is disabled", name)
	case slices.ContainsFunc([]string{"IfNotPresent", "Ignore"}, func(s string) bool { return strings.EqualFold(mark(fluxApply), s) }):
		return pass(ownershipGuard, "Flux Kustomization %s made it and leaves it alone", name)
	case l.path == nil:
		return deny(ownershipGuard, "Flux Kustomization %s manages the object, and whether it sets this field is not known: %s", name, l.pathless)
	case sets(l.object, fluxManager, l.path):
		return deny(ownershipGuard, "Flux Kustomization %s sets this field and would set it back at its next run: change it in Git, or take the field out of Git", name)
	}
	return pass(ownershipGuard, "Flux Kustomization %s manages the object; it has not set this field", name)
}
