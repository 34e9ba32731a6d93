package engineargs

import (
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// secretValues are the words of a container that must never be shown.
func secretValues(c vllm.Container) []string {
	out := redact.Values(slices.Concat(c.Command, c.Args))
	for _, v := range c.Env {
		if value := redact.NamedValue(v.Name, v.Value); value != "" {
			out = append(out, value)
		}
	}
	return out
}
