package remediation

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// applied is incident.ApplyAll with its notes and its refusal in words, as they are stored and shown by the API.
func applied(inc incident.Incident, now time.Time, events ...incident.Event) (incident.Result, error) {
	res, err := incident.ApplyAll(inc, events, now)
	if err != nil {
		return incident.Result{}, present.FillRefusal(err)
	}
	return present.Fill(res), nil
}
