package main

import (
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/actions/admission"
)

// shape is a field that a knob writes, as the templates take it.
type shape struct {
	Field       string               `json:"field"`
	InContainer bool                 `json:"inContainer"`
	Variables   []admission.Variable `json:"variables"`
}

// admissionShapes are the parts of the policies that are the same in all releases: the templates add limits and names.
func admissionShapes() ([]byte, error) {
	shapes := map[string]shape{}
	for id, s := range actions.Shapes() {
		shapes[id] = shape{s.Field, s.InContainer, s.Variables}
	}
	return yaml.Marshal(map[string]any{
		"frame": admission.Frame(), "shapes": shapes, "resource": admission.WrittenResource,
	})
}
