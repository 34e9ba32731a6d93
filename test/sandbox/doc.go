// Package sandbox plays vllm-medic sandbox as a person does: in a browser, with clicks. test/scenarios plays it without
// hands.
package sandbox
