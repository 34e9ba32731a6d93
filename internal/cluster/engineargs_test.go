package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestEngineArgsAreReadFromAContainer(t *testing.T) {
	t.Parallel()
	c := &corev1.Container{
		Command: []string{
			"vllm", "serve", "m",
		}, Args: []string{"--max-num-seqs=$(SEQS)", "-tp", "$(TP)", "--max-model-len=8k"},
		Env: []corev1.EnvVar{{Name: "SEQS", Value: "256"}, {Name: "TP", ValueFrom: &corev1.EnvVarSource{}}},
	}
	want := map[string]float64{"max_num_seqs": 256, "max_model_len": 8000}
	if diff := cmp.Diff(want, engineArgs(c)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := engineArgs(nil); got != nil {
		t.Errorf("no container: %v", got)
	}
}

func TestEngineContainer(t *testing.T) {
	t.Parallel()
	one := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}}}
	two := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "vllm"}}}
	other := &corev1.PodSpec{Containers: []corev1.Container{{Name: "a"}, {Name: "b"}}}
	for _, tt := range []struct {
		spec        *corev1.PodSpec
		named, want string
	}{
		{one, "", "a"},
		{one, "b", ""},
		{two, "", "vllm"},
		{two, "a", "a"},
		{other, "", ""},
		{other, "b", "b"},
		{&corev1.PodSpec{}, "", ""},
	} {
		got := ""
		if c := engineContainer(tt.spec, tt.named); c != nil {
			got = c.Name
		}
		if got != tt.want {
			t.Errorf("engineContainer(%v, %q) = %q; want %q", tt.spec.Containers, tt.named, got, tt.want)
		}
	}
}
