package present

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Whoever adds a signal says what it is about, too.
func TestEveryBuiltInSignalHasAGroup(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	used := map[Group]bool{}
	for _, name := range c.SignalNames() {
		g := GroupOf(name)
		used[g] = true
		if g == GroupOther || !slices.Contains(Groups(), g) {
			t.Errorf("%s is in the group %q", name, g)
		}
	}
	for _, g := range Groups() {
		if !used[g] && g != GroupOther {
			t.Errorf("no signal is in the group %q", g)
		}
	}
	if got := GroupOf("my_own"); got != GroupOther {
		t.Errorf("a signal of somebody else is in %q", got)
	}
}
