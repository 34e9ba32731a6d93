package fleet

import "github.com/vllm-medic/vllm-medic/internal/vllm"

// maxModelLen is the model's context length in tokens.
const maxModelLen = 131072

// transferBounds are those of nixl_xfer_time_seconds (vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py).
func transferBounds() []float64 {
	return []float64{.005, .01, .025, .05, .075, .1, .2, .3, .5, .75, 1, 5}
}

// boundsOf are the bucket bounds of a histogram, given by today's name without prefix. The V0 engine stands for all of
// vLLM before 0.8.4, whose histograms of times end earlier.
func boundsOf(base string, g vllm.Generation) []float64 {
	return vllm.Bounds(vllm.CanonicalPrefix+base, g == vllm.V0)
}
