package chart

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/test/helm"
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

// The chart's templates take the conditions from the program, and the limits from a table of their own. The policies
// are those of vllm-medic rbac --admission.
func TestTheChartHoldsTheBotToWhatTheProgramSaysItWrites(t *testing.T) {
	t.Parallel()
	for name, text := range values() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const namespace = "medic"
			// Helm knows of no cluster here, so it would make none.
			bare := strings.NewReplacer("rbac: {optional: false}\n", "").Replace(text)
			if on := strings.Replace(bare, "scaledobjects}}", "scaledobjects}, admission: true}", 1); on != bare {
				bare = on
			} else {
				bare += "\nrbac: {admission: true}\n"
			}
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
	for _, tt := range []struct {
		value     string
		has, want bool
	}{{"auto", true, true}, {"auto", false, false}, {"true", false, true}, {"false", true, false}} {
		file := filepath.Join(t.TempDir(), "values.yaml")
		if err := os.WriteFile(file, []byte("rbac: {admission: "+tt.value+"}"), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"template", "vllm-medic", folder, "--namespace", "medic", "--values", file}
		if tt.has {
			args = append(args, "--api-versions", "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy")
		}
		out, errs, err := helm.Run(t, args...)
		if err != nil {
			t.Fatalf("helm template: %v\n%s", err, errs)
		}
		if got := len(policies(objects(t, []byte(out)))) > 0; got != tt.want {
			t.Errorf("admission: %s, and the API has them: %t; it makes policies: %t", tt.value, tt.has, got)
		}
	}
}
