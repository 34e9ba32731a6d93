package actions_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// A person chooses a smaller change than the playbook asks for: it is worked out, checked by the API server and written
// like any other. What is no smaller change, or out of bounds, is refused.
func TestAChosenValue(t *testing.T) {
	t.Parallel()
	scale := addOne
	scale.Add = 4
	limit := func(b *bench) { b.create(policies, policy(parallel(184))) }
	for _, tt := range []struct {
		name   string
		make   func(b *bench)
		req    incident.StepRequest
		chosen int64
		title  string
		refuse string
	}{
		{"a limit", limit, shed, 150, "from 184 to 150", ""},
		{"a limit that goes further", limit, shed, 91, "", "91 isn't a smaller change than 184 to 92"},
		{"a limit of now", limit, shed, 184, "", "isn't a smaller change"},
		{"replicas", func(b *bench) { b.serve(2, nil, served()) }, scale, 3, "from 2 to 3 replicas", ""},
		{"too many replicas", func(b *bench) { b.serve(2, nil, served()) }, scale, 7, "", "isn't a smaller change"},
		{
			"an argument below its bounds",
			func(b *bench) {
				b.tokens().Min = 6000
				b.serve(2, nil, served())
			},
			halve, 5000, "", "5000 is out of bounds; the closest value is 6000",
		},
		{
			"an argument", func(b *bench) { b.serve(2, nil, served()) }, halve, 6144,
			"from 8192 to 6144", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			tt.req.Chosen = tt.chosen
			s, err := b.bot.Propose(t.Context(), b.pool, tt.req)
			if no, ok := errors.AsType[*incident.RefusedError](err); tt.refuse != "" {
				if !ok || !strings.Contains(no.Reason, tt.refuse) {
					t.Errorf("%v, want %q", err, tt.refuse)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(s.Title, tt.title) || !s.Executable() || !strings.Contains(s.Diff, s.To.Text) {
				t.Errorf("%q, refused for %q\n%s", s.Title, refusals(s), s.Diff)
			}
			b.do(s, incident.OpApply)
		})
	}
}
