package engineargs

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// The tables of the domain, of this package and of vLLM's command line speak of the same arguments.
func TestEveryEngineArgumentIsKnownToAllTables(t *testing.T) {
	t.Parallel()
	knobs := Knobs()
	for _, row := range incident.EngineArguments() {
		if _, ok := knobs[row.Kind]; !ok {
			t.Errorf("%s has no row in arguments()", row.Kind)
		}
		line := vllm.Parse(vllm.Container{Command: []string{"vllm", "serve", "m", vllm.Written(row.Flag(), "8")}})
		if n := line.Numbers()[string(row.Kind)]; n != 8 {
			t.Errorf("vLLM's command line has no number %s", row.Kind)
		}
	}
	if len(arguments()) != len(knobs) {
		t.Errorf("arguments() has %d rows, and incident.EngineArguments %d", len(arguments()), len(knobs))
	}
}
