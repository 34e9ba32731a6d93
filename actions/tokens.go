package actions

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const tokensFlag = "max-num-batched-tokens"

// batchedTokens turns --max-num-batched-tokens in the container's arguments. It restarts every pod: vLLM changes no scheduler setting at run time.
type batchedTokens struct{}

// container is the one whose arguments are vLLM's.
type container struct {
	index         int
	name          string
	command, args []string
}

func (batchedTokens) find(ctx context.Context, c *client, pool incident.Pool) (field, error) {
	if pool.Knobs.MaxNumBatchedTokens == nil {
		return field{}, notConfigured(pool, "max_num_batched_tokens")
	}
	w := pool.Workload
	if w.Kind != "Deployment" && w.Kind != "StatefulSet" {
		return field{}, &incident.RefusedError{Reason: fmt.Sprintf("the arguments of a %s are not changed by the bot; only those of a Deployment or a StatefulSet", w.Kind)}
	}
	r, err := c.resource(w.APIVersion, w.Kind)
	if err != nil {
		return field{}, err
	}
	o, err := c.get(ctx, r, w.Namespace, w.Name)
	if err != nil {
		return field{}, err
	}
	box, err := findContainer(o, w.Container)
	if err != nil {
		return field{}, err
	}
	if err := readable(box.command, box.args); err != nil {
		return field{}, err
	}
	list, listName, at, err := whereFlag(box)
	if err != nil {
		return field{}, err
	}
	now, err := humanInt(at.value)
	if err != nil {
		return field{}, err
	}
	least, err := leastTokens(box)
	if err != nil {
		return field{}, err
	}
	base := fmt.Sprintf("/spec/template/spec/containers/%d", box.index)
	return field{
		resource: r, object: o, target: targetOf(o, fmt.Sprintf("%s[%s] --%s", listName, box.name, tokensFlag)), value: incident.Set(at.value),
		ownership: gitOps(o), extra: map[string]string{"now": strconv.FormatInt(now, 10), "least": strconv.FormatInt(least, 10)},
		set: func(to incident.Value) ([]patchOp, error) {
			if !to.Present {
				return nil, &incident.RefusedError{Reason: "the flag is not taken away by the bot"}
			}
			return []patchOp{
				{"test", base + "/name", box.name}, {"test", base + "/" + listName, list}, {"replace", base + "/" + listName, withFlag(list, at, to.Text)},
			}, nil
		},
	}, nil
}

// whereFlag says in which list the flag stands: the arguments, or the command when everything is there.
func whereFlag(box container) ([]string, string, flagAt, error) {
	for _, l := range []struct {
		name string
		list []string
	}{{"args", box.args}, {"command", box.command}} {
		at, found, err := findFlag(l.list, tokensFlag)
		if err != nil {
			return nil, "", flagAt{}, err
		}
		if found {
			return l.list, l.name, at, nil
		}
	}
	return nil, "", flagAt{}, &incident.RefusedError{
		Reason: fmt.Sprintf("--%s is not set, and the default depends on version and GPU, so its effective value is not known; set it once by hand", tokensFlag),
	}
}

func findContainer(o *unstructured.Unstructured, name string) (container, error) {
	boxes, _, err := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if err != nil {
		return container{}, &incident.RefusedError{Reason: "the containers of the workload cannot be read"}
	}
	for n, b := range boxes {
		m, ok := b.(map[string]any)
		if !ok || m["name"] != name {
			continue
		}
		command, _, err1 := unstructured.NestedStringSlice(m, "command")
		args, _, err2 := unstructured.NestedStringSlice(m, "args")
		if err := errors.Join(err1, err2); err != nil {
			return container{}, &incident.RefusedError{Reason: "the arguments of the container cannot be read: " + err.Error()}
		}
		return container{index: n, name: name, command: command, args: args}, nil
	}
	return container{}, &incident.RefusedError{Reason: fmt.Sprintf("the workload has no container %q", name)}
}

// leastTokens is the lowest value that vLLM starts with under the other flags: at least max_num_seqs, and at least max_model_len when chunked
// prefill is off. What the flags do not say with certainty refuses.
func leastTokens(box container) (int64, error) {
	all := append(append([]string{}, box.command...), box.args...)
	read := func(name string) (int64, bool, error) {
		at, found, err := findFlag(all, name)
		if err != nil || !found {
			return 0, false, err
		}
		n, err := humanInt(at.value)
		return n, true, err
	}
	least, found, err := read("max-num-seqs")
	if err != nil {
		return 0, err
	}
	if !found {
		// Unset, newer versions lower it to max_num_batched_tokens by themselves and older ones default to at most 1024.
		least = 1024
	}
	if !chunked(all) {
		length, found, err := read("max-model-len")
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, &incident.RefusedError{Reason: "chunked prefill is off and --max-model-len is not set, so the lowest value that vLLM starts with is not known"}
		}
		least = max(least, length)
	}
	for _, a := range all {
		if key, _ := splitFlag(a); key == "speculative-config" || key == "disable-chunked-mm-input" {
			return 0, &incident.RefusedError{Reason: "with speculative decoding or unchunked images the lowest value that vLLM starts with is not known"}
		}
	}
	return least, nil
}

// chunked says whether chunked prefill is on, which is vLLM's default.
func chunked(args []string) bool {
	on := true
	for _, a := range args {
		switch key, val := splitFlag(a); key {
		case "no-enable-chunked-prefill":
			on = false
		case "enable-chunked-prefill":
			on = !strings.EqualFold(val, "false")
		}
	}
	return on
}

func (batchedTokens) next(now field, pool incident.Pool, req incident.StepRequest) (incident.Value, []incident.Guardrail, error) {
	n, err1 := strconv.ParseInt(now.extra["now"], 10, 64)
	least, err2 := strconv.ParseInt(now.extra["least"], 10, 64)
	if err := errors.Join(err1, err2); err != nil {
		return incident.Value{}, nil, err
	}
	to, err := wanted(n, req)
	if err != nil {
		return incident.Value{}, nil, err
	}
	knob := *pool.Knobs.MaxNumBatchedTokens
	if least > knob.Min {
		knob.Min = least
	}
	if knob.Min > knob.Max {
		return incident.Value{}, nil, &incident.RefusedError{Reason: fmt.Sprintf("vLLM needs at least %d here, and the bounds end at %d", least, knob.Max)}
	}
	return bounded(n, to, knob)
}

func (batchedTokens) describe(s *incident.Step, now field, pool incident.Pool) {
	s.Title = fmt.Sprintf("Set max_num_batched_tokens of %s from %s to %s", pool.Workload.Name, now.extra["now"], s.To)
	s.Cost = "a rollout of every pod: requests in flight may be cut, the first start compiles again, and the prefix cache is lost"
	s.Speed = "many minutes: each pod loads and compiles before it serves"
	s.Risk = "high: while it rolls out there is less capacity, and a bad value keeps new pods from starting"
	s.Needs = incident.Needs{Confirm: true, Restart: true}
}

// rollout follows the workload.
func (batchedTokens) rollout(ctx context.Context, c *client, pool incident.Pool, _ incident.Step, _ incident.Value) (incident.Rollout, error) {
	r, err := c.resource(pool.Workload.APIVersion, pool.Workload.Kind)
	if err != nil {
		return incident.Rollout{}, err
	}
	o, err := c.get(ctx, r, pool.Workload.Namespace, pool.Workload.Name)
	if err != nil {
		return incident.Rollout{}, err
	}
	return workloadRollout(o), nil
}
