package remediation_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/policy"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

func TestDiagnoseKeepsNothingAndWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas))
	b.sight.see(sick(5, addReplica()))
	got, err := b.investigator.Diagnose(t.Context(), "llama", nil)
	if err != nil || len(got) != 1 {
		t.Fatalf("got %v, %v", got, err)
	}
	inc := got[0]
	if inc.Diagnosis == nil || inc.Diagnosis.Name != "overload" || len(inc.Plan.Steps) != 1 || !inc.DryRun ||
		inc.ID != "" {
		t.Errorf("got %+v", inc)
	}
	if g := guard(t, inc.Plan.Steps[0], "mode"); g.Verdict != incident.GuardPass {
		t.Errorf("mode: %+v", g)
	}
	b.sweep()
	if len(b.all()) != 0 || len(b.live.written()) != 0 {
		t.Error("a diagnosis was kept or acted on")
	}
}

// A dry run does without the right to write; a pool in mode approve does not, and a look at it must say so as serve
// would.
func TestDiagnoseProposesAsTheModeOfThePoolDoes(t *testing.T) {
	t.Parallel()
	for mode, refused := range map[incident.Mode]bool{
		incident.ModeApprove: true, incident.ModeAuto: true,
		incident.ModeDryRun: false, incident.ModeObserve: false,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{inMode(llama(), mode)})
			b.live.refuse[incident.StepReplicas] = &incident.RefusedError{
				Reason: "the bot lacks permission to patch deployments.apps/scale",
			}
			b.sight.see(sick(5, addReplica()))
			got, err := b.investigator.Diagnose(t.Context(), "llama", nil)
			if err != nil {
				t.Fatal(err)
			}
			s := got[0].Plan.Steps[0]
			if strings.Contains(s.Reason, "lacks permission to patch") != refused ||
				refused && s.State != incident.StepRefused ||
				!got[0].DryRun {
				t.Errorf("the step is %s (%s)", s.State, s.Reason)
			}
		})
	}
}

func TestDiagnoseAnswersEveryPoolThatThePayloadLeadsTo(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama(), qwen()})
	b.sight.see(well())
	b.sight.seeAt("qwen", blind())
	b.sight.owned("", ownersAnswer{err: errSilent})
	got, err := b.investigator.Diagnose(t.Context(), "", []incident.Alert{
		alert("A", "qwen"), alert("B", "llama"),
		alert("C", "mixtral"),
	})
	if err != nil {
		t.Fatal(err)
	}
	pools := map[string]incident.State{}
	for _, inc := range got {
		pools[inc.Pool] = inc.State
	}
	if diff := cmp.Diff(map[string]incident.State{"": "watching", "llama": "watching", "qwen": "watching"},
		pools); diff != "" {
		t.Fatalf("pools (-want +got):\n%s", diff)
	}
	for _, want := range []string{"could not be found: the API server is away", "No pool matches these alerts"} {
		if !strings.Contains(got[0].Note, want) {
			t.Errorf("the note of the stray alert lacks %q: %s", want, got[0].Note)
		}
	}
	if note := got[2].Note; note != "The readings are missing." || got[2].Readings["ttft"].Value != nil {
		t.Errorf("qwen: note %q, readings %+v", note, got[2].Readings)
	}
}

// Outside of the bot there is no store: no guardrail finds an earlier write, a lock or a pause, and a scaling is
// nobody's own.
func TestAnInvestigatorNeedsNoStore(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, auto(incident.StepReplicas))
	b.pause("llama")
	f := sick(5, addReplica())
	f.cluster.Changes = []incident.RecentChange{{Kind: incident.ChangeScale, At: start, To: new(int64(2))}}
	b.sight.see(f)
	alone, err := remediation.NewInvestigator(b.cfg.Pools, b.cfg.Policy, remediation.InvestigatorDeps{
		Collector: b.sight, Playbooks: b.sight, Live: b.live, DryRun: b.dryRun, Logger: b.deps.Logger, Now: b.clock,
	})
	if err != nil {
		t.Fatal(err)
	}
	for investigator, want := range map[*remediation.Investigator]incident.GuardVerdict{
		alone: incident.GuardPass, b.investigator: incident.GuardRefuse,
	} {
		got, err := investigator.Diagnose(t.Context(), "llama", nil)
		if err != nil {
			t.Fatal(err)
		}
		if g := guard(t, got[0].Plan.Steps[0], "pause"); g.Verdict != want {
			t.Errorf("pause: %+v, want %s", g, want)
		}
		if got[0].Cluster.Changes[0].Own {
			t.Error("a scaling is taken for the bot's own")
		}
	}
}

func TestAnInvestigatorNamesWhatItLacks(t *testing.T) {
	t.Parallel()
	_, err := remediation.NewInvestigator(nil, policy.Settings{HourlyBudget: -1}, remediation.InvestigatorDeps{})
	for _, want := range []string{"Collector", "Playbooks", "Logger", "Now", "hourly_budget"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not named: %v", want, err)
		}
	}
}

func TestDiagnoseOfAnUnknownPoolIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	if _, err := b.investigator.Diagnose(t.Context(), "lama", nil); err == nil ||
		!strings.Contains(err.Error(), `"lama"`) {
		t.Errorf("got %v", err)
	}
}

func TestDiagnoseWithoutKubernetesAnswersAndMarksTheSteps(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()}, func(_ *remediation.Config, d *remediation.Deps) {
		d.Live, d.DryRun = nil,
			nil
	})
	b.sight.see(sick(5, addReplica(), throttle()))
	got, err := b.investigator.Diagnose(t.Context(), "llama", nil)
	if err != nil || got[0].Diagnosis == nil || len(got[0].Plan.Steps) != 2 {
		t.Fatalf("got %+v, %v", got, err)
	}
	for _, s := range got[0].Plan.Steps {
		if s.State != incident.StepRefused || !strings.Contains(s.Reason, "no Kubernetes") || s.Title == "" {
			t.Errorf("step %+v", s)
		}
	}
}
