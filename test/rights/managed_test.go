package rights

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// The API server changes managedFields with every write, the bot's own included, and drops entries of others by itself
// (it keeps ten of those that update). No policy can tell that from a thief's, so none holds them; nothing else of the
// object goes with them.
func TestWhoHasSetWhichFieldIsAllThatAThiefMayChange(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	g := guard(t)
	was := g.create(t, hpas, object("autoscaling/v2", "HorizontalPodAutoscaler", "deployed",
		fullSpec(t, "HorizontalPodAutoscaler")))
	must(t, g.try(t.Context(), t, attempt{hpas, "deployed", "", `{"metadata":{"managedFields":[{}]}}`}))
	got, err := g.c.Dynamic(t).Resource(hpas).Namespace(g.ns).Get(t.Context(), "deployed", metav1.GetOptions{})
	must(t, err)
	if !same(got, was) {
		t.Errorf("more than who has set which field has changed: %v", got.Object)
	}
	if err := g.try(t.Context(), t, attempt{
		hpas, "deployed", "", `{"metadata":{"managedFields":[{}],"labels":{"a":"evil"}}}`,
	}); err == nil {
		t.Error("a label is taken with them")
	}
}
