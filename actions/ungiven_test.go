package actions_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// unset is a pool that runs with vLLM's own default, which the configuration says.
func unset(t *testing.T) *bench {
	t.Helper()
	b := newBench(t)
	b.tokens().Default = 8192
	b.serve(2, nil, ungiven())
	return b
}

// arguments are those of the container that runs vLLM.
func (b *bench) arguments() any {
	b.t.Helper()
	spec := b.get(deployments).Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	return spec["containers"].([]any)[1].(map[string]any)["args"]
}

// setArgs is somebody else's change of the arguments.
func (b *bench) setArgs(args ...string) {
	b.t.Helper()
	quoted := make([]string, len(args))
	for i, a := range args {
		quoted[i] = fmt.Sprintf("%q", a)
	}
	b.patch(deployments,
		`{"spec":{"template":{"spec":{"containers":[{"name":"proxy","image":"envoy:v1"},`+
			`{"name":"vllm","image":"vllm/vllm-openai:v0.29.0","args":[`+
			strings.Join(quoted, ",")+`]}]}}}}`)
}

func TestAFlagThatIsNotGivenSaysWhereItsValueIsFromAndLeavesTheOtherArgumentsByteForByte(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	if !strings.Contains(s.Cost, "vLLM uses 8192 then is what knobs.max_num_batched_tokens.default says") {
		t.Errorf("cost: %s", s.Cost)
	}
	if want := "\n+--max-num-batched-tokens=4096"; !strings.HasSuffix(s.Diff, want) || strings.Contains(s.Diff, "\n-") {
		t.Errorf("diff: %s", s.Diff)
	}
	b.do(s, incident.OpApply)
	if d := cmp.Diff(anys(append(ungiven(), "--max-num-batched-tokens=4096")), b.arguments()); d != "" {
		t.Errorf("args (-want +got):\n%s", d)
	}
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(ungiven()), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
}

// What an absent flag means depends on version, model and GPU: without a word of the configuration the bot does not
// guess, and a word that cannot be true does not help.
func TestAFlagThatIsNotGivenIsRefusedWhenItsMeaningIsNotKnown(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name          string
		says          int64
		command, args []string
		want          string
	}{
		{"nothing is said", 0, nil, ungiven(), "without knobs.max_num_batched_tokens.default"},
		{
			"fewer than the sequences", 2048, nil,
			[]string{"--max-num-seqs=4096"},
			"does not start with less than its --max-num-seqs",
		},
		{
			"less than a context in one piece", 2048, nil,
			[]string{"--no-enable-chunked-prefill", "--max-model-len=8192"},
			"takes at least its --max-model-len",
		},
		{"the arguments are inside of the image", 8192, nil, nil, "inside of the image"},
		{"a shell", 8192, []string{"/bin/sh", "-c"}, []string{"vllm serve m"}, "shell"},
		{"a variable may bring it", 8192, nil, []string{"$(MORE)"}, "variable"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = tt.says
			b.serve(2, tt.command, tt.args)
			_, err := b.bot.Propose(t.Context(), b.pool, double)
			if outcome(err) != "refused" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
			if tt.says == 0 && !strings.Contains(hintOf(err), "logs at its start") {
				t.Errorf("the hint does not help: %q", hintOf(err))
			}
		})
	}
}

// That pods run proves something about the value they run with. A configured default is no such value: with chunked
// prefill off vLLM raises its own default to max_model_len, and starts with less only when it is told to, which
// fails.
func TestAConfiguredDefaultProvesNothingAboutChunkedPrefill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		args []string
		req  incident.StepRequest
		want string // of the refusal; empty: none
	}{
		{
			"down, a longer context",
			[]string{"--max-num-seqs=256", "--max-model-len=32768"},
			halve,
			"--enable-chunked-prefill is not set and may be off",
		},
		{
			"up, a longer context",
			[]string{"--max-num-seqs=256", "--max-model-len=32768"},
			double,
			"--enable-chunked-prefill is not set and may be off",
		},
		{"up, a context that is not known", []string{"--max-num-seqs=256"}, double, "depends on model and version"},
		{
			"up, draft tokens",
			[]string{"--max-num-seqs=256", "--enable-chunked-prefill", "--speculative-config={}"},
			double,
			"with --speculative-config",
		},
		{"up, a context that fits", []string{"--max-num-seqs=256", "--max-model-len=16384"}, double, ""},
		{"down, chunks on", []string{"--max-num-seqs=256", "--max-model-len=32768", "--enable-chunked-prefill"}, halve, ""},
		{"up, given", []string{"--max-num-seqs=256", "--max-model-len=32768", "--max-num-batched-tokens=8192"}, double, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = 8192
			b.serve(2, nil, tt.args)
			if tt.want == "" {
				s := b.propose(tt.req)
				if err := b.bot.Recheck(t.Context(), b.pool, s); err != nil {
					t.Errorf("recheck: %v", err)
				}
				return
			}
			if _, err := b.bot.Propose(t.Context(), b.pool, tt.req); outcome(err) != "refused" ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// What was proposed while chunked prefill was on is not written when that is no longer said.
func TestAStepOnADefaultIsNotWrittenWhenItsFloorIsNoLongerKnown(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(double)
	b.setArgs("--max-num-seqs=256", "--max-model-len=32768")
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "refused" || !strings.Contains(err.Error(), "the minimum is 32768") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		t.Errorf("written: %v", got)
	}
}

// with gives the container that runs vLLM more fields.
func with(o map[string]any, more map[string]any) map[string]any {
	pod := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
	maps.Copy(pod["containers"].([]any)[1].(map[string]any), more)
	return o
}

// Images and wrappers make flags of variables: a flag that the arguments do not have may still be given.
func TestAFlagThatTheEnvironmentMayGiveIsNotBelievedToBeAbsent(t *testing.T) {
	t.Parallel()
	variable := func(name, value string) map[string]any {
		return map[string]any{"env": []any{map[string]any{"name": name, "value": value}}}
	}
	from := map[string]any{"envFrom": []any{map[string]any{"configMapRef": map[string]any{
		"name":     "engine",
		"optional": true,
	}}}}
	for _, tt := range []struct {
		name string
		args []string
		more map[string]any
		want string // of the refusal; empty: none
	}{
		{
			"the name alone", ungiven(), variable("MAX_NUM_BATCHED_TOKENS", "4096"),
			"the variable MAX_NUM_BATCHED_TOKENS may give it",
		},
		{
			"a wrapper's", ungiven(), variable("SM_VLLM_MAX_NUM_BATCHED_TOKENS", "4096"),
			"the variable SM_VLLM_MAX_NUM_BATCHED_TOKENS may give it",
		},
		{
			"in small letters", ungiven(), variable("vllm_max-num_batched_tokens", ""),
			"the variable vllm_max-num_batched_tokens may give it",
		},
		{"from a ConfigMap", ungiven(), map[string]any{"env": []any{map[string]any{
			"name":      "VLLM_MAX_NUM_BATCHED_TOKENS",
			"valueFrom": map[string]any{"configMapKeyRef": map[string]any{"name": "engine", "key": "tokens", "optional": true}},
		}}}, "the variable VLLM_MAX_NUM_BATCHED_TOKENS may give it"},
		{"variables that cannot be seen", ungiven(), from, "envFrom"},
		{"another variable", ungiven(), variable("VLLM_LOGGING_LEVEL", "INFO"), ""},
		{"given, beside variables that cannot be seen", served(), from, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = 8192
			b.create(deployments, with(deployment(0, nil, tt.args), tt.more))
			if tt.want == "" {
				b.propose(double)
				return
			}
			_, err := b.bot.Propose(t.Context(), b.pool, double)
			if outcome(err) != "refused" || !strings.Contains(err.Error(), tt.want) ||
				!strings.Contains(hintOf(err), "--max-num-batched-tokens") {
				t.Errorf("%v, hint %q", err, hintOf(err))
			}
			if err != nil && strings.Contains(err.Error(), "4096") {
				t.Errorf("the value of a variable is shown: %v", err)
			}
		})
	}
}

// Variables that came after the step are no reason to leave it standing.
func TestTheUndoOfAnAddedFlagIsMadeWhateverTheEnvironmentBrings(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	b.do(s, incident.OpApply)
	spec := with(deployment(2, nil, append(ungiven(), "--max-num-batched-tokens=4096")), map[string]any{
		"envFrom": []any{map[string]any{"configMapRef": map[string]any{"name": "engine", "optional": true}}},
	})["spec"]
	merge, err := json.Marshal(map[string]any{"spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	b.patch(deployments, string(merge))
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(ungiven()), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
	checkObserved(t, b, s, incident.OpUndo, "w.undo", incident.Value{}, true)
}

// A person approves a change from a value. Where only the configuration says which one that is, another word of it
// makes another change.
func TestACorrectedDefaultIsDriftAndDoesNotStopTheUndo(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	if s.Assumed != incident.Set("8192") || s.From.Present {
		t.Fatalf("from %s, assumed %s", s.From, s.Assumed)
	}
	other := s
	other.Assumed = incident.Set("16384")
	if s.Digest != s.ComputeDigest() || other.ComputeDigest() == s.Digest {
		t.Error("the approval does not bind to the assumed default")
	}
	b.tokens().Default = 16384
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "drift" || !strings.Contains(err.Error(),
			"knobs.max_num_batched_tokens.default is 16384 now, and the step was worked out with 8192") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		t.Fatalf("written: %v", got)
	}
	b.tokens().Default = 8192
	b.do(s, incident.OpApply)
	b.tokens().Default = 16384
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(ungiven()), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
}

// Stored incidents hold digests: a step that assumes nothing keeps its own.
func TestAStepThatAssumesNothingKeepsItsDigest(t *testing.T) {
	t.Parallel()
	s := incident.Step{
		Kind: incident.StepReplicas, From: incident.Set("2"), To: incident.Set("3"), Undo: incident.Set("2"),
		Target: incident.Target{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: model, UID: "u",
			Field: "spec.replicas (scale)",
		},
	}
	if got := s.ComputeDigest(); got != "e27354d0c0c6" {
		t.Errorf("digest %s", got)
	}
	b := newBench(t)
	b.tokens().Default = 8192
	b.serve(2, nil, served())
	if s := b.propose(halve); s.Assumed.Present {
		t.Errorf("the flag is given, and %s is assumed", s.Assumed)
	}
}

func TestADefaultThatIsNoLongerConfiguredStopsTheStepAndNotItsUndo(t *testing.T) {
	t.Parallel()
	b := unset(t)
	s := b.propose(halve)
	b.tokens().Default = 0
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "refused" || !strings.Contains(err.Error(), "knobs.max_num_batched_tokens.default") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		t.Fatalf("written: %v", got)
	}
	b.tokens().Default = 8192
	b.do(s, incident.OpApply)
	b.pool.Knobs = b.pool.Knobs.Without(incident.StepMaxNumBatchedTokens)
	b.do(s, incident.OpUndo)
	if d := cmp.Diff(anys(ungiven()), b.arguments()); d != "" {
		t.Errorf("args after the undo (-want +got):\n%s", d)
	}
}
