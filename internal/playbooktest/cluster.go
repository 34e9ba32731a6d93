package playbooktest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var ago = regexp.MustCompile(`^(\S+) ago$`)

// fromJSON reads a part of the file whose fields are those of an incident's JSON. Texts such as "5m ago" become times
// before now. The error comes with the node that it is about.
func fromJSON(n *yaml.Node, now time.Time, out any) (*yaml.Node, error) {
	absolute(n, now)
	var v any
	if err := n.Load(&v); err != nil {
		return n, err
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return n, err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(out); err != nil {
		return culprit(n, err)
	}
	return nil, nil
}

func absolute(n *yaml.Node, now time.Time) {
	if n.Kind == yaml.ScalarNode {
		if m := ago.FindStringSubmatch(n.Value); m != nil {
			if d, err := model.ParseDuration(m[1]); err == nil {
				n.Value, n.Tag = now.Add(-time.Duration(d)).Format(time.RFC3339Nano), "!!str"
			}
		}
		return
	}
	for _, below := range n.Content {
		absolute(below, now)
	}
}

var unknownJSON = regexp.MustCompile(`unknown field "([^"]+)"`)

// culprit finds what an error of the JSON decoder is about: it names fields, not places.
func culprit(n *yaml.Node, err error) (*yaml.Node, error) {
	if m := unknownJSON.FindStringSubmatch(err.Error()); m != nil {
		err = fmt.Errorf("there is no field %q here", m[1])
		if key := keyNamed(n, m[1]); key != nil {
			n = key
		}
		return n, err
	}
	if wrong, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // the decoder returns it as it is
		return n, fmt.Errorf("%s: a %s does not belong here", wrong.Field, wrong.Value)
	}
	return n, err
}

func keyNamed(n *yaml.Node, name string) *yaml.Node {
	for i, below := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			if below.Value == name {
				return below
			}
			continue
		}
		if found := keyNamed(below, name); found != nil {
			return found
		}
	}
	return nil
}

// kube is a Kubernetes that says what the test says.
type kube struct{ cluster incident.Cluster }

// Cluster implements evidence.Kube.
func (k kube) Cluster(_ context.Context, ref incident.WorkloadRef, _ time.Time) incident.Cluster {
	out := k.cluster
	if out.Workload.IsZero() {
		out.Workload = ref
	}
	return out
}

// Owners implements evidence.Kube. Tests name their pool; nothing is looked for.
func (kube) Owners(context.Context, string, string) ([]incident.WorkloadRef, error) {
	return nil, incident.ErrNoWorkload
}

// PodsAt implements evidence.Kube.
func (kube) PodsAt(context.Context, string, string) ([]evidence.PodAddress, error) { return nil, nil }
