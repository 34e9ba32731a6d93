package present

import (
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Unread says on one line what of a cluster could not be read, and why.
func Unread(all []incident.Unread) string {
	lines := make([]string, len(all))
	for n, u := range all {
		lines[n] = u.String()
	}
	return strings.Join(lines, "; ")
}
