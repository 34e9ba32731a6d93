package engineargs

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/actions/admission"
	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
	"github.com/vllm-medic/vllm-medic/internal/cluster"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
)

// Knob is one engine argument.
type Knob struct{ argument argument }

// Knobs are those of the table, by the kind of their steps.
func Knobs() map[incident.StepKind]Knob {
	known, out := arguments(), map[incident.StepKind]Knob{}
	for _, row := range incident.EngineArguments() {
		if a, ok := known[row.Kind]; ok {
			a.kind, a.flag = row.Kind, row.Flag()
			out[row.Kind] = Knob{a}
		}
	}
	return out
}

// Needs are the rights on the workload. A kind whose arguments the bot does not change needs none to write.
func (Knob) Needs(ctx context.Context, c kube.Kinds, pool incident.Pool) ([]kube.Need, error) {
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

// Leaves are the flag on the command line of the pool's container.
func (k Knob) Leaves(ctx context.Context, c kube.Kinds, pool incident.Pool) ([]admission.Leaf, error) {
	if !hasArguments(pool.Workload) {
		return nil, nil
	}
	w, err := c.Workload(ctx, pool.Workload)
	if err != nil {
		return nil, err
	}
	l := live.LimitsOf(pool, k.argument.kind)
	return []admission.Leaf{{
		Place: w, Shape: admission.Argument(k.argument.flag), Min: l.Min, Max: l.Max, Container: pool.Workload.Container,
	}}, nil
}

// Shapes is that of the flag.
func (k Knob) Shapes() []admission.Shape {
	return []admission.Shape{admission.Argument(k.argument.flag)}
}

// Find reads the flag. Where it cannot be read, the field says so as broken.
func (k Knob) Find(
	ctx context.Context, c *kube.Reader, pool incident.Pool, at incident.Target,
) (live.Setting, error) {
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
		return nil, refuseOtherSource(ref)
	}
	r, err := c.Resource(ctx, ref.APIVersion, ref.Kind)
	if err != nil {
		return nil, err
	}
	o, err := c.Get(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	s := &setting{argument: k.argument, pool: pool, ref: ref, base: k.argument.field(o, ref.Container)}
	s.base.Resource, s.base.Limits = r, live.LimitsOf(pool, k.argument.kind)
	if s.box, s.flag, s.count, err = k.argument.read(o, ref.Container); err != nil {
		return s.brokenBy(err)
	}
	s.base.Secrets = secretValues(s.box.spec)
	s.base.Value = valueOf(s.flag, s.count)
	if knob := s.knob(); s.count == 0 && knob.Default > 0 {
		s.base.Assumed, s.base.AssumedBy = live.Int(knob.Default), k.argument.defaultSetting()
	}
	s.base.Path[len(s.base.Path)-1] = "f:" + s.list()
	return s, nil
}

// field is the flag in the arguments of a workload, without its value.
func (a argument) field(o *unstructured.Unstructured, name string) live.Field {
	return live.Field{
		Object: o, Version: o.GetResourceVersion(),
		Target: live.TargetOf(o, incident.Target{
			Field: "args[" + name + "] --" + a.flag, Setting: a.flag, Container: name,
		}),
		Path: []string{
			"f:spec", "f:template", "f:spec", "f:containers", fmt.Sprintf(`k:{"name":%q}`, name), "f:args",
		},
		Read: func(o *unstructured.Unstructured) (incident.Value, error) {
			_, f, count, err := a.read(o, name)
			return valueOf(f, count), err
		},
	}
}

// hasArguments says whether the bot changes the arguments of this kind of workload.
func hasArguments(ref incident.WorkloadRef) bool {
	return cluster.Group(ref.APIVersion) == "apps" && (ref.Kind == "Deployment" || ref.Kind == "StatefulSet")
}

// brokenBy keeps a reason of the command line with the field, so that the object can still be shown.
func (s *setting) brokenBy(err error) (live.Setting, error) {
	var no *incident.RefusedError
	if !errors.As(s.toOwner(err), &no) {
		return nil, err
	}
	s.base.Broken, s.base.Unread = no, true
	return s, nil
}

// toOwner makes the hint of a refusal lead to the operator that owns the object: it would revert what a person changes
// in the arguments themselves.
func (s *setting) toOwner(err error) error {
	owner, _ := cluster.OwnerAmong(s.base.Object.GetOwnerReferences())
	if no, ok := errors.AsType[*incident.RefusedError](err); ok && owner != nil {
		at := cmp.Or(live.OperatorFields(owner.APIVersion, owner.Kind).Args, "the arguments")
		no.Hint = fmt.Sprintf("It belongs to %s %s: change %s there.", owner.Kind, owner.Name, at)
	}
	return err
}

// read finds the occurrence of the flag that counts, and how many there are. Where there is none, it is how one would
// be written.
func (a argument) read(o *unstructured.Unstructured, name string) (container, vllm.Flag, int, error) {
	box, err := readContainer(o, name)
	if err != nil {
		return box, vllm.Flag{}, 0, err
	}
	f, count, err := box.line.Last(a.flag)
	switch {
	case err != nil:
		return box, vllm.Flag{}, 0, refuseUnclear(err)
	case f.Fixed() != nil:
		return box, vllm.Flag{}, 0, refuseUnclear(f.Fixed())
	case count == 0:
		f.Key = "--" + a.flag
	}
	return box, f, count, nil
}

// refuseUnclear is a refusal with vLLM's reader's reason.
func refuseUnclear(err error) error {
	if no, is := errors.AsType[*vllm.UnclearError](err); is {
		return live.Refused("%s", no.Reason)
	}
	return err
}
