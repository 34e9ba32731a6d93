package live

import (
	"cmp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// OwnershipGuard is the name of the guardrail that says who owns a field.
const OwnershipGuard = "ownership"

// Labels and annotations by which GitOps tools mark what is theirs (argo-cd docs/user-guide/resource_tracking.md;
// fluxcd kustomize-controller and helm-controller docs/spec; Helm's own annotation).
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
	writersGuard    = "other writers"
	ownershipNobody = "no operator or GitOps tool was found that owns the object"
)

// Ownership says who else keeps the field. An operator above the object, and Flux when it has set the field itself,
// are certain to take a change back, so they refuse; other GitOps tools may, which is a caution. of is where an
// operator would keep the setting.
func Ownership(f Field, of func(Operator) string) incident.Guardrail {
	o := f.Object
	c, several := cluster.OwnerAmong(o.GetOwnerReferences())
	switch {
	case f.ForOthers:
	case several:
		return Refuse(OwnershipGuard, "%s %s has %d owners and none of them is its controller: which of them would "+
			"revert the change is unknown",
			o.GetKind(), o.GetName(), len(o.GetOwnerReferences()))
	case c != nil:
		where := "the setting has to be changed there"
		if field := of(OperatorFields(c.APIVersion, c.Kind)); field != "" {
			where = "change " + field + " there"
		}
		if f.Instead != "" {
			where += ", or let the pool's workload be " + f.Instead + ", which is made to be scaled"
		}
		return Refuse(OwnershipGuard, "%s %s belongs to %s %s, which would revert the change: %s", o.GetKind(),
			o.GetName(), c.Kind, c.Name, where)
	}
	return gitOps(f)
}

func gitOps(f Field) incident.Guardrail {
	labels, notes := f.Object.GetLabels(), f.Object.GetAnnotations()
	if name := labels[fluxKustomize]; name != "" {
		return flux(f, name)
	}
	argo, _, _ := strings.Cut(notes[argoTracking], ":")
	if argo = cmp.Or(argo, labels[argoInstance]); argo != "" {
		return Caution(OwnershipGuard, "Argo CD application %s manages it and may revert it, within seconds where "+
			"self-heal is on", argo)
	}
	if name := labels[fluxHelm]; name != "" {
		return Caution(OwnershipGuard, "Flux HelmRelease %s manages it and may revert it", name)
	}
	if hasManager(f.Object, argoManager) {
		return Caution(OwnershipGuard, "Argo CD has written it and may revert it")
	}
	if name := notes[helmRelease]; name != "" {
		return helm(f, name)
	}
	if applier := applierOf(f); applier != "" {
		return Caution(OwnershipGuard, "server-side apply by %s sets this field: its next apply fails with a conflict "+
			"until the change is undone", applier)
	}
	// Neither begins with a command's name: where the reason is a sentence, its first letter becomes a capital.
	if inManifest(notes[lastApplied], f.Path) {
		return Caution(OwnershipGuard, "a manifest applied with kubectl sets this field; its next apply reverts it")
	}
	return Pass(OwnershipGuard, ownershipNobody)
}

// helm tells Helm 4, which applies on the server and meets a conflict, from Helm 3, which compares and sets back.
func helm(f Field, release string) incident.Guardrail {
	switch {
	case applierOf(f) != "":
		return Caution(OwnershipGuard, "Helm release %s applies this field server-side: its next upgrade fails with a "+
			"conflict until the change is undone", release)
	case f.Path != nil && slices.ContainsFunc(f.Object.GetManagedFields(), func(m managedFields) bool {
		return m.Operation == metav1.ManagedFieldsOperationApply && strings.HasPrefix(m.Manager, "helm")
	}):
		return Pass(OwnershipGuard, "Helm release %s made it; it has not set this field", release)
	}
	return Caution(OwnershipGuard, "Helm release %s made it; its next upgrade may revert it", release)
}

// applierOf is a client that applies the field on the server (kubectl apply --server-side, Helm 4). Once the bot has
// changed the value, such an apply meets a conflict.
func applierOf(f Field) string {
	for _, m := range f.Object.GetManagedFields() {
		if m.Operation == metav1.ManagedFieldsOperationApply && m.Manager != incident.FieldManager && m.FieldsV1 != nil &&
			hasPath(m.FieldsV1.GetRawBytes(), f.Path) {
			return m.Manager
		}
	}
	return ""
}

// flux knows when Flux leaves an object or its fields alone (kustomize-controller docs/spec/v1 kustomizations.md,
// "Controlling the apply behavior").
func flux(f Field, name string) incident.Guardrail {
	mark := func(key string) string { return cmp.Or(f.Object.GetAnnotations()[key], f.Object.GetLabels()[key]) }
	switch {
	case strings.EqualFold(mark(fluxReconcile), "disabled"):
		return Pass(OwnershipGuard, "Flux Kustomization %s made it, and its reconciliation is disabled", name)
	case slices.ContainsFunc([]string{"IfNotPresent", "Ignore"},
		func(s string) bool { return strings.EqualFold(mark(fluxApply), s) }):
		return Pass(OwnershipGuard, "Flux Kustomization %s made it and leaves it alone", name)
	case f.Path == nil:
		return Refuse(OwnershipGuard, "Flux Kustomization %s manages the object, and whether it sets this field is not "+
			"known: %s", name, f.Pathless)
	case sets(f.Object, fluxManager, f.Path):
		return Refuse(OwnershipGuard, "Flux Kustomization %s sets this field and reverts it at its next run: change it "+
			"in Git, or take the field out of Git", name)
	}
	return Pass(OwnershipGuard, "Flux Kustomization %s manages the object; it has not set this field", name)
}
