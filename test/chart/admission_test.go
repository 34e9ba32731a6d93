package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// policies are the specs of those that hold the bot to its limits, and of their bindings, by kind and name.
func policies(all []unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	for _, o := range all {
		if o.GroupVersionKind().Group == "admissionregistration.k8s.io" {
			out[o.GetKind()+" "+o.GetName()] = o.Object["spec"]
		}
	}
	return out
}

// The chart's templates take the conditions from the program, and the limits from a table of their own. The policies are
// those of vllm-medic rbac --admission.
func TestTheChartHoldsTheBotToWhatTheProgramSaysItWrites(t *testing.T) {
	t.Parallel()
	for name, text := range values() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const namespace = "medic"
			bare := strings.NewReplacer("rbac: {optional: false}\n", "").Replace(text)
			made := policies(rendered(t, namespace, bare))
			needed := policies(objects(t, rbac(t, namespace, bare, "--admission")))
			if diff := cmp.Diff(needed, made); diff != "" {
				t.Errorf("the chart (+) differs from vllm-medic rbac --admission (-):\n%s", diff)
			}
			if len(made) == 0 && !strings.Contains(text, "kubernetes: null") {
				t.Error("nothing holds the bot")
			}
		})
	}
}

// Policies are made where the API has them, and where somebody says so.
func TestTheChartMakesPoliciesWhereTheAPIHasThem(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{"auto": true, "true": true, "false": false} {
		if got := len(policies(rendered(t, "medic", "rbac: {admission: "+value+"}"))) > 0; got != want {
			t.Errorf("admission: %s makes policies: %v", value, got)
		}
	}
}
