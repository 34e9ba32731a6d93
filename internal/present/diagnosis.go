package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// Nevers are what would make it worse, each as what follows "Do not".
func Nevers(all []incident.Never) []string {
	out := make([]string, len(all))
	for n, no := range all {
		out[n] = no.String()
	}
	return out
}
