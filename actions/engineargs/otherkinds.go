package engineargs

import (
	"fmt"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// refuseOtherSource refuses a kind whose arguments the bot does not change, and says where a person does.
func refuseOtherSource(ref incident.WorkloadRef) *incident.RefusedError {
	no := live.Refused("the arguments of %s are not changed by the bot (supported: Deployment, StatefulSet): change "+
		"them manually", ref)
	if at := live.OperatorFields(ref.APIVersion, ref.Kind).Args; at != "" {
		no.Hint = fmt.Sprintf("They are in %s.", at)
	}
	return no
}
