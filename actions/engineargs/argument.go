package engineargs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// tokens sets --max-num-batched-tokens in the arguments of the container that runs vLLM. vLLM changes no such setting
// while it runs, so every pod is replaced. Where the flag is not given, it is added at the end, and taken away again
// to undo that.
type tokens struct {
	pool incident.Pool
	ref  incident.WorkloadRef
	base live.Field
	box  container
	// flag is the occurrence that counts, count how many there are.
	flag  vllm.Flag
	count int
}

// container is the one that runs vLLM.
type container struct {
	index int
	name  string
	spec  vllm.Container
	line  *vllm.CommandLine
	// engines are the other containers that seem to run vLLM.
	engines []string
}

// Knob is the engine arguments.
type Knob struct{}

// Needs are the rights on the workload. A kind whose arguments the bot does not change needs none to write.
func (Knob) Needs(ctx context.Context, c *kube.Reader, pool incident.Pool) ([]kube.Need, error) {
	w, err := c.Workload(ctx, pool.Workload)
	if err != nil {
		return nil, err
	}
	out := []kube.Right{w.Right("get")}
	if hasArguments(pool.Workload) {
		out = append(out, w.Right("patch"))
	}
	return kube.Required(out...), nil
}

// Find reads the flag. Where it cannot be read, the field says so as broken.
func (Knob) Find(ctx context.Context, c *kube.Reader, pool incident.Pool, at incident.Target) (live.Setting, error) {
	ref := pool.Workload
	if at.Name != "" {
		ref = incident.WorkloadRef{
			APIVersion: at.APIVersion, Kind: at.Kind, Namespace: at.Namespace, Name: at.Name, Container: at.Container,
		}
	}
	if ref.IsZero() {
		return nil, live.Refused("the pool names no workload")
	}
	if !hasArguments(ref) {
		return nil, otherArguments(ref)
	}
	r, err := c.Resource(ctx, ref.APIVersion, ref.Kind)
	if err != nil {
		return nil, err
	}
	o, err := c.Get(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	t := &tokens{pool: pool, ref: ref, base: live.Field{Resource: r, Object: o, Version: o.GetResourceVersion()}}
	t.base.Target = live.TargetOf(o, incident.Target{
		Field:   "args[" + ref.Container + "] --" + vllm.MaxNumBatchedTokens,
		Setting: vllm.MaxNumBatchedTokens, Container: ref.Container,
	})
	t.base.Path = []string{
		"f:spec", "f:template", "f:spec", "f:containers", fmt.Sprintf(`k:{"name":%q}`, ref.Container), "f:args",
	}
	t.base.Read = func(o *unstructured.Unstructured) (incident.Value, error) {
		_, f, count, err := readTokens(o, ref.Container)
		return setting(f, count), err
	}
	if t.box, t.flag, t.count, err = readTokens(o, ref.Container); err != nil {
		return t.brokenBy(err)
	}
	t.base.Secrets = secretValues(t.box.spec)
	t.base.Value = setting(t.flag, t.count)
	if k := pool.Knobs.MaxNumBatchedTokens; t.count == 0 && k != nil && k.Default > 0 {
		t.base.Assumed, t.base.AssumedBy = live.Int(k.Default), defaultSetting
	}
	t.base.Path[len(t.base.Path)-1] = "f:" + t.list()
	return t, nil
}

// hasArguments says whether the bot changes the arguments of this kind of workload.
func hasArguments(ref incident.WorkloadRef) bool {
	return cluster.Group(ref.APIVersion) == "apps" && (ref.Kind == "Deployment" || ref.Kind == "StatefulSet")
}

// list is the list of the manifest that has the value, or that the flag would be added to.
func (t *tokens) list() string {
	if t.count == 0 {
		return t.box.line.End()
	}
	name, _ := t.box.line.Place(t.flag)
	return name
}

// brokenBy keeps a reason of the command line with the subject, so that a look at it still shows the object.
func (t *tokens) brokenBy(err error) (live.Setting, error) {
	var no *incident.RefusedError
	if !errors.As(err, &no) {
		return nil, err
	}
	if owner, _ := cluster.OwnerAmong(t.base.Object.GetOwnerReferences()); owner != nil && no.Hint == "" {
		if at := live.OperatorFields(owner.APIVersion, owner.Kind).Args; at != "" {
			no.Hint = fmt.Sprintf("It belongs to %s %s: change %s there.", owner.Kind, owner.Name, at)
		}
	}
	t.base.Broken, t.base.Unread = no, true
	return t, nil
}

// readTokens finds the occurrence of the flag that counts, and how many there are. Where there is none, it is how one
// would be written.
func readTokens(o *unstructured.Unstructured, name string) (container, vllm.Flag, int, error) {
	box, err := readContainer(o, name)
	if err != nil {
		return box, vllm.Flag{}, 0, err
	}
	f, count, err := box.line.Last(vllm.MaxNumBatchedTokens)
	switch {
	case err != nil:
		return box, vllm.Flag{}, 0, unclear(err)
	case f.Fixed() != nil:
		return box, vllm.Flag{}, 0, unclear(f.Fixed())
	case count == 0:
		f.Key = "--" + vllm.MaxNumBatchedTokens
	}
	return box, f, count, nil
}

// unclear is a refusal with vLLM's reader's reason.
func unclear(err error) error {
	if no, is := errors.AsType[*vllm.UnclearError](err); is {
		return live.Refused("%s", no.Reason)
	}
	return err
}

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

func (t *tokens) Live() live.Field { return t.base }

func (t *tokens) Propose(req incident.StepRequest) (incident.Step, error) {
	now, err := t.inForce()
	if err != nil {
		return incident.Step{}, err
	}
	if err := t.rollable(); err != nil {
		return incident.Step{}, err
	}
	asked, err := live.Times(now, req)
	if err != nil {
		return incident.Step{}, err
	}
	l, why, err := t.limits(now, asked)
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
	before, after := t.flag.String(), t.flag.With(live.Int(to).Text)
	if t.count == 0 {
		before, after = "", added(live.Int(to))
	}
	return incident.Step{
		To:    live.Int(to),
		Title: fmt.Sprintf("%s max_num_batched_tokens of %s from %s to %d", verb, t.ref.Name, t.said(now), to),
		Diff:  live.Diff(t.base.Target, before, after),
		Cost: "A rollout: every pod is replaced. Requests in flight on a pod that ends are cut off after its grace " +
			"period, the prefix caches are lost, and " +
			"the first start compiles again because the value is part of vLLM's compile key." + t.assumed(now),
		Speed: "Many minutes: each new pod has to load the weights, compile and warm up before an old one ends.",
		Risk:  t.risk(to > now),
		Needs: incident.Needs{Confirm: true, Restart: true},
		Guardrails: []incident.Guardrail{
			bounds, live.Pass("engine", "%s", why), live.Ownership(t.base, live.ArgsField),
		},
	}, nil
}

// inForce is the value that vLLM runs with. Where the flag is not given only the configuration can say it: the
// default depends on version, model and GPU, and vLLM exports it nowhere.
func (t *tokens) inForce() (int64, error) {
	if t.count == 0 {
		return t.byDefault()
	}
	n, _, err := t.box.line.Number(vllm.MaxNumBatchedTokens)
	return int64(n), unclear(err)
}

// limits are the pool's and vLLM's own. On the way up from a value that is given everything that bounds it from below
// holds already. A configured default proves nothing: vLLM may have raised its own, and does not raise what it is
// given.
func (t *tokens) limits(now, to int64) (live.Limits, string, error) {
	l := live.Limits{}
	if k := t.pool.Knobs.MaxNumBatchedTokens; k != nil {
		l = live.Limits{Min: k.Min, Max: k.Max, Step: k.MaxStep}
	}
	given := t.count > 0
	if to >= now && given {
		return l, "it is raised, so nothing that vLLM needs at least is at risk", nil
	}
	least, err := leastTokens(t.box.line, now, given && cluster.Settled(t.base.Object), t.saysChunked())
	if err != nil {
		return l, "", err
	}
	return l.AtLeast(
		least.tokens, least.why,
	), fmt.Sprintf("vLLM starts with %d or more here, %s", least.tokens, least.why), nil
}

// rollable refuses a workload that would not follow the change.
func (t *tokens) rollable() error {
	o := t.base.Object
	paused, _, err := unstructured.NestedBool(o.Object, "spec", "paused")
	switch {
	case err != nil || paused:
		return live.Refused("%s is paused (spec.paused), so the change would not roll out", t.ref)
	case cluster.Text(o, "spec", "updateStrategy", "type") == "OnDelete":
		return live.Refused("%s replaces pods only when somebody deletes them (updateStrategy OnDelete)", t.ref)
	case cluster.Count(o, "spec", "updateStrategy", "rollingUpdate", "partition") > 0:
		return live.Refused("%s rolls out only a part of its pods (updateStrategy.rollingUpdate.partition)", t.ref)
	}
	return nil
}

func (t *tokens) risk(up bool) string {
	s := "High: a value that vLLM cannot start with would keep the new pods from becoming ready."
	if up {
		s += " A larger batch needs more GPU memory, which leaves less for the KV cache."
	}
	if t.count > 1 {
		s += " The flag is there more than once; vLLM takes the last, which is the one that is changed."
	}
	return s + " " + t.strategy()
}

// strategy says what the rollout does to the capacity.
func (t *tokens) strategy() string {
	o := t.base.Object
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

func (t *tokens) Admit(to incident.Value) error {
	n, err := live.Whole(to)
	if err != nil {
		return err
	}
	now, err := t.inForce()
	if err != nil {
		return err
	}
	if err := t.rollable(); err != nil {
		return err
	}
	if g := live.Ownership(t.base, live.ArgsField); g.Verdict == incident.GuardRefuse {
		return live.Refused("%s", g.Reason)
	}
	l, _, err := t.limits(now, n)
	if err != nil {
		return err
	}
	return l.Check(n)
}

func (t *tokens) Change(to incident.Value) ([]live.Operation, error) {
	edit, err := t.edited(to)
	if err != nil {
		return nil, err
	}
	at := fmt.Sprintf("/spec/template/spec/containers/%d/", t.box.index)
	out := []live.Operation{live.Test(at+"name", t.box.name)}
	// Both lists must be what was seen: a flag that has come into the other one meanwhile would count, or not count
	// any more.
	if len(t.box.spec.Command) > 0 {
		out = append(out, live.Test(at+"command", t.box.spec.Command))
	}
	if len(t.box.spec.Args) > 0 {
		out = append(out, live.Test(at+"args", t.box.spec.Args))
	}
	return append(out, live.Replace(at+edit.List, edit.After)), nil
}

func (t *tokens) Rollout(_ context.Context, _ incident.Op, _ incident.Value) (incident.Rollout, error) {
	return cluster.Followed(t.base.Object, cluster.Count(t.base.Object, "spec", "replicas"), nil, cluster.PodCount{}), nil
}
