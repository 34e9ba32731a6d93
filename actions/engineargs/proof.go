package engineargs

import (
	"fmt"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// refuseUnproven refuses a container that is not known to run vLLM: what is added to the arguments of another server
// keeps its new pods from starting. A flag that is there already proves itself, so this is asked only where one is
// added. The command, the name of the image, or the other flags are proof.
func (c container) refuseUnproven(name string) *incident.RefusedError {
	switch {
	case c.line.Direct(), c.line.StartsVLLM(), vllm.ImageOfVLLM(c.spec.Image):
		return nil
	}
	why := fmt.Sprintf("the image %s and the command do not say so", vllm.ImageName(c.spec.Image))
	if own, foreign := c.line.Proof(); foreign != "" {
		why = fmt.Sprintf("vLLM has no flag %s that the bot knows of", foreign)
	} else if own {
		return nil
	}
	no := &incident.RefusedError{
		Reason: fmt.Sprintf(
			"container %s is not known to run vLLM (%s), and --%s would keep the pods of another server from starting",
			c.name, why, name,
		),
		Hint: fmt.Sprintf(
			"Start vLLM by its own command (command: [vllm, serve]), or give --%s by hand.", name,
		),
	}
	if len(c.engines) > 0 {
		no.Hint = fmt.Sprintf("Is workload.container right? vLLM seems to run in %s.", strings.Join(c.engines, ", "))
	}
	return no
}

// refuseHidden refuses to take the flag for absent where the environment may give it.
func (c container) refuseHidden(name string) *incident.RefusedError {
	if err := c.line.Unseen(name); err != nil {
		return &incident.RefusedError{
			Reason: err.Error(),
			Hint:   fmt.Sprintf("Give --%s in the arguments of container %s.", name, c.name),
		}
	}
	return nil
}
