package actions

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// gitOps says who else may take a change of the object back. It warns and does not refuse: whether the tool heals by itself cannot be seen on
// the object. Sources: Argo CD's tracking annotation, Flux' kustomize and helm labels.
func gitOps(o *unstructured.Unstructured) incident.Guardrail {
	g := incident.Guardrail{Name: "ownership", Verdict: incident.GuardPass, Reason: "no other owner was seen"}
	if id, ok := o.GetAnnotations()["argocd.argoproj.io/tracking-id"]; ok {
		app, _, _ := strings.Cut(id, ":")
		g.Reason = fmt.Sprintf("managed by Argo CD application %s, which may take the change back", app)
		return g
	}
	for _, kind := range []string{"kustomize", "helm"} {
		if name, ok := o.GetLabels()[kind+".toolkit.fluxcd.io/name"]; ok {
			g.Reason = fmt.Sprintf("managed by Flux (%s %s), which may take the change back", kind, name)
			return g
		}
	}
	for _, ref := range o.GetOwnerReferences() {
		if ref.Controller != nil && *ref.Controller {
			g.Verdict = incident.GuardRefuse
			g.Reason = fmt.Sprintf("%s %s belongs to %s %s, whose controller would take the change back; name that one in the pool", o.GetKind(), o.GetName(), ref.Kind, ref.Name)
			return g
		}
	}
	return g
}
