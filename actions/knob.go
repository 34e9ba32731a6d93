package actions

import (
	"context"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/engineargs"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/actions/replicas"
	"github.com/vllm-medic/vllm-medic/actions/throttle"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Knob knows one kind of step: where its value is, and which permissions it needs. It only reads; the Registry writes.
type Knob interface {
	// Find reads the live field that a step touches. With the zero target it looks for it where the pool's configuration
	// says; else it reads the named target, whatever the configuration says now. kube.ErrGone, wrapped, says that the
	// object does not exist.
	Find(ctx context.Context, cluster *kube.Reader, pool incident.Pool, at incident.Target) (live.Setting, error)
	// Needs are the rights that the knob of a pool uses, those to write included, in the order of their use. It asks the
	// cluster only about kinds that are not Kubernetes' own.
	Needs(ctx context.Context, kinds kube.Kinds, pool incident.Pool) ([]kube.Need, error)
	// Leaves are the fields that the knob of a pool writes, each with its limits. A policy of the API server holds the bot
	// to them. There is one for each right to patch among Needs.
	Leaves(ctx context.Context, kinds kube.Kinds, pool incident.Pool) ([]admission.Leaf, error)
	// Shapes are those that its Leaves may have.
	Shapes() []admission.Shape
}

// knobs has every kind of step that the bot can run: a row each, and those of the table of engine arguments.
func knobs() map[incident.StepKind]Knob {
	out := map[incident.StepKind]Knob{
		incident.StepReplicas: replicas.Knob{},
		incident.StepThrottle: throttle.Knob{},
	}
	for kind, knob := range engineargs.Knobs() {
		out[kind] = knob
	}
	return out
}
