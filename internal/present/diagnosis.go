package present

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Cause is the name of a diagnosis in a sentence: "abort spike".
func Cause(name string) string { return strings.NewReplacer("_", " ", "-", " ").Replace(name) }

// Nevers are what would make it worse, each as what follows "Do not".
func Nevers(all []incident.Never) []string {
	out := make([]string, len(all))
	for n, no := range all {
		out[n] = no.String()
	}
	return out
}
