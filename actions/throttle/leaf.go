package throttle

import (
	"strconv"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// policyLeaf is the field of the policy that a pool's throttle writes.
func policyLeaf(pool incident.Pool) (kube.Place, admission.Shape) {
	k := pool.Knobs.Throttle
	return kube.Place{Resource: policyResource, Namespace: k.Namespace, Name: k.Name}, policyShape(k.Field)
}

// policyShape is what a change of a field looks like. A circuitBreaker may come and go with maxParallelRequests.
func policyShape(field string) admission.Shape {
	if field == requestsField {
		return admission.Field{
			Path: []string{"rateLimit", "local", "rules", admission.First, "limit", requestsField}, Setting: field,
		}.Shape()
	}
	return admission.Field{
		Path: []string{"circuitBreaker", parallelField}, Setting: field, Filled: strconv.Itoa(parallelDefault), Parent: true,
	}.Shape()
}

// policyShapes are those of all fields of a policy that may be a limit.
func policyShapes() []admission.Shape {
	return []admission.Shape{policyShape(parallelField), policyShape(requestsField)}
}
