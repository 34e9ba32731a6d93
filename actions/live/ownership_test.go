package live

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestOwnershipNamesWhoElseKeepsAField(t *testing.T) {
	t.Parallel()
	path := []string{"f:spec", "f:replicas"}
	yes := true
	managed := func(manager, fields string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) {
			o.SetManagedFields(append(o.GetManagedFields(), metav1.ManagedFieldsEntry{
				Manager: manager, Operation: "Apply",
				APIVersion: "apps/v1", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(fields),
			}))
		}
	}
	label := func(k, v string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{k: v}) }
	}
	note := func(k, v string) func(*unstructured.Unstructured) {
		return func(o *unstructured.Unstructured) { o.SetAnnotations(map[string]string{k: v}) }
	}
	kustomize := label("kustomize.toolkit.fluxcd.io/name", "models")
	const replicas = `{"f:spec":{"f:replicas":{}}}`
	for _, tt := range []struct {
		name    string
		with    []func(*unstructured.Unstructured)
		verdict incident.GuardVerdict
		want    string
	}{
		{"nobody", nil, "pass", "no operator or GitOps tool"},
		{"an operator", []func(*unstructured.Unstructured){func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{
				{Kind: "Team", Name: "x"},
				{Kind: "VLLMRuntime", Name: "y", Controller: &yes},
			})
		}}, "refuse", "belongs to VLLMRuntime y"},
		{"the only owner", []func(*unstructured.Unstructured){func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Team", Name: "x"}})
		}}, "refuse", "belongs to Team x"},
		{"several owners, none in charge", []func(*unstructured.Unstructured){func(o *unstructured.Unstructured) {
			o.SetOwnerReferences([]metav1.OwnerReference{{Kind: "Team", Name: "x"}, {Kind: "Team", Name: "y"}})
		}}, "refuse", "has 2 owners and none of them is its controller"},
		{"Argo CD by annotation", []func(*unstructured.Unstructured){note("argocd.argoproj.io/tracking-id",
			"models:apps/Deployment:a/b")}, "caution", "Argo CD application models manages it"},
		{
			"Argo CD by label",
			[]func(*unstructured.Unstructured){label("argocd.argoproj.io/instance", "models")},
			"caution",
			"Argo CD application models manages it",
		},
		{
			"Argo CD by manager",
			[]func(*unstructured.Unstructured){managed("argocd-controller", `{}`)},
			"caution",
			"Argo CD has written it",
		},
		{"Flux, the field is its own", []func(*unstructured.Unstructured){
			kustomize,
			managed("kustomize-controller", replicas),
		}, "refuse", "Flux Kustomization models sets this field"},
		{"Flux, the field is shared", []func(*unstructured.Unstructured){
			kustomize,
			managed("kustomize-controller", replicas), managed("kubectl", replicas),
		}, "refuse", "sets this field"},
		{"Flux, another field", []func(*unstructured.Unstructured){
			kustomize,
			managed("kustomize-controller", `{"f:spec":{"f:template":{}}}`),
		}, "pass", "it has not set this field"},
		{
			"Flux, unreadable fields",
			[]func(*unstructured.Unstructured){kustomize, managed("kustomize-controller", `[]`)},
			"pass", "it has not set this field",
		},
		{"Flux, disabled", []func(*unstructured.Unstructured){
			kustomize, managed("kustomize-controller", replicas),
			note("kustomize.toolkit.fluxcd.io/reconcile", "Disabled"),
		}, "pass", "reconciliation is disabled"},
		{"Flux, ignored", []func(*unstructured.Unstructured){
			kustomize, managed("kustomize-controller", replicas),
			note("kustomize.toolkit.fluxcd.io/ssa", "IfNotPresent"),
		}, "pass", "leaves it alone"},
		{
			"Flux Helm",
			[]func(*unstructured.Unstructured){label("helm.toolkit.fluxcd.io/name", "models")},
			"caution",
			"Flux HelmRelease models",
		},
		{
			"Helm",
			[]func(*unstructured.Unstructured){note("meta.helm.sh/release-name", "models")},
			"caution",
			"Helm release models made it",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := deployment()
			for _, f := range tt.with {
				f(o)
			}
			if g := Ownership(Field{Object: o, Path: path}, ReplicasField); g.Name != "ownership" || g.Verdict != tt.verdict ||
				!strings.Contains(g.Reason, tt.want) {
				t.Errorf("%+v, want %s, %q", g, tt.verdict, tt.want)
			}
		})
	}
}

func FuzzHasPathReadsAnySetOfFields(f *testing.F) {
	f.Add([]byte(`{"f:spec":{"f:replicas":{}}}`))
	f.Add([]byte(`{"f:spec":null}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, set []byte) {
		if hasPath(set, nil) {
			t.Error("no path at all is covered")
		}
		if hasPath(set, []string{"f:spec", "f:replicas"}) && !hasPath(set, []string{"f:spec"}) {
			t.Error("a field without its parent")
		}
	})
}

func deployment() *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
	o.SetName("x")
	return o
}
