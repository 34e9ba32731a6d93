package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Each of these was accepted, and would have failed at the first incident, or asked people of whom there are none.
func TestSlipsThatOnlyAnIncidentWouldShowAreRefused(t *testing.T) {
	t.Parallel()
	match := "    match: {model_name: llama}\n"
	matchers := "    matchers: {model_name: llama}\n"
	for _, tc := range []struct{ name, old, with, want string }{
		{
			"no approvers", "mode: approve\n", "mode: approve\napprovers: {default: {users: []}}\n",
			"medic.yaml:6:23: approvers.default.users: is empty, so nobody can approve in Slack, and pool llama is in mode " +
				"approve; list the ids of users or groups, leave both out to decide on the command line only, or use mode dry-run",
		},
		{
			"no groups", "mode: approve\n", "mode: auto\napprovers: {replicas: {groups: []}}\n",
			"approvers.replicas.groups: is empty, so nobody can approve in Slack, and pool llama is in mode auto",
		},
		{
			"no approvers of a pool", "    knobs:\n", "    approvers: {default: {users: [], groups: []}}\n    knobs:\n",
			"medic.yaml:11:27: pools[0].approvers.default.users: is empty",
		},
		{
			"a regular expression", match, "    match: {model_name: llama-.*}\n",
			`medic.yaml:8:13: pools[0].match.model_name: "llama-.*" is compared as it is, and it reads like a regular ` +
				"expression; write the value in full, and give each further value a pool of its own",
		},
		{"several values", match, `    match: {model_name: "llama|mixtral"}` + "\n", `"llama|mixtral" is compared as it is`},
		{"the whole value", match, `    match: {model_name: "^llama$"}` + "\n", `"^llama$" is compared as it is`},
		{"digits", match, `    match: {pod: 'llama-\d+'}` + "\n", `is compared as it is`},
		{"a class", match, `    match: {pod: "llama-[0-9]+"}` + "\n", `is compared as it is`},
		{"an escape", match, `    match: {model_name: 'llama-3\.1'}` + "\n", `is compared as it is`},
		{"an operator", match, `    match: {model_name: "~llama"}` + "\n", `is compared as it is`},
		{"a glob", match, `    match: {model_name: "llama-*"}` + "\n", `is compared as it is`},
		{
			"a regular expression in a matcher", matchers, `    matchers: {model_name: "llama.+"}` + "\n",
			`pools[0].matchers.model_name: "llama.+" is compared as it is`,
		},
		{
			"a label of no query", matchers, "    matchers: {model-name: llama}\n",
			"medic.yaml:9:16: pools[0].matchers.model-name: is not the name of a label that a query can have: letters, " +
				"digits and _, and neither __name__, le nor quantile; use a label that the series of vLLM have in Prometheus",
		},
		{"the metric's name", matchers, "    matchers: {__name__: up}\n", "matchers.__name__: is not the name of a label"},
		{"a histogram's own label", matchers, `    matchers: {le: "5"}` + "\n", "matchers.le: is not the name of a label"},
		{
			"a value that is too long", matchers, "    matchers: {model_name: " + strings.Repeat("x", 513) + "}\n",
			"matcher model_name: its value has 513 bytes, more than 512",
		},
		{
			"tokens in thousands", "    knobs:\n", "    knobs:\n      max_num_batched_tokens: {min: 1, max: 100}\n",
			"medic.yaml:12:40: pools[0].knobs.max_num_batched_tokens.max: 100 is below 256, the least that vLLM has by " +
				"default on any hardware: nothing could ever be set; write the most that your engines may have",
		},
		{
			"a long name", "  - name: llama\n", "  - name: " + strings.Repeat("x", 300) + "\n",
			"medic.yaml:7:5: pools[0].name: has 300 characters; use at most 100",
		},
		{
			"a NUL", "namespace: llm, name: llama, container", "namespace: llm, name: ll\x00ama, container",
			"medic.yaml:10:79: there is a control character (U+0000), which YAML doesn't allow; remove it",
		},
		{
			"Latin-1", "name: llama\n", "name: llama # f\xfcr uns\n",
			"medic.yaml:7:20: the byte 0xFC is not UTF-8; save the file as UTF-8",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(sound, tc.old) {
				t.Fatalf("%q is not in the sound configuration", tc.old)
			}
			_, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)), opts(nil))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %q in it", err, tc.want)
			}
		})
	}
}

func TestWhatOnlyLooksLikeASlipIsAccepted(t *testing.T) {
	t.Parallel()
	match := "    match: {model_name: llama}\n"
	for _, tc := range []struct{ name, old, with string }{
		{"approvers in a dry run", "mode: approve\n", "mode: dry-run\napprovers: {default: {users: []}}\n"},
		{"approvers that are left out", "mode: approve\n", "mode: approve\napprovers: {default: {expire: 10m}}\n"},
		{"no users but groups", "mode: approve\n", "mode: approve\napprovers: {default: {users: [], groups: [S0123]}}\n"},
		{
			"an empty list that the pool replaces", "mode: approve\npools:\n  - name: llama\n",
			"mode: approve\napprovers: {default: {users: []}}\npools:\n  - name: llama\n" +
				"    approvers: {default: {users: [U0123]}}\n",
		},
		{"a model with dots", match, `    match: {model_name: "meta-llama/Llama-3.1-70B"}` + "\n"},
		{"an instance", match, `    match: {instance: "[2001:db8::1]:8000"}` + "\n"},
		{"an image", match, `    match: {image: "registry.example/vllm:v0.11.0@sha256:0a1b"}` + "\n"},
		{"a model with a plus", match, `    match: {model_name: "c++ (beta) [a] {b}"}` + "\n"},
		{"the least of tokens", "    knobs:\n", "    knobs:\n      max_num_batched_tokens: {min: 1, max: 256}\n"},
		{"a long name of other letters", "  - name: llama\n", "  - name: " + strings.Repeat("ü", 100) + "\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(sound, tc.old) {
				t.Fatalf("%q is not in the sound configuration", tc.old)
			}
			if _, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)), opts(nil)); err != nil {
				t.Error(err)
			}
		})
	}
}

// Tokens are put together here, so that no scanner takes them for leaked ones.
func TestASecretInPlaceOfANameIsNeverShown(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{
		"xoxb-" + "1234567890-abcdefABCDEF", "hvs." + "CAESIJ0123456789abcdefABCD", "gsk_" + "0123456789abcdefABCDEFGHIJ",
		"0a1b2c3d4e5f60718293a4b5c6d7e8f9", "my secret", "hunter2!", "-----BEGIN PRIVATE KEY-----",
	} {
		for _, setting := range []string{
			"access: {viewer_token_env: %q}", "access: {viewer_token_file: %q}",
			"alertmanager: {auth: {bearer_token_env: %q}}", "store: {url_env: %q}",
			"alertmanager: {auth: {bearer_token: %q}}", "alertmanager: {auth: %q}", "timing: {expire: %q}",
		} {
			text := strings.Replace(sound, `store: {url: "sqlite:///tmp/medic.db"}`+"\n", "", 1)
			text = strings.Replace(text, "mode: approve\n", "mode: approve\n"+strings.Replace(setting, "%q", `"`+secret+`"`, 1)+
				"\n", 1)
			_, err := Parse("medic.yaml", []byte(text), opts(nil))
			if err == nil {
				t.Errorf("%s is accepted with %q", setting, secret)
				continue
			}
			plain := secret == "my secret" || secret == "hunter2!" || !strings.ContainsAny(secret, "-._")
			if plain && setting == "timing: {expire: %q}" { // not a setting of a secret, and nothing that looks like one
				continue
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows the value: %v", setting, err)
			}
			if strings.HasSuffix(setting, `_env: %q}`) && !strings.Contains(err.Error(), "must be the name of an environment "+
				"variable") {
				t.Errorf("%s: the error doesn't say what belongs there: %v", setting, err)
			}
		}
	}
}

func TestAWordThatMayBeAPasswordIsNotRepeated(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]string{
		"viewer_token_env: hunter2":    "access.viewer_token_env: the environment variable that it names is unset or empty",
		"viewer_token_file: hunter2":   "access.viewer_token_file: the file that it names cannot be read: no such file",
		"viewer_token_env: MISSING":    "the environment variable MISSING is unset or empty",
		"viewer_token_file: ./there":   "access.viewer_token_file: ./there cannot be read: no such file",
		"viewer_token_file: /dev/zero": "access.viewer_token_file: /dev/zero cannot be read: not a regular file",
		"viewer_token: x": `unknown field "viewer_token"; did you mean "viewer_token_env", which takes the name of an ` +
			"environment variable and not the value?",
	} {
		_, err := Parse("medic.yaml", []byte(strings.Replace(sound, "mode: approve", "mode: approve\naccess: {"+setting+"}",
			1)), opts(nil))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: got %v, want %s", setting, err, want)
		}
	}
}

func TestAPlaybookThatIsNoRegularFileIsNotRead(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"a link to a device": func(path string) error { return os.Symlink("/dev/zero", path) },
		"a folder":           func(path string) error { return os.Mkdir(path, 0o700) },
		"a file without end": func(path string) error { return os.WriteFile(path, make([]byte, maxPlaybook+1), 0o600) },
	} {
		dir := t.TempDir()
		if err := put(filepath.Join(dir, "mine.yaml")); err != nil {
			t.Fatal(err)
		}
		got, err := PlaybookFiles([]string{dir})
		if err == nil || len(got) > 0 || !strings.Contains(err.Error(), "mine.yaml") {
			t.Errorf("%s: %d files, %v", name, len(got), err)
		}
	}
}
