package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// NotKept says how many more alerts fire than the incident keeps, to follow a list of those: "and 4,212 more alerts
// that are not kept"; "" when all are kept.
func NotKept(inc incident.Incident) string {
	u := inc.AlertsNotKept
	switch {
	case u.Firing == 0:
		return ""
	case u.Firing == 1:
		return "and 1 more alert that is not kept"
	case u.Beyond > 0:
		return "and at least " + Counted(u.Firing, "more alert") + " that are not kept"
	}
	return "and " + Counted(u.Firing, "more alert") + " that are not kept"
}
