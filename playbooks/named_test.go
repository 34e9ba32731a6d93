package playbooks_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

func TestTheCatalogHasTheSignalsThatGoNames(t *testing.T) {
	t.Parallel()
	units := map[string]incident.Unit{}
	for _, s := range builtin(t, playbooks.Options{}).AllSignals() {
		units[s.Name] = s.Unit
	}
	for name, want := range incident.NamedSignals() {
		if units[name] != want {
			t.Errorf("%s is in %q in the catalog, and Go takes it for %q", name, units[name], want)
		}
	}
}
