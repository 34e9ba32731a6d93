package actions_test

import (
	"log/slog"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// nowhere is a pool of a cluster that does not answer.
func nowhere() incident.Pool {
	return incident.Pool{
		Name: "x", Workload: incident.WorkloadRef{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: "x",
			Container: "vllm",
		},
		Knobs: incident.Knobs{
			Replicas: &incident.IntKnob{Min: 1, Max: 2}, Arguments: incident.ArgumentKnobs{
				incident.StepMaxNumBatchedTokens: {Min: 1, Max: 2},
			},
			Throttle: &incident.ThrottleKnob{
				Kind: "envoy-gateway", Namespace: "n", Name: "x", Field: "requests", Min: 1,
				Max: 2,
			},
		},
	}
}

// An error is not a "no": the engine ends a step that is refused and tries again what could not be asked.
func TestAClusterThatCannotBeAskedIsNoRefusal(t *testing.T) {
	t.Parallel()
	r, err := actions.New(actions.Config{}, &rest.Config{Host: "https://127.0.0.1:1", BearerToken: secret},
		slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range []remediation.Executor{r, r.DryRun()} {
		for _, req := range []incident.StepRequest{addOne, halve, shed} {
			step := incident.Step{
				ID: "s", Kind: req.Kind, From: incident.Set("1"), To: incident.Set("2"),
				Target: incident.Target{
					APIVersion: "apps/v1", Kind: "Deployment", Namespace: "n", Name: "x", UID: "u",
					Field: "args[vllm] --max-num-batched-tokens",
				},
			}
			if req.Kind == incident.StepThrottle {
				step.Target.APIVersion, step.Target.Kind = "gateway.envoyproxy.io/v1alpha1", "BackendTrafficPolicy"
			}
			_, proposed := e.Propose(t.Context(), nowhere(), req)
			_, observed := e.Observe(t.Context(), nowhere(), step, incident.OpApply, "w", nil)
			_, rolled := e.Rollout(t.Context(), nowhere(), step, incident.OpApply)
			_, marked := e.Mark(t.Context(), nowhere(), step)
			_, looked := e.Reversal(t.Context(), nowhere(), step, incident.OpApply)
			_, applied := e.Do(t.Context(), nowhere(), step, incident.OpApply, "w")
			_, undone := e.Do(t.Context(), nowhere(), step, incident.OpUndo, "w")
			for name, err := range map[string]error{
				"mark": marked, "look": looked, "propose": proposed, "observe": observed, "rollout": rolled,
				"recheck": e.Recheck(t.Context(), nowhere(), step),
				"apply":   applied, "undo": undone,
			} {
				if outcome(err) != "unknown" || !strings.Contains(err.Error(), "connection refused") ||
					strings.Contains(err.Error(), secret) {
					t.Errorf("%s %s: %v", name, req.Kind, err)
				}
			}
		}
	}
}

func TestWhatIsNoStepOfTheBotIsRefusedUnasked(t *testing.T) {
	t.Parallel()
	r, err := actions.New(actions.Config{}, &rest.Config{Host: "https://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []incident.StepKind{incident.StepManual, "restart", ""} {
		_, err := r.Propose(t.Context(), nowhere(), incident.StepRequest{Kind: kind, Add: 1})
		if outcome(err) != "refused" || !strings.Contains(err.Error(), "is not a step that the bot can run") {
			t.Errorf("%q: %v", kind, err)
		}
	}
	if _, err := r.Do(t.Context(), nowhere(), incident.Step{Kind: incident.StepReplicas}, incident.OpApply,
		""); outcome(err) != "refused" {
		t.Errorf("a write without an id: %v", err)
	}
}

func TestTheRulesOfKubernetesOwnKindsNeedNoCluster(t *testing.T) {
	t.Parallel()
	r, err := actions.New(actions.Config{}, &rest.Config{Host: "https://127.0.0.1:1"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pool := nowhere()
	for _, kind := range []string{"Deployment", "StatefulSet", "ReplicaSet"} {
		pool.Workload.Kind = kind
		got, err := r.Rules(t.Context(), []incident.Pool{pool}, incident.ModeApprove)
		if err != nil || len(got) != 1 || got[0].Rules[0].Resources[0] != strings.ToLower(kind)+"s" {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
	pool.Workload.Kind = "LLMThing"
	if _, err := r.Rules(t.Context(), []incident.Pool{pool}, ""); err == nil ||
		!strings.Contains(err.Error(), "rights for pool x") {
		t.Errorf("a kind that has to be asked for: %v", err)
	}
}

func TestNewRefusesWhatIsMissing(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]func() (*actions.Registry, error){
		"a client configuration": func() (*actions.Registry, error) {
			return actions.New(actions.Config{}, nil, slog.New(slog.DiscardHandler))
		},
		"a logger": func() (*actions.Registry, error) { return actions.New(actions.Config{}, &rest.Config{}, nil) },
		"an address": func() (*actions.Registry, error) {
			return actions.New(actions.Config{}, &rest.Config{Host: "::"}, slog.New(slog.DiscardHandler))
		},
	} {
		if _, err := try(); err == nil {
			t.Errorf("New does without %s", name)
		}
	}
}
