package playbooks_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/size"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// known are the names of a pool of which everything is known.
func known() map[string]string {
	return map[string]string{
		"namespace": "llm", "pod": "llama-70b-0", "node": "gpu-17", "container": "vllm",
		"workload": "deployment/llama-70b", "model": "meta-llama/Llama-3-70B",
	}
}

func TestACommandHasTheRealNames(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, line string
		change     map[string]string
		want       string // empty: left out
	}{
		{
			"all known", "kubectl -n {namespace} logs {pod} -c {container} --previous", nil,
			"kubectl -n llm logs llama-70b-0 -c vllm --previous",
		},
		{"a workload and a model", "x {workload} {model}", nil, "x deployment/llama-70b meta-llama/Llama-3-70B"},
		{
			"no pod", "kubectl -n {namespace} delete pod {pod}",
			map[string]string{"pod": ""},
			"kubectl -n llm delete pod <pod>",
		},
		{
			"no container", "kubectl -n {namespace} exec {pod} -c {container} -- ls",
			map[string]string{"container": ""},
			"kubectl -n llm exec llama-70b-0 -- ls",
		},
		{"no namespace, so perhaps no Kubernetes", "kubectl -n {namespace} get pods", map[string]string{"namespace": ""}, ""},
		{"nothing to fill", "vllm-medic check --live", map[string]string{"namespace": ""}, "vllm-medic check --live"},
		{
			"a command in a name", "kubectl -n {namespace} delete pod {pod}",
			map[string]string{"pod": "x; rm -rf /"},
			"kubectl -n llm delete pod 'x; rm -rf /'",
		},
		{
			"a quotation mark", "kubectl -n {namespace} delete pod {pod}",
			map[string]string{"pod": "a'$(id)"},
			`kubectl -n llm delete pod 'a'\''$(id)'`,
		},
		{"an option", "kubectl -n {namespace} delete pod {pod}", map[string]string{"pod": "--all"}, ""},
		{"a line of its own", "kubectl -n {namespace} delete pod {pod}", map[string]string{"pod": "a\nreboot"}, ""},
		{"a carriage return", "kubectl -n {namespace} delete pod {pod}", map[string]string{"pod": "a\rb"}, ""},
		{"text that turns around", "kubectl -n {namespace} delete pod {pod}", map[string]string{"pod": "a\u202eb"}, ""},
		{"no text", "kubectl -n {namespace} delete pod {pod}", map[string]string{"pod": "a\xff"}, ""},
		{
			"longer than a name can be", "kubectl -n {namespace} delete pod {pod}",
			map[string]string{"pod": strings.Repeat("a", 254)},
			"",
		},
		{
			"a namespace is foreign too", "kubectl -n {namespace} get pods",
			map[string]string{"namespace": "a b"},
			"kubectl -n 'a b' get pods",
		},
		{"braces of the command's own", "jq '{pods}' {pod}", nil, "jq '{pods}' llama-70b-0"},
	} {
		values := known()
		maps.Copy(values, tt.change)
		got, ok := playbooks.Filled(tt.line, values)
		if want := tt.want != ""; ok != want || ok && got != tt.want {
			t.Errorf("%s: got %q, %t; want %q", tt.name, got, ok, tt.want)
		}
	}
}

// hostile are names that would do something in a shell that reads them as more than a word.
func hostile() []string {
	return []string{
		"x; touch hit", "$(touch hit)", "`touch hit`", "a' ; touch hit; '", `a\'; touch hit; '`, "a && touch hit",
		"| touch hit", "> hit", "a*?[b]~", "~root", "#", "a\"; touch hit; \"", "!!", "{a,b}", "a  b", "%s", "=x", "é",
	}
}

// What stands in a label of a metric reaches the program as the one argument that it is, by a real shell.
func TestAForeignNameIsOneWordOfTheShell(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range hostile() {
		values := known()
		values["pod"] = name
		line, ok := playbooks.Filled("kubectl -n {namespace} delete pod {pod} -c {container}", values)
		if !ok {
			t.Errorf("%q is left out, though it can be quoted", name)
			continue
		}
		cmd := exec.CommandContext(t.Context(), sh, "-c", `kubectl() { printf '%s\n' "$@"; }; `+line)
		cmd.Dir = t.TempDir()
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, out)
		}
		if want := "-n\nllm\ndelete\npod\n" + name + "\n-c\nvllm\n"; string(out) != want {
			t.Errorf("%s: the program got %q, want %q", line, out, want)
		}
		if left, err := os.ReadDir(cmd.Dir); err != nil || len(left) > 0 {
			t.Errorf("%s: the shell wrote %v, %v", line, left, err)
		}
	}
}

// FuzzOneWord: whatever a name is, it becomes one word of a shell that means the name, or none at all.
func FuzzOneWord(f *testing.F) {
	for _, name := range append(hostile(), "llama-0", "--all", "a\nb", "a\u202eb", "\xff", "") {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		word, ok := playbooks.OneWord(name)
		if !ok {
			return
		}
		if strings.ContainsAny(word, "\n\r\x00") || strings.HasPrefix(name, "-") {
			t.Fatalf("%q became %q", name, word)
		}
		if got := meant(t, word); got != name {
			t.Errorf("%q became %q, which a shell reads as %q", name, word, got)
		}
		for _, template := range []string{"kubectl delete pod {pod}", "a {pod} b {pod}"} {
			if line, ok := playbooks.Filled(template, map[string]string{"pod": name}); ok && !strings.Contains(line, word) {
				t.Errorf("%q is not in %q", word, line)
			}
		}
	})
}

// meant is what a POSIX shell reads in a word of single quotes, of \' and of characters that mean themselves.
func meant(t *testing.T, word string) string {
	t.Helper()
	var out strings.Builder
	for i := 0; i < len(word); i++ {
		switch c := word[i]; {
		case c == '\'':
			end := strings.IndexByte(word[i+1:], '\'')
			if end < 0 {
				t.Fatalf("%q is not closed", word)
			}
			out.WriteString(word[i+1 : i+1+end])
			i += end + 1
		case c == '\\' && i+1 < len(word) && word[i+1] == '\'':
			out.WriteByte('\'')
			i++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("._/-", c) >= 0:
			out.WriteByte(c)
		default:
			t.Fatalf("%q: a shell may read %q", word, c)
		}
	}
	return out.String()
}

func TestACommandThatWouldRunOrWriteAForeignNameIsAnError(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"kubectl logs {pod}":                      "",
		"kubectl get pods -o jsonpath='{.items}'": "",
		"kubectl logs {pod} | grep x > pod.log":   "",
		"{pod} logs":                              "cannot be the program",
		"true; {pod}":                             "cannot be the program",
		"kubectl logs x | {pod}":                  "cannot be the program",
		"echo $({pod})":                           "cannot be the program",
		"kubectl logs x > {pod}.log":              "cannot name a file",
		"kubectl apply -f < a-{pod}":              "cannot name a file",
		"kubectl logs '{pod}'":                    "without quotation marks",
		`kubectl logs "{pod}"`:                    "without quotation marks",
		"kubectl logs {pdo}":                      `unknown placeholder "pdo"; did you mean "pod"?`,
		"kubectl logs 'x":                         "never closed",
		"kubectl\nlogs":                           "one line",
		"kubectl\u202elogs":                       "one line",
		"  ":                                      "empty",
		strings.Repeat("x", 301):                  "at most 300",
	} {
		got := playbooks.WrongCommand(line)
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

// templates are the commands of the built-in playbooks, each once.
func templates(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, a := range builtin(t, playbooks.Options{}).Answers() {
		for _, m := range a.Manual {
			out = append(out, m.Commands...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Manual steps that only plan, or that are done where the bot can't know a name, have none.
func TestManualStepsOfTheBuiltInPlaybooksHaveCommands(t *testing.T) {
	t.Parallel()
	without := []string{
		"long-answers", // max_tokens at the gateway
		"long-prefill", "slow-kv-offload",
	}
	for _, a := range builtin(t, playbooks.Options{}).Answers() {
		for _, m := range a.Manual {
			if len(m.Commands) == 0 && !slices.Contains(without, a.Diagnosis) {
				t.Errorf("%s: %q has no command", a.Diagnosis, m.Advice)
			}
			for _, line := range m.Commands {
				text, ok := playbooks.Filled(line, known())
				if !ok || strings.ContainsAny(text, "{<") && !strings.Contains(line, "<") {
					t.Errorf("%s: %q is not filled: %q, %t", a.Diagnosis, line, text, ok)
				}
			}
		}
	}
}

// kubectl itself understands each command: it gets as far as asking a server, of which there is none. A shell reads the
// lines, as people paste them.
func TestKubectlUnderstandsTheCommands(t *testing.T) {
	t.Parallel()
	kubectl := tools.Binary(t, "kubectl")
	home := t.TempDir()
	config := filepath.Join(home, "config")
	if err := os.WriteFile(config, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, template := range templates(t) {
		line, ok := playbooks.Filled(template, known())
		if !ok || !strings.HasPrefix(line, "kubectl ") {
			continue
		}
		program, _, _ := strings.Cut(line, " | ")
		cmd := exec.CommandContext(t.Context(), "sh", "-c",
			`kubectl() { "$KUBECTL" --server=http://127.0.0.1:1 --kubeconfig "$KUBECONFIG" "$@"; }; `+program)
		cmd.Dir = home
		cmd.Env = []string{"KUBECTL=" + kubectl, "KUBECONFIG=" + config, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "127.0.0.1:1") {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
}

// crashed is a pool of which one pod is in a restart loop.
func crashed() incident.Evidence {
	ev := readings(with(map[string]float64{"ttft_p95": 9}))
	ready, all := int64(1), int64(2)
	ev.Cluster = incident.Cluster{
		Replicas: &all, ReadyReplicas: &ready,
		Workload: incident.WorkloadRef{
			APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "llama", Container: "engine",
		},
		Pods: []incident.Pod{
			{Name: "a", Ready: true, Node: "gpu-1"},
			{Name: "b", CrashLooping: true, Restarts: 4, Node: "gpu-2"},
		},
		Crashes: []incident.Crash{{Pod: "b", Container: "vllm", ExitCode: 1, At: ev.At, Log: []string{"killed"}}},
	}
	return ev
}

func TestADiagnosisNamesItsPodsInHeadlineAndCommands(t *testing.T) {
	t.Parallel()
	got := builtin(t, playbooks.Options{}).Diagnose(playbooks.Input{
		Alerts: alerts("vLLMEngineDown"), Pool: chat(), Evidence: crashed(),
	})
	d := got.Diagnosis
	if nameOf(d) != "engine-dead" {
		t.Fatalf("got %s", nameOf(d))
	}
	if want := "pod b crashed (1 of 2 ready); ttft_p95 9"; d.Headline != want {
		t.Errorf("the headline is %q, want %q", d.Headline, want)
	}
	if len(d.Affected) != 1 || d.Affected[0] != (incident.AffectedPod{Pod: "b", Container: "vllm", Node: "gpu-2"}) {
		t.Errorf("it is about %+v", d.Affected)
	}
	want := []string{
		"kubectl -n llm logs b -c vllm --previous --tail=200 > crash.log",
		"kubectl -n llm describe pod b", "kubectl describe node gpu-2",
	}
	if at := len(got.Steps) - 1; !slices.Equal(got.Steps[at].Commands, want) {
		t.Errorf("got %q", got.Steps[at].Commands)
	}
}

// Without Kubernetes the namespace of the metrics is where the pods are; the address of a target is no pod.
func TestCommandsWithoutKubernetes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		pool incident.Pool
		pod  string
		want string // of the first command; empty: there are none
	}{
		{
			"a namespace and a pod",
			incident.Pool{Matchers: map[string]string{"namespace": "llm"}},
			"a",
			"kubectl -n llm logs a --tail=200 > stall.log",
		},
		{
			"an address",
			incident.Pool{Matchers: map[string]string{"namespace": "llm"}},
			"10.0.0.7:8000",
			"kubectl -n llm logs <pod> --tail=200 > stall.log",
		},
		{"no namespace", incident.Pool{Matchers: map[string]string{"model_name": "m"}}, "a", ""},
	} {
		ev := readings(with(map[string]float64{
			"generation_tokens_rate": 0, "prompt_tokens_rate": 0, "stalled_pods": 1, "pods_serving": 1,
		}))
		r := ev.Readings["stalled_pods"]
		r.Unit, r.Pods = incident.UnitCount, []incident.PodValue{{Pod: tt.pod, Value: 1}}
		ev.Readings["stalled_pods"] = r
		ev.Cluster.NotConfigured = true
		tt.pool.SLO = chat().SLO
		in := playbooks.Input{Alerts: alerts("vLLMStalled"), Pool: tt.pool, Evidence: ev}
		got := builtin(t, playbooks.Options{}).Diagnose(in)
		if nameOf(got.Diagnosis) != "stalled" {
			t.Fatalf("%s: got %s", tt.name, nameOf(got.Diagnosis))
		}
		first := ""
		if all := got.Steps[0].Commands; len(all) > 0 {
			first = all[0]
		}
		if first != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, first, tt.want)
		}
	}
}
