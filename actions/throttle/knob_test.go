package throttle

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestEveryGatewayOfTheConfigurationIsAdjusted(t *testing.T) {
	t.Parallel()
	adjusted := map[string]string{}
	for _, g := range gateways() {
		adjusted[g.name] = g.kind
	}
	for _, g := range incident.Gateways() {
		if adjusted[g.Name] != g.Object {
			t.Errorf("%s limits by %q, and the configuration says %q", g.Name, adjusted[g.Name], g.Object)
		}
		delete(adjusted, g.Name)
	}
	if len(adjusted) > 0 {
		t.Errorf("the configuration does not know %v", adjusted)
	}
}
