package throttle

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Knob is the limit on the requests that are let through to a pool. It is only lowered; an undo raises it again.
type Knob struct{}

// gateway is a mechanism that limits requests.
type gateway struct {
	// name is what the configuration calls it.
	name string
	// kind is the kind of object that holds the limit, by which an undo finds it again.
	kind string
	// find reads the limit: in the object and field of the target, else where the pool's configuration says. A target
	// means an undo, which does not ask whom the limit is for.
	find func(ctx context.Context, c *kube.Reader, pool incident.Pool, at incident.Target) (live.Setting, error)
	// needs are the rights that the knob of a pool uses.
	needs func(pool incident.Pool) []kube.Need
	// leaf is the field that the knob of a pool writes, without its limits, and fields are the shapes of those there are.
	leaf   func(pool incident.Pool) (kube.Place, admission.Shape)
	fields func() []admission.Shape
	// list names the limits that are set in a namespace.
	list func(ctx context.Context, c *kube.Reader, namespace string) ([]incident.ThrottleKnob, error)
}

// gateways has a row for each of them.
func gateways() []gateway { return []gateway{envoyGateway()} }

// List names the limits that are set in a namespace, of every gateway, without bounds. A gateway that the cluster does
// not have has none.
func List(ctx context.Context, c *kube.Reader, namespace string) ([]incident.ThrottleKnob, error) {
	var out []incident.ThrottleKnob
	for _, g := range gateways() {
		found, err := g.list(ctx, c, namespace)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Find reads the limit.
func (Knob) Find(
	ctx context.Context, c *kube.Reader, pool incident.Pool, at incident.Target,
) (live.Setting, error) {
	g, err := gatewayOf(pool, at)
	if err != nil {
		return nil, err
	}
	return g.find(ctx, c, pool, at)
}

// Needs are the rights that the pool's gateway asks for.
func (Knob) Needs(_ context.Context, _ kube.Kinds, pool incident.Pool) ([]kube.Need, error) {
	g, err := gatewayOf(pool, incident.Target{})
	if err != nil {
		return nil, err
	}
	return g.needs(pool), nil
}

// Leaves are the one field that is the pool's limit.
func (Knob) Leaves(_ context.Context, _ kube.Kinds, pool incident.Pool) ([]admission.Leaf, error) {
	g, err := gatewayOf(pool, incident.Target{})
	if err != nil {
		return nil, err
	}
	at, shape := g.leaf(pool)
	l := live.LimitsOf(pool, incident.StepThrottle)
	return []admission.Leaf{{Place: at, Shape: shape, Min: l.Min, Max: l.Max}}, nil
}

// Shapes are those of the fields of all gateways.
func (Knob) Shapes() []admission.Shape {
	var out []admission.Shape
	for _, g := range gateways() {
		out = append(out, g.fields()...)
	}
	return out
}

// gatewayOf is the gateway whose object is the target, else the one that the pool names.
func gatewayOf(pool incident.Pool, at incident.Target) (gateway, error) {
	var names []string
	for _, g := range gateways() {
		switch k := pool.Knobs.Throttle; {
		case at.Name != "" && g.kind == at.Kind, at.Name == "" && k != nil && g.name == k.Kind:
			return g, nil
		}
		names = append(names, g.name)
	}
	switch k := pool.Knobs.Throttle; {
	case at.Name != "":
		return gateway{}, live.Refused("%s is not an object that limits requests", at.Object())
	case k == nil:
		return gateway{}, live.NotConfigured(pool, incident.StepThrottle)
	default:
		return gateway{}, live.Refused("throttles of kind %q are not known; only %s is", k.Kind, strings.Join(names, ", "))
	}
}

// limit is what the limits of all gateways have in common.
type limit struct {
	pool incident.Pool
	base live.Field
	// now is the limit in force.
	now int64
}

// Live is the field as it was read.
func (l limit) Live() live.Field { return l.base }

// lowered works out which limit a request leads to. One that rejects no request that is in flight is refused: it would
// cost a decision and change nothing.
func (l limit) lowered(req incident.StepRequest) (int64, incident.Guardrail, error) {
	asked, err := live.Lowered(l.now, req)
	if err != nil {
		return 0, incident.Guardrail{}, err
	}
	to, bounds, err := l.bounds().Adjust(l.now, asked)
	if err == nil && req.Of > 0 && float64(to) >= req.Of {
		return 0, incident.Guardrail{}, live.NotNow(
			"at most %.0f requests are in flight, and the limit may be lowered to %d at least: it would reject none", req.Of, to)
	}
	return to, bounds, err
}

// checkValue refuses a limit that is out of bounds, or in a field that somebody else is certain to set back.
func (l limit) checkValue(to incident.Value) error {
	n, err := live.Whole(to)
	if err != nil {
		return err
	}
	if g := live.Ownership(l.base, live.NoField); g.Verdict == incident.GuardRefuse {
		return live.Refused("%s", g.Reason)
	}
	return l.bounds().Check(n)
}

func (l limit) bounds() live.Limits { return live.LimitsOf(l.pool, incident.StepThrottle) }

// step is a step from the present limit to another.
func (l limit) step(to int64, what, counted, path string, guards ...incident.Guardrail) incident.Step {
	from := ""
	if l.base.Value.Present {
		from = fmt.Sprintf("%s: %d", path, l.now)
	}
	s := incident.Step{
		To:         live.Int(to),
		Title:      fmt.Sprintf("Throttle %s from %d to %d %s", what, l.now, to, counted),
		Diff:       live.Diff(l.base.Target, from, fmt.Sprintf("%s: %d", path, to)),
		Speed:      "Live in seconds, no restarts.",
		Guardrails: slices.Concat(guards, []incident.Guardrail{live.Ownership(l.base, live.NoField)}),
		Worked:     l.bounds().Worked(l.now, to),
	}
	if k := l.pool.Knobs.Throttle; k != nil {
		s.RevertAfter = k.RevertAfter
	}
	return s
}
