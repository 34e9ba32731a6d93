package actions_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// platform is how a project's own manifests start vLLM.
type platform struct {
	name, container, image string
	command, args          []string
	more                   map[string]any
}

// platforms have neither --max-num-batched-tokens nor --enable-chunked-prefill, as their projects' manifests have
// neither.
func platforms() []platform {
	secretRef := map[string]any{"secretKeyRef": map[string]any{
		"name": "hf-secret", "key": "hf_api_token",
		"optional": true,
	}}
	return []platform{
		{
			name: "GKE's tutorials", container: "inference-server", image: "vllm/vllm-openai:v0.11.0",
			command: []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}, args: []string{
				"--model=$(MODEL_ID)",
				"--tensor-parallel-size=2",
			},
			more: map[string]any{"env": []any{
				map[string]any{"name": "MODEL_ID", "value": "google/gemma-3-27b-it"},
				map[string]any{"name": "HUGGING_FACE_HUB_TOKEN", "valueFrom": secretRef},
			}},
		},
		{
			name: "llm-d's guides", container: "vllm", image: "ghcr.io/llm-d/llm-d-cuda:v0.4.0",
			command: []string{"vllm", "serve"}, args: []string{
				"Qwen/Qwen3-32B", "--port", "8200", "--served-model-name", "Qwen/Qwen3-32B", "--disable-uvicorn-access-log",
				"--tensor-parallel-size", "2",
				"--gpu-memory-utilization=0.95", "--kv-transfer-config", `{"kv_connector":"NixlConnector", "kv_role":"kv_both"}`,
			},
			more: map[string]any{"env": []any{
				map[string]any{
					"name":      "VLLM_NIXL_SIDE_CHANNEL_HOST",
					"valueFrom": map[string]any{"fieldRef": map[string]any{"fieldPath": "status.podIP"}},
				},
				map[string]any{"name": "VLLM_LOGGING_LEVEL", "value": "INFO"},
			}},
		},
		{
			name: "AIBrix' samples", container: "vllm-openai", image: "vllm/vllm-openai:v0.11.0",
			command: []string{
				"vllm", "serve", "--host", "0.0.0.0", "--port", "8000", "--uvicorn-log-level", "warning", "--model",
				"deepseek-ai/DeepSeek-R1-Distill-Llama-8B",
				"--served-model-name", "deepseek-r1-distill-llama-8b", "--max-model-len", "12288",
			},
		},
		{
			name: "a token by envFrom", container: "vllm", image: "registry.corp/inference:4",
			command: []string{"/usr/local/bin/vllm", "serve", "meta-llama/Llama-70B"}, args: []string{"--port=8000"},
			more: map[string]any{"envFrom": []any{map[string]any{"secretRef": map[string]any{
				"name":     "hf-token",
				"optional": true,
			}}}},
		},
	}
}

// run makes the workload of a platform and points the pool at it.
func (b *bench) run(p platform) {
	b.t.Helper()
	b.pool.Workload.Container = p.container
	b.create(deployments, with(renamed(deployment(0, p.command, p.args), p.container, p.image), p.more))
}

// renamed gives the container that runs vLLM another name and image.
func renamed(o map[string]any, name, image string) map[string]any {
	return with(o, map[string]any{"name": name, "image": image})
}

// list is one list of words of a container, as it is there now.
func (b *bench) list(container, field string) []string {
	b.t.Helper()
	boxes, _, err := unstructured.NestedSlice(b.get(deployments).Object, "spec", "template", "spec", "containers")
	if err != nil {
		b.t.Fatal(err)
	}
	at := slices.IndexFunc(boxes, func(c any) bool { return c.(map[string]any)["name"] == container })
	words, _, err := unstructured.NestedStringSlice(boxes[at].(map[string]any), field)
	if err != nil {
		b.t.Fatal(err)
	}
	return words
}

// What vLLM logs at its start, in the configuration, is enough: nobody edits a manifest and restarts a pool to be
// allowed to restart it later.
func TestTokensAreLoweredOnTheManifestsOfRealPlatformsAndRestored(t *testing.T) {
	t.Parallel()
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = 8192
			b.tokens().ChunkedPrefill = new(true)
			b.run(p)
			s := b.propose(halve)
			if s.To != incident.Set("4096") || s.From.Present {
				t.Fatalf("from %s to %s", s.From, s.To)
			}
			if err := b.bot.Recheck(t.Context(), b.pool, s); err != nil {
				t.Fatalf("recheck: %v", err)
			}
			command, args := p.command, p.args
			if len(args) > 0 {
				args = append(slices.Clone(args), "--max-num-batched-tokens=4096")
			} else {
				command = append(slices.Clone(command), "--max-num-batched-tokens=4096")
			}
			b.do(s, incident.OpApply)
			if d := cmp.Diff([][]string{command, args}, [][]string{
				b.list(p.container, "command"),
				b.list(p.container, "args"),
			}); d != "" {
				t.Errorf("after the step (-want +got):\n%s", d)
			}
			b.do(s, incident.OpUndo)
			if d := cmp.Diff([][]string{p.command, p.args}, [][]string{
				b.list(p.container, "command"),
				b.list(p.container, "args"),
			}); d != "" {
				t.Errorf("after the undo (-want +got):\n%s", d)
			}
		})
	}
}

func TestTokensAreNotLoweredWhereNobodySaysWhetherPromptsAreCut(t *testing.T) {
	t.Parallel()
	for _, p := range platforms() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = 8192
			b.run(p)
			_, err := b.bot.Propose(t.Context(), b.pool, halve)
			if outcome(err) != "refused" || !strings.Contains(err.Error(), "knobs.max_num_batched_tokens.chunked_prefill") {
				t.Errorf("nothing is said: %v", err)
			}
			// Without chunks vLLM would have raised its default to the length of the context, and would not start with less.
			b.tokens().ChunkedPrefill = new(false)
			if _, err = b.bot.Propose(t.Context(), b.pool, halve); outcome(err) != "refused" ||
				!strings.Contains(err.Error(), "chunked prefill is off") {
				t.Errorf("it is off: %v", err)
			}
		})
	}
}

// A step that was allowed because chunked prefill was said to be on is not written when that is taken back before the
// click.
func TestChunkedPrefillIsAskedForAgainAtTheClick(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tokens().Default = 8192
	b.tokens().ChunkedPrefill = new(true)
	b.run(platforms()[2])
	s := b.propose(halve)
	b.tokens().ChunkedPrefill = nil
	for what, err := range map[string]error{
		"recheck": b.bot.Recheck(t.Context(), b.pool, s), "apply": b.bot.Do(t.Context(), b.pool, s, incident.OpApply, "w1"),
	} {
		if outcome(err) != "refused" || !strings.Contains(err.Error(), "may be off") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := b.writes(kubetest.Bot); len(got) > 0 {
		t.Errorf("written: %v", got)
	}
}

// The flag of vLLM keeps another server from starting. What is not known to be vLLM gets none.
func TestAFlagIsNotAddedToAnotherServerThanVLLM(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		platform
		want, hint string
	}{
		{
			platform{
				name: "SGLang", image: "lmsysorg/sglang:v0.5.3",
				args: []string{"--model-path", "meta-llama/Llama-70B", "--tp-size=2", "--port=8000"},
			},
			"container vllm is not known to run vLLM (vLLM has no flag --model-path", "command: [vllm, serve]",
		},
		{
			platform{
				name: "SGLang by flags that vLLM has too", image: "registry.corp/llm:7",
				args: []string{"--model=meta-llama/Llama-70B", "--tensor-parallel-size=2", "--port=8000"},
			},
			"the image registry.corp/llm and the command do not say so", "give --max-num-batched-tokens by hand",
		},
		{
			platform{
				name: "SGLang behind an entry point that runs its words", image: "nvcr.io/nvidia/pytorch:25.01",
				args: []string{"python3", "-m", "sglang.launch_server", "--model=m"},
			},
			"the container runs python3 -m sglang.launch_server", "",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.tokens().Default = 8192
			b.tokens().ChunkedPrefill = new(true)
			tt.container = "vllm"
			b.run(tt.platform)
			for _, req := range []incident.StepRequest{halve, double} {
				_, err := b.bot.Propose(t.Context(), b.pool, req)
				if outcome(err) != "refused" || !strings.Contains(err.Error(), tt.want) || !strings.Contains(hintOf(err), tt.hint) {
					t.Errorf("%v, hint %q", err, hintOf(err))
				}
			}
		})
	}
}

// A sidecar named by mistake: nobody is told to give vLLM's flags to a routing proxy.
func TestAContainerNamedByMistakeIsToldAsThat(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.tokens().Default = 8192
	o := deployment(0, []string{"vllm", "serve", "m"}, []string{"--port=8200"})
	boxes := o["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
	boxes[0] = map[string]any{
		"name": "routing-proxy", "image": "ghcr.io/llm-d/llm-d-routing-sidecar:v0.4.0",
		"args": anys([]string{"--port=8000", "--vllm-port=8200"}),
	}
	b.create(deployments, o)
	b.pool.Workload.Container = "routing-proxy"
	_, err := b.bot.Propose(t.Context(), b.pool, halve)
	if outcome(err) != "refused" || !strings.Contains(err.Error(), "container routing-proxy is not known to run vLLM") ||
		strings.Contains(err.Error(), "chunked") {
		t.Errorf("%v", err)
	}
	if want := "Is workload.container right? vLLM seems to run in vllm."; hintOf(err) != want {
		t.Errorf("hint %q, want %q", hintOf(err), want)
	}
}

func TestARefusedKindSaysWhereItHasItsArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.pool.Workload.APIVersion, b.pool.Workload.Kind = "serving.kserve.io/v1beta1", "InferenceService"
	_, err := b.bot.Propose(t.Context(), b.pool, halve)
	if outcome(err) != "refused" || !strings.Contains(err.Error(),
		"the arguments of InferenceService "+b.ns+"/"+model+" are not changed by the bot") ||
		!strings.Contains(hintOf(err), "spec.predictor.model.args") {
		t.Errorf("%v, hint %q", err, hintOf(err))
	}
}

// Dynamo's own program takes vLLM's flags, but from its operator: whoever reads the refusal learns from which field.
func TestARefusedProgramOfAnOperatorSaysWhereTheArgumentsAre(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	o := deployment(0, []string{"python3", "-m", "dynamo.vllm"}, []string{"--model", "m"})
	o["metadata"].(map[string]any)["ownerReferences"] = []any{map[string]any{
		"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoComponentDeployment", "name": "decode", "uid": "0b1e",
		"controller": true,
	}}
	b.create(deployments, o)
	_, err := b.bot.Propose(t.Context(), b.pool, halve)
	if outcome(err) != "refused" || !strings.Contains(err.Error(), "runs python3 -m dynamo.vllm") {
		t.Errorf("%v", err)
	}
	want := "It belongs to DynamoComponentDeployment decode: change spec.extraPodSpec.mainContainer.args there."
	if hintOf(err) != want {
		t.Errorf("hint %q, want %q", hintOf(err), want)
	}
}

// A Deployment that an operator's object made is changed there, in the field that the refusal names.
func TestARefusedChildSaysWhereItsOwnerHasTheArguments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.c.InstallCRD(t, kubetest.VLLMRuntimes)
	runtime := b.create(runtimes, object("production-stack.vllm.ai/v1alpha1", "VLLMRuntime",
		map[string]any{"deploymentConfig": map[string]any{"image": "vllm"}}))
	o := deployment(0, nil, served())
	ownedBy([]any{map[string]any{
		"apiVersion": runtime.GetAPIVersion(), "kind": "VLLMRuntime", "name": model, "uid": string(runtime.GetUID()),
		"controller": true,
	}})(o)
	b.create(deployments, o)
	s, err := b.bot.Propose(t.Context(), b.pool, halve)
	if err != nil {
		t.Fatal(err)
	}
	if got := refusals(s); !strings.Contains(got, "belongs to VLLMRuntime "+model) ||
		!strings.Contains(got, "change spec.vllmConfig.extraArgs there") {
		t.Errorf("refused for %q", got)
	}
}
