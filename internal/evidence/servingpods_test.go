package evidence

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// besides is a Kubernetes that knows pods which are not the workload's.
type besides struct {
	fakeKube
	asked   *[]string
	answers []incident.Pod
}

func (k besides) Named(_ context.Context, _ string, pods []string) ([]incident.Pod, error) {
	*k.asked = pods
	return k.answers, k.err
}

func TestPodsThatAreNotTheWorkloadsAreReadByName(t *testing.T) {
	t.Parallel()
	a := incident.Pod{Name: "a", Version: "0.24.0", Role: incident.RoleDecode}
	b := incident.Pod{Name: "b", Version: "0.24.0", Role: incident.RoleDecode}
	other := incident.Pod{Name: "other", Version: "0.10.1", Role: incident.RolePrefill}
	for _, tt := range []struct {
		name    string
		serving []string
		answers []incident.Pod
		err     error
		asked   []string
		want    []incident.Pod
		roles   []incident.PodRole
	}{
		{
			"all are the workload's",
			[]string{"a", "b"},
			nil, nil, nil,
			[]incident.Pod{a, b},
			[]incident.PodRole{{Pod: "a", Role: incident.RoleDecode}, {Pod: "b", Role: incident.RoleDecode}},
		},
		{
			"a prefill pod beside it",
			[]string{"a", "other"},
			[]incident.Pod{other},
			nil,
			[]string{"other"},
			[]incident.Pod{a, b, other},
			[]incident.PodRole{{Pod: "a", Role: incident.RoleDecode}, {Pod: "other", Role: incident.RolePrefill}},
		},
		{
			"one that may not be read",
			[]string{"a", "b", "other"},
			nil, errors.New("forbidden"),
			[]string{"other"},
			[]incident.Pod{a, b},
			[]incident.PodRole{{Pod: "a", Role: incident.RoleDecode}, {Pod: "b", Role: incident.RoleDecode}},
		},
		{
			"other names altogether, as those of instances",
			[]string{"10.0.0.1:8000", "10.0.0.2:8000"},
			nil, nil, nil,
			[]incident.Pod{a, b},
			nil,
		},
	} {
		var asked []string
		c := newCollector(t, asking("http://127.0.0.1:1"), besides{fakeKube{err: tt.err}, &asked, tt.answers})
		got := c.podsKnown(t.Context(), llmPool(), tt.serving, incident.Cluster{Pods: []incident.Pod{a, b}})
		if d := cmp.Diff(tt.want, got); d != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, d)
		}
		if d := cmp.Diff(tt.asked, asked); d != "" {
			t.Errorf("%s asked for (-want +got):\n%s", tt.name, d)
		}
		if d := cmp.Diff(tt.roles, rolesOf(got, tt.serving)); d != "" {
			t.Errorf("%s has roles (-want +got):\n%s", tt.name, d)
		}
	}
}
