package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

func TestTheRuleFilesAreThoseOfTheTemplate(t *testing.T) {
	t.Parallel()
	for variant, file := range files() {
		want, err := render(variant)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "rules", file))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s is not what rules.tmpl makes; run go generate ./deploy/prometheus/generate", file)
		}
	}
}

// rayServe is a variant that its users make themselves, as ../README.md says.
const rayServe = "ray"

// rulesOf is the file with the rules of a variant.
func rulesOf(t *testing.T, variant string) string {
	t.Helper()
	folder, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if variant != rayServe {
		return filepath.Join(folder, "rules", files()[variant])
	}
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	const made = "vllm-alerts-ray.yaml"
	_, line, _ := strings.Cut(string(page), "\n```sh\n")
	line, _, _ = strings.Cut(line, "\n")
	if !strings.HasPrefix(line, "sed ") || !strings.HasSuffix(line, " > "+made) {
		t.Fatalf("the first command of README.md is %q, want the one that makes %s", line, made)
	}
	file := filepath.Join(t.TempDir(), made)
	run := exec.CommandContext(t.Context(), "sh", "-c", strings.TrimSuffix(line, made)+file)
	run.Dir = folder
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return file
}

// The tests in ../tests are written for today's spelling; the other variants have to pass the same ones, respelled.
func TestEveryVariantPassesTheTestsOfTheRules(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	sources, err := filepath.Glob("../tests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for variant, minimum := range map[string]int{v0: 80, underscore: 95, rayServe: 95} {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			dir, rules := t.TempDir(), rulesOf(t, variant)
			args, kept := []string{"test", "rules"}, 0
			for _, path := range sources {
				if name := filepath.Base(path); name == "v0.yaml" || name == "vllm-medic.yaml" { // of one engine; of none
					continue
				}
				text, n := respelled(t, variant, path, rules)
				kept += n
				file := filepath.Join(dir, filepath.Base(path))
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				args = append(args, file)
			}
			if kept < minimum {
				t.Errorf("%d tests are left for this variant, want at least %d", kept, minimum)
			}
			if out, err := exec.CommandContext(t.Context(), tools.Binary(t, "promtool"), args...).CombinedOutput(); err != nil {
				t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
			}
		})
	}
}

const nextTest = "\n  - name: "

// respelled is one file of tests as a variant needs it for its rules, and how many tests it has.
func respelled(t *testing.T, variant, path, rules string) (string, int) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(strings.TrimSuffix(string(b), "\n"), nextTest)
	header := strings.Replace(parts[0], "../rules/"+files()[current], rules, 1)
	if header == parts[0] {
		t.Fatalf("%s does not test %s", path, files()[current])
	}
	spelling, kept := spelling(variant), []string{header}
	for _, test := range parts[1:] {
		if variant == v0 && onlyV1(test) {
			continue
		}
		kept = append(kept, spelling.Replace(test))
	}
	return strings.Join(kept, nextTest) + "\n", len(kept) - 1
}

// onlyV1 tells the tests about what the V0 engine does not have: ranks behind one port, and two names of the cache's
// usage.
func onlyV1(test string) bool {
	return strings.Contains(test, `engine="1"`) || strings.Contains(test, "vllm:gpu_cache_usage_perc")
}

func spelling(variant string) *strings.Replacer {
	switch variant {
	case underscore:
		return strings.NewReplacer("vllm:", "vllm_")
	case rayServe:
		return strings.NewReplacer("vllm:", "ray_vllm_")
	}
	return strings.NewReplacer(
		`engine="0", `, "",
		"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc",
		"vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds",
		"Expect queueing or preemption soon.", "Expect queueing or swapping soon.",
		"Preemptions on 10.0.0.1:8000: the KV cache is full", "vLLM is swapping or preempting requests on 10.0.0.1:8000",
		"About 20 preemptions in 5 minutes with KV cache usage above 95%. The V1 engine doesn''t swap: it preempts requests "+
			"and recomputes them, which causes latency spikes. This alert keeps its old name but counts preemptions.",
		"20 swapped requests now, or preemptions in 5 minutes with KV cache usage above 95%. This indicates severe KV cache "+
			"pressure and causes latency spikes.",
	)
}
