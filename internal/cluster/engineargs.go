package cluster

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// engineArgs are the numbers among a container's arguments, by the names of vLLM's Python ("max_num_seqs"); nil when
// there are none that are certain.
func engineArgs(c *corev1.Container) map[string]float64 {
	if c == nil {
		return nil
	}
	return commandLine(c).Numbers()
}

// notGiven are those arguments that the bot may set and that a container certainly does not give.
func notGiven(c *corev1.Container) []incident.StepKind {
	if c == nil {
		return nil
	}
	var out []incident.StepKind
	for _, a := range incident.EngineArguments() {
		if commandLine(c).NotGiven(a.Flag()) {
			out = append(out, a.Kind)
		}
	}
	return out
}

// commandLine reads what a container starts.
func commandLine(c *corev1.Container) *vllm.CommandLine {
	out := vllm.Container{Image: c.Image, Command: c.Command, Args: c.Args, EnvFrom: len(c.EnvFrom) > 0}
	for _, v := range c.Env {
		out.Env = append(out.Env, vllm.Variable{Name: v.Name, Value: v.Value, Known: v.ValueFrom == nil})
	}
	return vllm.Parse(out)
}

// engineContainer is the container that a pool means: the one that is named, else the only one, else the one named
// vllm; nil when none is certain.
func engineContainer(spec *corev1.PodSpec, named string) *corev1.Container {
	if named == "" && len(spec.Containers) == 1 {
		return &spec.Containers[0]
	}
	if named == "" {
		named = "vllm"
	}
	for i := range spec.Containers {
		if spec.Containers[i].Name == named {
			return &spec.Containers[i]
		}
	}
	return nil
}
