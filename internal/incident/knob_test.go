package incident

import "testing"

// Where nothing is known of the object, the title still does the sum that the readings allow: nobody has to work out
// what 70% of 471 requests is, or how many replicas 372% are.
func TestAStepWithoutAnObjectSaysTheNumber(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		request StepRequest
		want    string
	}{
		{StepRequest{Kind: StepThrottle, Factor: 0.7}, "Throttle to 70% of the current limit"},
		{StepRequest{Kind: StepThrottle, Factor: 0.7, Of: 470.2}, "Throttle to 330 parallel requests"},
		{StepRequest{Kind: StepReplicas, Add: 1}, "Add 1 replica"},
		{StepRequest{Kind: StepReplicas, Add: 2}, "Add 2 replicas"},
		{StepRequest{Kind: StepReplicas, Add: 1, Times: 1.2}, "Add at least 1 replica"},
		{StepRequest{Kind: StepReplicas, Add: 1, Times: 3.72}, "Scale to at least 3.7 times the replicas"},
		{StepRequest{Kind: StepReplicas, Add: 1, Times: 3.72, Now: 2}, "Scale to at least 8 replicas (2 serve now)"},
		{StepRequest{Kind: StepReplicas, Add: 1, Times: 1.2, Now: 2}, "Scale to at least 3 replicas (2 serve now)"},
		{StepRequest{Kind: StepReplicas, Add: 2, Times: 1.2, Now: 2}, "Scale to at least 4 replicas (2 serve now)"},
		{StepRequest{Kind: StepReplicas, Add: 1, Times: 1.6, Now: 1}, "Scale to at least 2 replicas (1 serves now)"},
		{StepRequest{Kind: StepReplicas, Add: 1, Now: 2}, "Add 1 replica"},
		{StepRequest{Kind: StepMaxNumBatchedTokens, Factor: 0.5}, "Set max_num_batched_tokens to 50% of its value"},
		{
			StepRequest{Kind: StepMaxNumBatchedTokens, Factor: 0.5, Now: 8192},
			"Set max_num_batched_tokens from 8,192 to 4,096",
		},
	} {
		knob, _ := tt.request.Kind.Knob()
		if got := knob.Title(tt.request); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.request, got, tt.want)
		}
	}
}
