package engineargs

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

func TestSecretsOfACommandLineAreKnown(t *testing.T) {
	t.Parallel()
	line := vllm.Container{
		Command: []string{"vllm", "serve", "m"},
		Args: []string{
			"--api-key", "first-key", "second-key", "--hf-token=the-token", "--max-num-batched-tokens", "8192",
			"--ssl_keyfile=/k.pem",
		},
	}
	line.Env = []vllm.Variable{
		{Name: "HF_TOKEN", Value: "env-token"},
		{Name: "HOME", Value: "/root"},
		{Name: "AWS_SECRET_ACCESS_KEY", Value: "aws-secret"},
	}
	got := secretValues(line)
	want := []string{"first-key", "second-key", "the-token", "/k.pem", "env-token", "aws-secret"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
