package admission

import (
	"github.com/vllm-medic/vllm-medic/actions/kube"
)

// Leaf is one field of one object that a knob writes, with the limits of the pool's configuration.
type Leaf struct {
	// Place is where it is written.
	Place kube.Place
	Shape Shape
	// Min and Max bound what may be written there.
	Min, Max int64
	// Container is the one whose command line has the field; empty for a field of the object itself.
	Container string
}

// Shape says what a change of a field looks like, whichever object has it.
type Shape struct {
	// ID names the shape, and is the variable that says whether a change is one of this shape.
	ID string
	// Setting is the field as incident.Target names it, and Field where people find it: "spec.minReplicas".
	Setting, Field string
	// InContainer says that objects differ in the container that has the field.
	InContainer bool
	// Variables are those of a policy, in the order of their use. The last is ID. They use the tables limitsOf(ID), and
	// containersOf(ID) where InContainer, and the variables of Frame.
	Variables []Variable
}

// Variable is a named CEL expression of a policy.
type Variable struct {
	Name       string `json:"name"`
	Expression string `json:"expression"`
}

func limitsOf(id string) string     { return id + "_limits" }
func containersOf(id string) string { return id + "_containers" }
