package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The names are of vLLM's flags and variables, of their images and of those that people add. Every name that one of the
// former lists took for a secret is here; what one of them took wrongly says why.
func TestNamesThatSpeakOfSecrets(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"--api-key": true, "--api_key": true, "--hf-token": true, "HF_TOKEN": true, "HUGGING_FACE_HUB_TOKEN": true,
		"VLLM_API_KEY":          true,
		"AWS_SECRET_ACCESS_KEY": true, "AWS_ACCESS_KEY_ID": true, "AWS_SESSION_TOKEN": true, "S3_SECRET": true,
		"DB_PASS":   true,
		"MYSQL_PWD": true, "PGPASSWORD": true, "passwd": true, "passphrase": true, "credentials": true, "--cred": true,
		"NGC_CREDS": true,
		"--auth":    true, "OAUTH": true, "sig": true, "X-Amz-Signature": true, "Authorization": true,
		"PROXY_AUTHORIZATION": true,
		"Set-Cookie":          true, "SESSION_COOKIE": true, "WANDB_KEY": true, "MYTOKEN": true, "SSHKEY": true,
		"licensekey": true, "API_KEYS": true,
		"ENCRYPTION_KEYS": true, "--ssl-keyfile": true, "--ssl_keyfile_password": true,
		// Counts of tokens, and the model's own.
		"--max-num-batched-tokens": false, "--max_tokens": false, "num_tokens": false,
		"--long-prefill-token-threshold": false,
		// A tokenizer is a model's name, which a message about it must show.
		"--tokenizer": false, "--tokenizer-mode": false, "--skip-tokenizer-init": false, "TOKENIZERS_PARALLELISM": false,
		"--model": false, "--port": false, "HOME": false, "VLLM_LOGGING_LEVEL": false, "--kv-cache-dtype": false,
		"passfile":                 false,
		"--enable-expert-parallel": false, "bypass": false, "author": false, "keyboard": false,
	} {
		if got := Suspicious(name); got != want {
			t.Errorf("Suspicious(%q) is %t", name, got)
		}
	}
}

func TestValuesOfACommandLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		words []string
		want  []string
	}{
		{"nothing", []string{"vllm", "serve", "m", "--max-num-batched-tokens", "8192"}, nil},
		{"apart", []string{"--api-key", "first-key", "second-key", "--port", "8000"}, []string{"first-key", "second-key"}},
		{"joined", []string{"--hf-token=the-token", "--ssl_keyfile=/k.pem", "m"}, []string{"the-token", "/k.pem"}},
		{"too short to search for", []string{"--api-key", "abc"}, nil},
		{
			"in a shell",
			[]string{
				"sh", "-c",
				`API_KEY="first-key" exec vllm serve m --hf-token 'the-token' && echo done; curl --token=curl-token x`,
			},
			[]string{"first-key", "the-token", "curl-token"},
		},
		{"with blanks", []string{"--api-key", "two words"}, []string{"two words"}},
	} {
		if diff := cmp.Diff(c.want, Values(c.words)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if NamedValue("HF_TOKEN", "env-token") != "env-token" || NamedValue("HOME", "/root") != "" || NamedValue("HF_TOKEN",
		"abc") != "" {
		t.Error("a variable's value")
	}
}

func TestKnownSecretsAreHiddenHoweverTheyAreWritten(t *testing.T) {
	t.Parallel()
	const secret = `p@ss/w%rd "1"`
	for in, want := range map[string]string{
		`say ` + secret + `.`:                        "say [redacted].",
		"postgres://u:p%40ss%2Fw%25rd%20%221%22@h/d": "postgres://u:[redacted]@h/d",
		"x?password=p%40ss%2Fw%25rd+%221%22&y":       "x?password=[redacted]&y",
		`{"a":"p@ss/w%rd \"1\""}`:                    `{"a":"[redacted]"}`,
		"nothing":                                    "nothing",
	} {
		if got := Without(in, "", secret); got != want {
			t.Errorf("Without(%s) is %s, want %s", in, got, want)
		}
	}
	if got := Without("abcdef abc", "abc", "abcdef"); got != "[redacted] [redacted]" {
		t.Errorf("the end of a secret is left: %s", got)
	}
	if got := Without("text", ""); strings.Contains(got, Hidden) {
		t.Error(got)
	}
}
