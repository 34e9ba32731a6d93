package actions_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func TestADryRunWritesNothing(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			before := b.get(tt.in)
			dryRun := b.bot.DryRun()
			s, err := dryRun.Propose(t.Context(), b.pool, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			checkProposal(t, b, tt, s)
			if err := dryRun.Recheck(t.Context(), b.pool, s); err != nil {
				t.Errorf("recheck: %v", err)
			}
			if err := dryRun.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
				t.Errorf("apply: %v", err)
			}
			checkObserved(t, b, s, incident.OpApply, "w1", tt.from, false)
			if d := cmp.Diff(before.Object["spec"], b.get(tt.in).Object["spec"]); d != "" {
				t.Errorf("changed (-before +after):\n%s", d)
			}
			if got := b.get(tt.in).GetAnnotations()[actions.Annotation]; got != "" {
				t.Errorf("annotation %q", got)
			}
			tried := 0
			for _, e := range b.c.Audit(t, kubetest.Bot) {
				switch {
				case e.ObjectRef == nil || e.ObjectRef.Namespace != b.ns:
				case e.Verb == "patch" && e.DryRun(): // one that an autoscaler's own change of its status refused is tried again
					if e.Code() == http.StatusOK {
						tried++
					}
				case e.Writing() && !e.Review():
					t.Errorf("sent: %s", e)
				}
			}
			if tried != 3 { // at the proposal, at the recheck, at the write
				t.Errorf("%d dry-runs were accepted", tried)
			}
		})
	}
}

func TestADryRunSeesDriftToo(t *testing.T) {
	t.Parallel()
	for _, tt := range meddlings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			dryRun := b.bot.DryRun()
			s, err := dryRun.Propose(t.Context(), b.pool, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			b.patch(tt.in, tt.merge)
			if err := dryRun.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); outcome(err) != "drift" {
				t.Errorf("apply: %v", err)
			}
		})
	}
}

func TestWithoutTheRightToWriteADryRunGoesOnAndTheRealThingIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			b.grant(kubetest.Viewer, incident.ModeDryRun)
			viewer := b.as(kubetest.Viewer, nil)
			resource, _, _ := strings.Cut(strings.TrimPrefix(tt.wrote, "patch "), "/")

			s, err := viewer.Propose(t.Context(), b.pool, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if s.Executable() || s.Checked.OK || s.Checked.Why == "" || !strings.Contains(refusals(s), "patch "+resource) {
				t.Errorf("real: executable %v, %+v, refused for %q", s.Executable(), s.Checked, refusals(s))
			}
			for what, err := range map[string]error{
				"recheck": viewer.Recheck(t.Context(), b.pool, s), "apply": viewer.Do(t.Context(), b.pool, s, incident.OpApply,
					"w1"),
			} {
				if outcome(err) != "refused" || !strings.Contains(err.Error(), "patch "+resource) {
					t.Errorf("real %s: %v", what, err)
				}
			}

			dryRun := viewer.DryRun()
			s, err = dryRun.Propose(t.Context(), b.pool, tt.req)
			if err != nil {
				t.Fatal(err)
			}
			if !s.Executable() || s.Checked.OK || s.Checked.Why == "" || s.Diff == "" {
				t.Errorf("dry run: executable %v, %+v, refused for %q, diff %q", s.Executable(), s.Checked, refusals(s), s.Diff)
			}
			if got := strings.Join(s.Cautions(), "; "); !strings.Contains(got, "patch "+resource) {
				t.Errorf("the dry run warns of %q, want the right that the real thing lacks", got)
			}
			if err := dryRun.Recheck(t.Context(), b.pool, s); err != nil {
				t.Errorf("dry run recheck: %v", err)
			}
			if err := dryRun.Do(t.Context(), b.pool, s, incident.OpApply, "w1"); err != nil {
				t.Errorf("dry run apply: %v", err)
			}
			if got := b.writes(kubetest.Viewer); len(got) > 0 {
				t.Errorf("written: %v", got)
			}
		})
	}
}

func TestWithoutTheRightToReadEverythingIsRefusedByNameOfTheRight(t *testing.T) {
	t.Parallel()
	for _, tt := range turns() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			tt.make(b)
			s := b.propose(tt.req)
			nobody := b.as(kubetest.Viewer, nil)
			_, err := nobody.Propose(t.Context(), b.pool, tt.req)
			for what, err := range map[string]error{
				"propose": err, "recheck": nobody.Recheck(t.Context(), b.pool, s), "apply": nobody.Do(t.Context(), b.pool, s,
					incident.OpApply, "w1"),
			} {
				if outcome(err) != "refused" || !strings.Contains(err.Error(), "lacks permission to get ") {
					t.Errorf("%s: %v", what, err)
				}
			}
			if o, err := nobody.Observe(t.Context(), b.pool, s, incident.OpApply, "w1", nil); err == nil {
				t.Errorf("observed %+v without the right to look", o)
			}
		})
	}
}

// refusals are the reasons of the guardrails that refuse.
func refusals(s incident.Step) string {
	var out []string
	for _, g := range s.Guardrails {
		if g.Verdict == incident.GuardRefuse {
			out = append(out, g.Reason)
		}
	}
	return strings.Join(out, "; ")
}
