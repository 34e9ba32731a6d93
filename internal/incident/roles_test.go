package incident_test

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// values are those of pods.
func values(of map[string]float64) incident.Reading {
	var r incident.Reading
	for _, pod := range []string{"a", "b", "c", "d"} {
		if v, ok := of[pod]; ok {
			r.Pods = append(r.Pods, incident.PodValue{Pod: pod, Value: v})
		}
	}
	return r
}

func TestARoleIsToldByTheFirstThatKnowsIt(t *testing.T) {
	t.Parallel()
	const prefill, decode = incident.RolePrefill, incident.RoleDecode
	type told map[string]float64
	for _, tt := range []struct {
		name               string
		label, by, serving told
		kubernetes         []incident.PodRole
		prefill, decode    []string
		split, whole       bool
		from               []incident.RoleSource
	}{
		{name: "nothing is known", serving: told{"a": 1, "b": 1}},
		{
			name: "by what they generate", by: told{"a": 1, "b": 0}, serving: told{"a": 1, "b": 1},
			prefill: []string{"a"}, decode: []string{"b"}, split: true, whole: true,
			from: []incident.RoleSource{incident.RoleByBehavior},
		},
		{
			name: "Kubernetes is surer than what they generate", by: told{"a": 1, "b": 0, "c": 0},
			kubernetes: []incident.PodRole{{Pod: "a", Role: decode}, {Pod: "b", Role: prefill}},
			serving:    told{"a": 1, "b": 1, "c": 1},
			prefill:    []string{"b"}, decode: []string{"a", "c"}, split: true, whole: true,
			from: []incident.RoleSource{incident.RoleByKubernetes, incident.RoleByBehavior},
		},
		{
			name: "a label is surest", label: told{"a": 1, "b": 0}, by: told{"a": 0, "b": 1},
			kubernetes: []incident.PodRole{{Pod: "a", Role: decode}, {Pod: "b", Role: prefill}},
			serving:    told{"a": 1, "b": 1},
			prefill:    []string{"a"}, decode: []string{"b"}, split: true, whole: true,
			from: []incident.RoleSource{incident.RoleByLabel},
		},
		{name: "all have the same role", label: told{"a": 0, "b": 0}, serving: told{"a": 1, "b": 1}},
		{
			name: "the role of one isn't known", by: told{"a": 1, "b": 0}, serving: told{"a": 1, "b": 1, "c": 0},
			prefill: []string{"a"}, decode: []string{"b"}, split: true,
			from: []incident.RoleSource{incident.RoleByBehavior},
		},
		{
			name: "the other side is gone", by: told{"a": 1, "b": 0, "c": 0}, serving: told{"b": 1, "c": 1},
		},
		{
			name: "who serves isn't known", by: told{"a": 1, "b": 0},
			prefill: []string{"a"}, decode: []string{"b"}, split: true,
			from: []incident.RoleSource{incident.RoleByBehavior},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := incident.Evidence{PodRoles: tt.kubernetes, Readings: map[string]incident.Reading{
				"prefill_pods_labeled": values(tt.label), "prefill_pods": values(tt.by), "running": values(tt.serving),
			}}.Roles()
			if !slices.Equal(got.Pods(prefill), tt.prefill) || !slices.Equal(got.Pods(decode), tt.decode) {
				t.Errorf("prefill %v, decode %v; want %v, %v", got.Pods(prefill), got.Pods(decode), tt.prefill, tt.decode)
			}
			if got.Split() != tt.split || got.Whole() != tt.whole || !slices.Equal(got.Sources(), tt.from) {
				t.Errorf("split %v, whole %v, from %v", got.Split(), got.Whole(), got.Sources())
			}
		})
	}
}
