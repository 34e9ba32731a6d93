package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestSelectorOf(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for _, tt := range []struct {
		name, kind string
		selector   any
		want       string
		none, bad  bool
	}{
		{"labels", "Deployment", m{"matchLabels": m{"app": "x"}}, "app=x", false, false},
		{
			"expressions", "Deployment",
			m{"matchExpressions": []any{m{"key": "app", "operator": "In", "values": []any{"x", "y"}}}},
			"app in (x,y)", false,
			false,
		},
		{
			"groups of pods, leaders and workers", "LeaderWorkerSet", nil, "leaderworkerset.sigs.k8s.io/name=thing", false,
			false,
		},
		{"an empty selector would take every pod", "Deployment", m{}, "", true, false},
		{"so would one that says nothing", "Deployment", m{"matchLabels": m{}}, "", true, false},
		{"none", "VLLMRuntime", nil, "", true, false},
		{"a text", "VLLMRuntime", "app=x", "", true, false},
		{"a pod has none", "Pod", m{"matchLabels": m{"app": "x"}}, "", true, false},
		{
			"an operator that does not exist", "Deployment",
			m{"matchExpressions": []any{m{"key": "app", "operator": "Like"}}},
			"", true, true,
		},
		{"labels that are no texts", "Deployment", m{"matchLabels": m{"app": int64(1)}}, "", true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			spec := m{}
			if tt.selector != nil {
				spec["selector"] = tt.selector
			}
			got, err := selectorOf(
				&unstructured.Unstructured{Object: m{"kind": tt.kind, "metadata": m{"name": "thing"}, "spec": spec}},
			)
			if (err != nil) != tt.bad || (got == nil) != tt.none || got != nil && got.String() != tt.want {
				t.Errorf("selectorOf = %v, %v", got, err)
			}
		})
	}
}
