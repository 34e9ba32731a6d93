package admission

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/vllm-medic/vllm-medic/actions/kube"
	"github.com/vllm-medic/vllm-medic/actions/live"
)

const flag = "max-num-batched-tokens"

// served is a Deployment whose container vllm has a command line.
func served(command, args []string, notes map[string]any) map[string]any {
	list := func(words []string) []any {
		out := make([]any, len(words))
		for n, w := range words {
			out[n] = w
		}
		return out
	}
	box := map[string]any{"name": "vllm", "image": "vllm/vllm-openai:v0.29.0"}
	for name, words := range map[string][]string{"command": command, "args": args} {
		if len(words) > 0 {
			box[name] = list(words)
		}
	}
	meta := map[string]any{"name": "x", "namespace": "llm", "labels": map[string]any{"a": "b"}}
	if notes != nil {
		meta["annotations"] = notes
	}
	return map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta,
		"spec": map[string]any{"replicas": int64(2), "template": map[string]any{"spec": map[string]any{
			"containers": []any{map[string]any{"name": "proxy", "args": []any{"--max-num-batched-tokens=1"}}, box},
		}}},
	}
}

func note(value string) map[string]any { return map[string]any{live.UndoNote(flag): value} }

// The bot writes the flag in the spelling that is there, adds it at the end, and takes away what it has added. Anything
// else of a command line stays, and a value beyond the limits is only that of a note which was there before.
func TestOnlyTheFlagOfACommandLineChanges(t *testing.T) {
	t.Parallel()
	e := evaluatorOf(t, Policies([]Leaf{{
		Place: kube.Place{
			Resource:  schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Namespace: "llm", Name: "x",
		},
		Shape: Argument(flag), Min: 2048, Max: 16384, Container: "vllm",
	}}, "bot", "medic")[1])
	serve := []string{"vllm", "serve", "m"}
	line := func(words ...string) []string { return words }
	for name, tt := range map[string]struct {
		command, args, toCommand, toArgs []string
		was, is                          map[string]any
		want                             bool
	}{
		"nothing": {command: serve, args: line("--a"), toCommand: serve, toArgs: line("--a"), want: true},
		"joined":  {args: line("--a", "--"+flag+"=8192"), toArgs: line("--a", "--"+flag+"=4096"), want: true},
		"separate": {
			args: line("--"+flag, "8192", "-tp", "2"), toArgs: line("--"+flag, "4096", "-tp", "2"), want: true,
		},
		"underscores": {
			args: line("--max_num_batched_tokens=8k"), toArgs: line("--max_num_batched_tokens=4096"), want: true,
		},
		"in the command": {
			command: append(serve, "--"+flag, "8192"), toCommand: append(serve, "--"+flag, "4096"), args: line("--a"),
			toArgs: line("--a"), want: true,
		},
		"across both lists": {
			command: append(serve, "--"+flag), toCommand: append(serve, "--"+flag), args: line("8192", "--a"),
			toArgs: line("4096", "--a"), want: true,
		},
		"the last of two": {
			args: line("--"+flag+"=1", "--"+flag+"=8192"), toArgs: line("--"+flag+"=1", "--"+flag+"=4096"), want: true,
		},
		"added to args": {
			command: serve, args: line("--a"), toCommand: serve, toArgs: line("--a", "--"+flag+"=4096"), is: note("absent"),
			want: true,
		},
		"added to a command": {command: serve, toCommand: append(serve, "--"+flag+"=4096"), is: note("absent"), want: true},
		"taken away": {
			args: line("--"+flag+"=4096", "--a"), toArgs: line("--a"), was: note("absent"), is: note("absent"), want: true,
		},
		"a pair taken away": {
			args: line("--b", "--"+flag, "4096", "--a"), toArgs: line("--b", "--a"), was: note("absent"), is: note("absent"),
			want: true,
		},
		"a pair taken out of a command": {
			command: append(serve, "--"+flag, "4096"), toCommand: serve, args: line("--a"), toArgs: line("--a"),
			was: note("absent"), is: note("absent"), want: true,
		},
		"a noted value": {
			args: line("--" + flag + "=4096"), toArgs: line("--" + flag + "=8k"), was: note("8k"), is: note("8k"), want: true,
		},
		"a noted value replaced": {
			args: line("--" + flag + "=8k"), toArgs: line("--" + flag + "=4096"), is: note("8k"), want: true,
		},

		"too much":                   {args: line("--" + flag + "=8192"), toArgs: line("--" + flag + "=1000000")},
		"too little":                 {args: line("--"+flag, "8192"), toArgs: line("--"+flag, "1")},
		"another spelling":           {args: line("--" + flag + "=8192"), toArgs: line("--max_num_batched_tokens=4096")},
		"no number":                  {args: line("--" + flag + "=8192"), toArgs: line("--" + flag + "=4096 --a")},
		"another flag":               {args: line("--a=8192"), toArgs: line("--a=4096")},
		"another flag's value":       {args: line("--a", "8192"), toArgs: line("--a", "4096")},
		"a flag in place of a value": {args: line("--"+flag, "--a"), toArgs: line("--"+flag, "4096")},
		"two words":                  {args: line("--"+flag+"=8192", "--a"), toArgs: line("--"+flag+"=4096", "--b")},
		"another flag added":         {args: line("--a"), toArgs: line("--a", "--trust-remote-code")},
		"added in the middle":        {args: line("--a", "--b"), toArgs: line("--a", "--"+flag+"=4096", "--b")},
		"added twice":                {args: line("--"+flag, "8192"), toArgs: line("--"+flag, "8192", "--"+flag+"=4096")},
		"added to the command too": {
			command: serve, args: line("--a"), toCommand: append(serve, "--"+flag+"=4096"), toArgs: line("--a"),
		},
		"added to an image's command": {toCommand: line("--" + flag + "=4096")},
		"added beyond":                {args: line("--a"), toArgs: line("--a", "--"+flag+"=1000000")},
		"taken away without a note":   {args: line("--"+flag+"=4096", "--a"), toArgs: line("--a")},
		"taken away with a new note":  {args: line("--"+flag+"=4096", "--a"), toArgs: line("--a"), is: note("absent")},
		"another one taken away": {
			args: line("--"+flag+"=4096", "--a"), toArgs: line("--" + flag + "=4096"), was: note("absent"), is: note("absent"),
		},
		"more taken away":               {args: line("--"+flag+"=4096", "--a"), was: note("absent"), is: note("absent")},
		"words moved between the lists": {command: serve, args: line("--a"), toCommand: append(serve, "--a")},
		"a made-up note": {
			args: line("--" + flag + "=8192"), toArgs: line("--" + flag + "=4096"), is: note("999999"),
		},
		"a note taken away": {
			args: line("--" + flag + "=8192"), toArgs: line("--" + flag + "=4096"), was: note("8k"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := e.passes(served(tt.toCommand, tt.toArgs, tt.is), served(tt.command, tt.args, tt.was), "llm", "x")
			if got != tt.want || err != nil && tt.want {
				t.Errorf("it passes: %v, %v", got, err)
			}
			if other, _ := e.passes(served(tt.toCommand, tt.toArgs, tt.is), served(tt.command, tt.args, tt.was), "llm",
				"y"); other {
				t.Error("it passes for an object of nobody's pool")
			}
		})
	}
}
