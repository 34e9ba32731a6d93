package actions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The admission policies refuse a scale below the pool's minimum, and a scale has no annotation that would tell a
// rollback from a thief's write. Whoever approves a step that starts there knows it first.
func TestARollbackBelowTheMinimumIsSaidBeforeTheStep(t *testing.T) {
	t.Parallel()
	const want = "the rollback to 1 is below the pool's minimum of 2: where the admission policies are in force they " +
		"refuse it, and 2 stays until someone scales it"
	for _, tt := range []struct {
		name          string
		runs, minimum int64
		hpa           bool
		said          bool
	}{
		{"below", 1, 2, false, true},
		{"at the minimum", 2, 2, false, false},
		{"above", 3, 2, false, false},
		{"the least minimum there is", 1, 1, false, false},
		{"an autoscaler's minimum, which is noted", 1, 2, true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.pool.Knobs.Replicas = &incident.IntKnob{Min: tt.minimum, Max: 8}
			b.serve(tt.runs, nil, served())
			if tt.hpa {
				b.create(hpas, hpa(tt.runs, 6))
			}
			s := b.propose(addOne)
			said := slices.DeleteFunc(s.Cautions(), func(text string) bool { return !strings.Contains(text, "rollback") })
			if tt.said != slices.Equal(said, []string{want}) || !tt.said && len(said) > 0 {
				t.Errorf("cautions about the rollback: %q", said)
			}
		})
	}
}
