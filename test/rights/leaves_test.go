package rights

import (
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/leaves"
	"github.com/vllm-medic/vllm-medic/test/size"
)

var update = flag.Bool("update", false, "write what no policy had to refuse into testdata")

// fullKind is a kind whose objects a knob of guard's pools writes.
type fullKind struct {
	r                      schema.GroupVersionResource
	apiVersion, kind, name string
	// part is that of its pod.
	part string
	// own is the change of the knob's own field; empty where the knob's field is in another object.
	own string
}

func fullKinds() []fullKind {
	const flag = "spec.template.spec.containers.1.args.0"
	return []fullKind{
		{deployments, "apps/v1", "Deployment", "deployed", podItself, flag},
		{deployments, "apps/v1", "Deployment", "boxes", inBoxes, flag},
		{deployments, "apps/v1", "Deployment", "volumes", inVolumes, flag},
		{sets, "apps/v1", "StatefulSet", "kept", noPart, flag}, // the template is that of a Deployment
		{groups, "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "grouped", "", ""},
		{hpas, "autoscaling/v2", "HorizontalPodAutoscaler", "deployed", "", "spec.minReplicas"},
		{scaledObjs, "keda.sh/v1alpha1", "ScaledObject", "kept", "", "spec.minReplicaCount"},
	}
}

// spec is a full one: from the type of the API server's own kinds, and from the definition of others.
func (k fullKind) spec(t *testing.T) map[string]any {
	t.Helper()
	switch k.kind {
	case "ScaledObject":
		out := fromDefinition(t, kubetest.ScaledObjects)
		out["maxReplicaCount"] = int64(9)
		return out
	case "LeaderWorkerSet":
		out := fromDefinition(t, kubetest.LeaderWorkerSets)
		out["leaderWorkerTemplate"] = map[string]any{"workerTemplate": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "vllm", "image": image, "args": []any{"--max-num-batched-tokens=8192"}}},
		}}}
		return out
	}
	if k.part == wholePod {
		return fullSpec(t, k.kind)
	}
	return part(t, fullSpec(t, k.kind), k.part)
}

// On a real API server each leaf of each object is changed in turn with the bot's token and all rights there are. Every
// change is accounted for: policies refuse it, or it is the knob's own, or testdata/leaves lists what became of it.
// Those are what the API server takes from nobody, because the object would be invalid, and what it drops without a
// change. Whether a policy would refuse an invalid object as well is for actions/admission, where the same changes are
// held against the policies alone, and for TestAStolenTokenChangesNothingButTheKnobsWithinTheirLimits, whose attacks
// are valid.
func TestEachLeafOfARealObjectButTheKnobsOwnIsHeld(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	g := guard(t)
	g.may(t)
	for _, k := range fullKinds() {
		t.Run(k.kind+k.part, func(t *testing.T) {
			t.Parallel()
			was := g.create(t, k.r, object(k.apiVersion, k.kind, k.name, k.spec(t)))
			was.SetManagedFields(nil) // see TestWhoHasSetWhichFieldIsAllThatAThiefMayChange
			g.changeEach(t, k.r, "", was, k.own, k.kind+"-"+k.name)
		})
	}
}

// The same of a scale, whose only field is the knob's own.
func TestEachLeafOfARealScaleButTheReplicasIsHeld(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	g := guard(t)
	g.may(t)
	g.create(t, deployments, object("apps/v1", "Deployment", "deployed", part(t, fullSpec(t, "Deployment"), noPart)))
	was, err := g.c.Dynamic(t).Resource(deployments).Namespace(g.ns).Get(t.Context(), "deployed", metav1.GetOptions{},
		incident.SubresourceScale)
	must(t, err)
	g.changeEach(t, deployments, incident.SubresourceScale, was, "spec.replicas", "Scale")
}

// changeEach compares what became of each change but the own one, and those that policies refuse, with testdata.
func (g guarded) changeEach(
	t *testing.T, r schema.GroupVersionResource, sub string, was *unstructured.Unstructured, own, file string,
) {
	t.Helper()
	d, err := dynamic.NewForConfig(g.rest())
	must(t, err)
	changes := leaves.Changes(was.Object)
	if of := typeOf(was.GetKind()); of != nil {
		maps.DeleteFunc(changes, func(path string, _ map[string]any) bool {
			to, adds := strings.CutPrefix(path, "add to ")
			return adds && !leaves.Takes(of, to)
		})
	}
	if _, is := changes[own]; !is && own != "" {
		t.Fatalf("%s is no leaf", own)
	}
	var subs []string
	if sub != "" {
		subs = []string{sub}
	}
	held, others := 0, []string{}
	var mu sync.Mutex
	var all sync.WaitGroup
	places := make(chan struct{}, 8)
	for path, is := range changes {
		places <- struct{}{}
		all.Go(func() {
			defer func() { <-places }()
			got, err := d.Resource(r).Namespace(g.ns).Update(t.Context(), &unstructured.Unstructured{Object: is},
				metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationIgnore}, subs...)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case path == own:
				if err != nil || same(got, was) {
					t.Errorf("the knob's own, %s, is not taken: %v", path, err)
				}
			case err == nil && !same(got, was):
				t.Errorf("%s is taken", path)
			case err == nil:
				others = append(others, path+": changes nothing")
			case apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy '"+g.ns+"-bot-"):
				held++
			default:
				others = append(others, path+": "+refusedByServer(t, path, err))
			}
		})
	}
	all.Wait()
	t.Logf("%d changes: %d were refused by policies, %d are listed", len(changes), held, len(others))
	listed(t, filepath.Join("testdata", "leaves", file+".txt"), others)
}

// refusedByServer is why the API server takes a change from nobody: the reason, and the fields that would be invalid. A
// change of which object it is has other answers: there is no such object, or the client itself has no name to send.
func refusedByServer(t *testing.T, path string, err error) string {
	t.Helper()
	var status apierrors.APIStatus
	switch {
	case path == "take metadata" || path == "take metadata.name":
		return "names no object"
	case path == "metadata.resourceVersion":
		return "is no version"
	case !errors.As(err, &status):
		t.Errorf("%s: no answer of the API server: %v", path, err)
		return ""
	}
	said := status.Status()
	switch said.Reason {
	case metav1.StatusReasonInvalid, metav1.StatusReasonBadRequest, metav1.StatusReasonConflict:
	case metav1.StatusReasonNotFound:
		if path != "metadata.name" {
			t.Errorf("%s: %v", path, err)
		}
	default:
		t.Errorf("%s is refused by something else: %v", path, err)
	}
	var of []string
	if said.Details != nil {
		for _, c := range said.Details.Causes {
			of = append(of, c.Field)
		}
	}
	slices.Sort(of)
	return strings.TrimSpace(string(said.Reason) + " " + strings.Join(slices.Compact(of), " "))
}

// listed compares lines with those of a file, in their order.
func listed(t *testing.T, file string, lines []string) {
	t.Helper()
	slices.Sort(lines)
	got := strings.Join(lines, "\n") + "\n"
	if *update {
		must(t, os.MkdirAll(filepath.Dir(file), 0o755))
		must(t, os.WriteFile(file, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got); write it with -update:\n%s", file, d)
	}
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
	return instance(schemaOf).(map[string]any) //nolint:forcetypeassert // a spec is an object
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
