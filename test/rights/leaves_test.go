package rights

import (
	"reflect"
	"strings"
	"sync"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/leaves"
)

// On a real API server each leaf of each object is changed in turn with the bot's token and all rights there are: what
// is taken leaves the object as it was, but for the knob's own field. Most are refused by the policies; some by the API
// server itself, which allows nobody to change them.
func TestEachLeafOfARealObjectButTheKnobsOwnIsHeld(t *testing.T) {
	t.Parallel()
	g := guard(t)
	g.may(t)
	for _, tt := range []struct {
		r          schema.GroupVersionResource
		apiVersion string
		kind, name string
		spec       map[string]any
		own        string
		more       int
	}{
		{deployments, "apps/v1", "Deployment", "deployed", fullSpec(t, "Deployment"), boxOwn, 250},
		{sets, "apps/v1", "StatefulSet", "kept", fullSpec(t, "StatefulSet"), boxOwn, 250},
		{
			groups, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "grouped",
			map[string]any{
				"replicas": int64(2), "size": int64(4), "leaderWorkerTemplate": fullSpec(t, "Deployment")["template"],
			},
			"none", 300,
		},
		{
			hpas, "autoscaling/v2", "HorizontalPodAutoscaler", "deployed", fullSpec(t, "HorizontalPodAutoscaler"),
			"spec.minReplicas", 40,
		},
		{
			scaledObjs, "keda.sh/v1alpha1", "ScaledObject", "kept", fromDefinition(t, kubetest.ScaledObjects),
			"spec.minReplicaCount", 60,
		},
	} {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			was := g.create(t, tt.r, object(tt.apiVersion, tt.kind, tt.name, tt.spec))
			g.changeEach(t, tt.r, was, tt.own, tt.more)
		})
	}
}

const boxOwn = "spec.template.spec.containers.1.args.0"

func (g guarded) changeEach(
	t *testing.T, r schema.GroupVersionResource, was *unstructured.Unstructured, own string, more int,
) {
	t.Helper()
	d, err := dynamic.NewForConfig(g.rest())
	must(t, err)
	held, taken := 0, false
	var mu sync.Mutex
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for path, is := range leaves.Changes(was.Object) {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			got, err := d.Resource(r).Namespace(g.ns).Update(t.Context(), &unstructured.Unstructured{Object: is},
				metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil && path == own:
				taken = true
			case err == nil && !same(got, was):
				t.Errorf("%s is taken", path)
			case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy"):
				held++
			case path == own:
				t.Errorf("%s: %v", path, err)
			}
		})
	}
	all.Wait()
	if taken == (own == "none") || held < more {
		t.Errorf("the knob's own is taken: %v; %d changes were refused by policies, at least %d should be", taken, held, more)
	}
	t.Logf("%d changes were refused by policies", held)
}

// same says that an object is what it was, but for what the API server keeps up itself.
func same(a, b *unstructured.Unstructured) bool {
	bare := func(o *unstructured.Unstructured) map[string]any {
		o = o.DeepCopy()
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
		o.SetGeneration(0)
		return o.Object
	}
	return reflect.DeepEqual(bare(a), bare(b))
}

// fromDefinition is a spec with every field that the definition of a custom kind has.
func fromDefinition(t *testing.T, crd kubetest.CRD) map[string]any {
	t.Helper()
	var d map[string]any
	must(t, yaml.Unmarshal(kubetest.Definition(t, crd), &d))
	versions, _, err := unstructured.NestedSlice(d, "spec", "versions")
	must(t, err)
	schemaOf, _, err := unstructured.NestedMap(versions[0].(map[string]any), //nolint:forcetypeassert // a definition's
		"schema", "openAPIV3Schema", "properties", "spec")
	must(t, err)
	out := instance(schemaOf).(map[string]any) //nolint:forcetypeassert // a spec is an object
	out["maxReplicaCount"] = int64(9)
	return out
}

// instance has a value of a schema.
func instance(s map[string]any) any {
	if list, ok := s["enum"].([]any); ok {
		return list[0]
	}
	switch s["type"] {
	case "object":
		out := map[string]any{}
		properties, _ := s["properties"].(map[string]any)
		for name, p := range properties {
			out[name] = instance(p.(map[string]any)) //nolint:forcetypeassert // a schema
		}
		if more, ok := s["additionalProperties"].(map[string]any); ok {
			out["key"] = instance(more)
		}
		return out
	case "array":
		return []any{instance(s["items"].(map[string]any))} //nolint:forcetypeassert // a schema
	case "integer":
		return int64(5)
	case "number":
		return int64(5)
	case "boolean":
		return true
	}
	return "5"
}
