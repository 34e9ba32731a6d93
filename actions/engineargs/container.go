package engineargs

import (
	"cmp"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// container is the one that runs vLLM.
type container struct {
	index int
	name  string
	spec  vllm.Container
	line  *vllm.CommandLine
	// engines are the other containers that seem to run vLLM.
	engines []string
}

// readContainer finds the container that the pool names.
func readContainer(o *unstructured.Unstructured, name string) (container, error) {
	if name == "" {
		return container{}, live.Refused("the pool's workload names no container, so it is not known which arguments are " +
			"vLLM's: set workload.container")
	}
	all, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return container{}, live.Refused("the containers of %s cannot be read: %s", o.GetName(), err)
	}
	var found *container
	var engines []string
	for i, c := range all {
		m, ok := c.(map[string]any)
		if !ok {
			continue
		}
		box, err := containerFrom(m)
		switch box.index = i; {
		case box.name == name && err != nil:
			return container{}, err
		case box.name == name:
			found = &box
		case err == nil && box.line.LooksLikeVLLM():
			engines = append(engines, box.name)
		}
	}
	if found == nil {
		return container{}, live.Refused("%s %s has no container %q", o.GetKind(), o.GetName(), name)
	}
	found.engines = engines
	return *found, nil
}

func containerFrom(m map[string]any) (container, error) {
	name, _, errName := unstructured.NestedString(m, "name")
	image, _, errImage := unstructured.NestedString(m, "image")
	command, _, errCommand := unstructured.NestedStringSlice(m, "command")
	args, _, errArgs := unstructured.NestedStringSlice(m, "args")
	env, _, errEnv := unstructured.NestedSlice(m, "env")
	from, _, errFrom := unstructured.NestedSlice(m, "envFrom")
	box := container{
		name: name,
		spec: vllm.Container{Image: image, Command: command, Args: args, Env: variables(env), EnvFrom: len(from) > 0},
	}
	box.line = vllm.Parse(box.spec)
	if cmp.Or(errName, errImage, errCommand, errArgs, errEnv, errFrom) != nil {
		return box, live.Refused("the arguments of container %s cannot be read", name) // the error would repeat them
	}
	return box, nil
}

func variables(env []any) []vllm.Variable {
	var out []vllm.Variable
	for _, e := range env {
		m, ok := e.(map[string]any)
		if !ok {
			continue
		}
		name, _ := m["name"].(string)
		value, _ := m["value"].(string)
		_, from := m["valueFrom"]
		out = append(out, vllm.Variable{Name: name, Value: value, Known: !from})
	}
	return out
}
