package engineargs

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// argument is one of vLLM's engine arguments that the bot may set.
type argument struct {
	// kind and flag are those of its row in incident.EngineArguments.
	kind incident.StepKind
	flag string
	// least works out how far the value may be lowered, and why no further, from what else is on the command line.
	least func(lowering) (lowerBound, error)
	// checkDefault refuses a configured default that the other arguments prove wrong.
	checkDefault func(line *vllm.CommandLine, n int64, says *bool) error
	// example is a value that vLLM often has by itself.
	example int64
	// cost is what a new value costs beside the rollout, and raising what a higher one risks.
	cost, raising string
}

// arguments has a row for each row of incident.EngineArguments: what the bot has to know to set it.
func arguments() map[incident.StepKind]argument {
	return map[incident.StepKind]argument{
		incident.StepMaxNumBatchedTokens: {
			least: leastTokens, checkDefault: possibleDefault, example: 8192,
			cost:    "the first start compiles again",
			raising: "A larger batch needs more GPU memory, which leaves less for the KV cache.",
		},
	}
}

// lowering is what bounds a value from below.
type lowering struct {
	line *vllm.CommandLine
	// now is the value; runs says that it is given and that pods run with it now, so that what vLLM would have refused
	// is known not to be so.
	now  int64
	runs bool
	// chunked is what the configuration says of chunked prefill; nil when it says nothing.
	chunked *bool
}

// defaultSetting is the setting that says what an absent flag means.
func (a argument) defaultSetting() string { return fmt.Sprintf("knobs.%s.default", a.kind) }

// setting sets an argument on the command line of the container that runs vLLM. vLLM changes no argument while it runs,
// so every pod is replaced. Where the flag is not given, it is added at the end, and taken away again to undo that.
type setting struct {
	argument

	pool incident.Pool
	ref  incident.WorkloadRef
	base live.Field
	box  container
	// flag is the occurrence that counts, count how many there are.
	flag  vllm.Flag
	count int
}

// list is the list of the manifest that has the value, or that the flag would be added to.
func (s *setting) list() string {
	if s.count == 0 {
		return s.box.line.End()
	}
	name, _ := s.box.line.Place(s.flag)
	return name
}

func (s *setting) Live() live.Field { return s.base }

func (s *setting) Propose(req incident.StepRequest) (incident.Step, error) {
	step, err := s.step(req)
	return step, s.toOwner(err)
}

func (s *setting) step(req incident.StepRequest) (incident.Step, error) {
	now, err := s.inForce()
	if err != nil {
		return incident.Step{}, err
	}
	if err := s.checkRollsOut(); err != nil {
		return incident.Step{}, err
	}
	asked, err := live.Times(now, req)
	if err != nil {
		return incident.Step{}, err
	}
	l, why, err := s.limits(now, asked)
	if err != nil {
		return incident.Step{}, err
	}
	to, bounds, err := l.Adjust(now, asked)
	if err != nil {
		return incident.Step{}, err
	}
	verb := "Lower"
	if to > now {
		verb = "Raise"
	}
	before, after := s.flag.String(), s.flag.With(live.Int(to).Text)
	if s.count == 0 {
		before, after = "", s.added(live.Int(to))
	}
	return incident.Step{
		To:    live.Int(to),
		Title: fmt.Sprintf("%s %s of %s from %s to %d", verb, s.kind, s.ref.Name, s.valueText(now), to),
		Diff:  live.Diff(s.base.Target, before, after),
		Cost: "Requests in flight on a replaced pod are cut off after its grace period, prefix caches are lost, and " +
			s.cost + "." + s.assumedText(now),
		Speed: "Rolling restart, minutes per pod: each loads the model and compiles.",
		Risk:  s.risk(to > now),
		Needs: incident.Needs{Confirm: true, Restart: true},
		Guardrails: []incident.Guardrail{
			bounds, live.Pass("engine", "%s", why), live.Ownership(s.base, live.ArgsField),
		},
		Worked: l.Worked(now, asked),
	}, nil
}

// inForce is the value that vLLM runs with. Where the flag is not given only the configuration can say it: the
// default depends on version, model and GPU, and vLLM exports it nowhere.
func (s *setting) inForce() (int64, error) {
	if s.count == 0 {
		return s.defaultValue()
	}
	n, _, err := s.box.line.Number(s.argument.flag)
	return int64(n), refuseUnclear(err)
}

// knob is what the pool says of the argument; the zero value where it says nothing.
func (s *setting) knob() incident.ArgumentKnob {
	if k := s.pool.Knobs.Argument(s.kind); k != nil {
		return *k
	}
	return incident.ArgumentKnob{}
}

// limits are the pool's and vLLM's own. On the way up from a value that is given everything that bounds it from below
// holds already. A configured default proves nothing: vLLM may have raised its own, and does not raise what it is
// given.
func (s *setting) limits(now, to int64) (live.Limits, string, error) {
	l := live.LimitsOf(s.pool, s.kind)
	given := s.count > 0
	if to >= now && given {
		return l, "it is raised, so nothing that vLLM needs at least is at risk", nil
	}
	least, err := s.least(lowering{
		line: s.box.line, now: now, runs: given && cluster.Settled(s.base.Object), chunked: s.knob().ChunkedPrefill,
	})
	if err != nil {
		return l, "", err
	}
	why := fmt.Sprintf("vLLM starts with %d or more here, %s", least.value, least.why)
	return l.AtLeast(least.value, least.why), why, nil
}

// checkRollsOut refuses a workload that would not follow the change.
func (s *setting) checkRollsOut() error {
	o := s.base.Object
	paused, _, err := unstructured.NestedBool(o.Object, "spec", "paused")
	switch {
	case err != nil || paused:
		return live.Refused("%s is paused (spec.paused), so the change would not roll out", s.ref)
	case cluster.Text(o, "spec", "updateStrategy", "type") == "OnDelete":
		return live.Refused("%s replaces pods only when somebody deletes them (updateStrategy OnDelete)", s.ref)
	case cluster.Count(o, "spec", "updateStrategy", "rollingUpdate", "partition") > 0:
		return live.Refused("%s rolls out only a part of its pods (updateStrategy.rollingUpdate.partition)", s.ref)
	}
	return nil
}

func (s *setting) risk(up bool) string {
	text := "If vLLM can't start with it, the new pods never become ready."
	if up {
		text += " " + s.raising
	}
	if s.count > 1 {
		text += " The flag is there more than once; vLLM takes the last, which is the one that is changed."
	}
	return text + " " + s.strategy()
}

// strategy says what the rollout does to the capacity.
func (s *setting) strategy() string {
	o := s.base.Object
	if o.GetKind() == "StatefulSet" {
		return "Pods are replaced one by one; each is missing while its successor starts."
	}
	if cluster.Text(o, "spec", "strategy", "type") == "Recreate" {
		return "The strategy is Recreate: all pods end before the new ones start."
	}
	at := func(field string) string {
		v, _, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "strategy", "rollingUpdate", field)
		if err != nil || v == nil {
			return "25%"
		}
		return fmt.Sprint(v)
	}
	return fmt.Sprintf(
		"It needs spare GPUs for maxSurge %s, and up to maxUnavailable %s of the pods are missing meanwhile.",
		at("maxSurge"), at("maxUnavailable"),
	)
}

func (s *setting) Admit(to incident.Value) error {
	n, err := live.Whole(to)
	if err != nil {
		return err
	}
	now, err := s.inForce()
	if err != nil {
		return err
	}
	if err := s.checkRollsOut(); err != nil {
		return err
	}
	if g := live.Ownership(s.base, live.ArgsField); g.Verdict == incident.GuardRefuse {
		return live.Refused("%s", g.Reason)
	}
	l, _, err := s.limits(now, n)
	if err != nil {
		return err
	}
	return l.Check(n)
}

func (s *setting) Change(to incident.Value) ([]live.Operation, error) {
	edit, err := s.edited(to)
	if err != nil {
		return nil, err
	}
	at := fmt.Sprintf("/spec/template/spec/containers/%d/", s.box.index)
	out := []live.Operation{live.Test(at+"name", s.box.name)}
	// Both lists must be what was seen: a flag that has come into the other one meanwhile would count, or not count
	// any more.
	if len(s.box.spec.Command) > 0 {
		out = append(out, live.Test(at+"command", s.box.spec.Command))
	}
	if len(s.box.spec.Args) > 0 {
		out = append(out, live.Test(at+"args", s.box.spec.Args))
	}
	return append(out, live.Replace(at+edit.List, edit.After)), nil
}

func (s *setting) Rollout(_ context.Context, _ incident.Op, _ incident.Value) (incident.Rollout, error) {
	return cluster.Followed(s.base.Object, cluster.Count(s.base.Object, "spec", "replicas"), nil, cluster.PodCount{}), nil
}
