package cluster

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Autoscaler is an object that sets the replicas of a workload.
type Autoscaler struct {
	// Kind and Name are of the object that people change.
	Kind, Namespace, Name string
	// Object is that object. It is nil when a HorizontalPodAutoscaler of the workload names it as its maker, and it
	// does not itself aim at the workload.
	Object *unstructured.Unstructured
	// HPA is the name of the HorizontalPodAutoscaler that it is, or that it made; empty for none.
	HPA string
	// own is the minimum that the bot has set itself.
	own ownMinimum
}

// String is "ScaledObject llm/llama-70b".
func (a Autoscaler) String() string { return a.Kind + " " + a.Namespace + "/" + a.Name }

// Candidates are the autoscalers of a workload's namespace by their kind, whatever they aim at.
type Candidates map[string][]unstructured.Unstructured

// AutoscalersOf returns everything that sets the replicas of a workload. An autoscaler that KEDA or AIBrix made is only
// their product: its maker takes its place, and would revert a change of it. More than one is an error in the cluster;
// the caller decides what follows from it.
func AutoscalersOf(w incident.WorkloadRef, o *unstructured.Unstructured, among Candidates) []Autoscaler {
	var out []Autoscaler
	found := func(o *unstructured.Unstructured, hpa, field string) {
		out = append(out, Autoscaler{
			Kind: o.GetKind(), Namespace: w.Namespace, Name: o.GetName(), Object: o, HPA: hpa,
			own: minimumBy(o, field, Number(o, "spec", field)),
		})
	}
	for _, maker := range InstalledAutoscalers() {
		for _, o := range AimedAt(w, among[maker.Kind]) {
			found(&o, maker.hpaOf(&o), maker.Minimum)
		}
	}
	if ScalesItself(o) {
		found(o, "", HPA.Minimum)
	}
	for _, o := range AimedAt(w, among[HPAKind]) {
		kind, name := makerOf(&o)
		at := slices.IndexFunc(out, func(a Autoscaler) bool { return a.Kind == kind && a.Name == name })
		switch {
		case kind == "":
			found(&o, o.GetName(), HPA.Minimum)
		case at >= 0:
			out[at].HPA = o.GetName()
		default:
			out = append(out, Autoscaler{
				Kind: kind, Namespace: w.Namespace, Name: name, HPA: o.GetName(),
				own: minimumBy(&o, HPA.Minimum, Number(&o, "spec", HPA.Minimum)),
			})
		}
	}
	return out
}

// AimedAt keeps the autoscalers whose target is the workload. A target without kind or version is a Deployment of
// apps/v1 (KEDA's defaults); AIBrix' may name a namespace. The version of a target may be an older one of the same
// group.
func AimedAt(w incident.WorkloadRef, all []unstructured.Unstructured) []unstructured.Unstructured {
	var out []unstructured.Unstructured
	for _, o := range all {
		if _, aimed := aimAt(w, &o); aimed {
			out = append(out, o)
		}
	}
	return out
}

// MinimumFor is the field of an autoscaler for the least number of replicas of the workload; empty where it does not
// aim at the workload.
func MinimumFor(w incident.WorkloadRef, o *unstructured.Unstructured) string {
	t, _ := aimAt(w, o)
	return t.minimum
}

// aimAt is the target of an autoscaler that is the workload.
func aimAt(w incident.WorkloadRef, o *unstructured.Unstructured) (autoscalerTarget, bool) {
	for _, t := range targetsOf(w, o) {
		if t.name == w.Name && t.namespace == w.Namespace && t.kind == w.Kind && Group(t.apiVersion) == Group(w.APIVersion) {
			return t, true
		}
	}
	return autoscalerTarget{}, false
}

func targetsOf(w incident.WorkloadRef, o *unstructured.Unstructured) []autoscalerTarget {
	minimum := HPA.Minimum
	for _, kind := range InstalledAutoscalers() {
		switch {
		case kind.Kind != o.GetKind():
		case kind.targets != nil:
			return kind.targets(o)
		default:
			minimum = kind.Minimum
		}
	}
	named := func(field, missing string) string { return cmp.Or(Text(o, "spec", "scaleTargetRef", field), missing) }
	return []autoscalerTarget{{
		apiVersion: named("apiVersion", "apps/v1"), kind: named("kind", "Deployment"),
		namespace: named("namespace", w.Namespace), name: named("name", ""), minimum: "spec." + minimum,
	}}
}

// makerOf names the object that made an autoscaler; empty when none did.
func makerOf(hpa *unstructured.Unstructured) (kind, name string) {
	for _, o := range hpa.GetOwnerReferences() {
		for _, maker := range InstalledAutoscalers() {
			if o.Kind == maker.Kind && Group(o.APIVersion) == maker.Resource.Group {
				return o.Kind, o.Name
			}
		}
	}
	for _, maker := range InstalledAutoscalers() {
		if name := hpa.GetLabels()[maker.label]; maker.label != "" && name != "" {
			return maker.Kind, name
		}
	}
	return "", ""
}

// IsModel says whether an object is a Model of KubeAI.
func IsModel(o *unstructured.Unstructured) bool {
	return o.GetKind() == ModelKind && Group(o.GetAPIVersion()) == Models.Group
}

// ScalesItself says whether KubeAI keeps the replicas of the workload; what cannot be read counts as yes.
func ScalesItself(o *unstructured.Unstructured) bool {
	if !IsModel(o) {
		return false
	}
	disabled, _, err := unstructured.NestedBool(o.Object, "spec", "autoscalingDisabled")
	return err != nil || !disabled
}

// autoscalers finds what sets a workload's replicas. What the object itself says comes with the error too.
func (k *Reader) autoscalers(
	ctx context.Context,
	w incident.WorkloadRef,
	o *unstructured.Unstructured,
) ([]Autoscaler, error) {
	alone := AutoscalersOf(w, o, Candidates{})
	among := Candidates{}
	for _, maker := range InstalledAutoscalers() {
		if !maker.Scales(Group(w.APIVersion)) {
			continue
		}
		var err error
		among[maker.Kind], err = k.installed(ctx, maker.Resource.GroupVersion().String(), maker.Kind, w.Namespace)
		if err != nil {
			return alone, err
		}
	}
	var err error
	if among[HPAKind], err = listAll(ctx, k.dynamic.Resource(HPAs), HPAs.GroupResource(), w.Namespace); err != nil {
		return alone, err
	}
	return AutoscalersOf(w, o, among), nil
}

// autoscalerNames is how the autoscalers of a workload are shown; empty when there are none.
func autoscalerNames(all []Autoscaler) string {
	out := make([]string, len(all))
	for i, a := range all {
		out[i] = a.String()
	}
	return strings.Join(out, ", ")
}
