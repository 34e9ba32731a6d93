package redact

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestRedact(t *testing.T) {
	t.Parallel()
	const pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA\nabc=\n-----END RSA PRIVATE KEY-----"
	for _, tt := range []struct{ name, in, want string }{
		{
			"nothing", "ValueError: max_num_batched_tokens (512) must be greater than or equal to max_num_seqs (1024).",
			"ValueError: max_num_batched_tokens (512) must be greater than or equal to max_num_seqs (1024).",
		},
		{
			"words of a model",
			"tokenizer='meta-llama/Llama-3.1-70B', eos_token_id=128009, num_tokens: 8192, prompt_token_ids: [1, 2]",
			"tokenizer='meta-llama/Llama-3.1-70B', eos_token_id=128009, num_tokens: 8192, prompt_token_ids: [1, 2]",
		},
		{"a KeyError", "KeyError: 'layers_0_self_attn_q_proj'", "KeyError: 'layers_0_self_attn_q_proj'"},
		{
			"the name of a Secret", `MountVolume.SetUp failed for volume "x" : secret "llama-70b-huggingface-token" not found`,
			`MountVolume.SetUp failed for volume "x" : secret "llama-70b-huggingface-token" not found`,
		},
		{"a word with a hyphen", "the api-key is wrong, disk-usage is 3", "the api-key is wrong, disk-usage is 3"},
		{
			"CUDA", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.",
			"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB.",
		},
		{"bearer", "Authorization: Bearer abc.def-ghi next", "Authorization: [redacted]"},
		{"bearer alone", "sent bearer abcdef123 to it", "sent bearer [redacted] to it"},
		{"basic", `{"authorization": "Basic dXNlcjpwYXNz"}`, `{"authorization": [redacted]`},
		{"Hugging Face", "401 for hf_abcdefghijABCDEFGHIJ0123456789abcd", "401 for [redacted]"},
		{
			"Hugging Face's configuration", "hf_config hf_overrides={} hf_text_config",
			"hf_config hf_overrides={} hf_text_config",
		},
		{"OpenAI", "key sk-proj-abc_DEF-123 and (sk-1234)", "key [redacted] and ([redacted])"},
		{"Slack", "xoxb-123456-abcdef and xapp-1-A123", "[redacted] and [redacted]"},
		{
			"AWS", "AKIAIOSFODNN7EXAMPLE with AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI/K7MDENG/bPx",
			"[redacted] with AWS_SECRET_ACCESS_KEY=[redacted]",
		},
		{"GitHub", "ghp_0123456789abcdefABCD", "[redacted]"},
		{"JSON web token", "got eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln!", "got [redacted]!"},
		{
			"password in a URL", "dial postgres://bot:hunter2@db:5432/x and https://tok@git.example/x",
			"dial postgres://[redacted]@db:5432/x and https://[redacted]@git.example/x",
		},
		{"a password with everything in it", "redis://:a/b@c?d@cache:6379", "redis://[redacted]@cache:6379"},
		{"a URL without", "GET http://10.0.0.1:8000/v1/models?x=1", "GET http://10.0.0.1:8000/v1/models?x=1"},
		{
			"a signed URL", "https://b.s3/x?X-Amz-Credential=abc&X-Amz-Signature=def 403",
			"https://b.s3/x?X-Amz-Credential=[redacted] 403",
		},
		{"flag with =", "vllm serve m --api-key=abc --port 80", "vllm serve m --api-key=[redacted] --port 80"},
		{"flag with blank", "vllm serve m --api-key abc def --port 80", "vllm serve m --api-key [redacted] --port 80"},
		{"flag at the end", "run with --hf-token abc", "run with --hf-token [redacted]"},
		{
			"argv", "['serve', '--api_key', 'abc', '--max-num-seqs', '8']",
			"['serve', '--api_key', '[redacted]', '--max-num-seqs', '8']",
		},
		{"flag with tokens", "--max-num-batched-tokens 2048 --tokenizer x", "--max-num-batched-tokens 2048 --tokenizer x"},
		{
			"dictionary", "args: {'model': 'm', 'api_key': ['abc', 'd e'], 'port': 80}",
			"args: {'model': 'm', 'api_key': [redacted] 'port': 80}",
		},
		{"quoted", `password = "a b \" c" end`, "password = [redacted] end"},
		{"open quote", `passwd: "a b`, "passwd: [redacted]"},
		{"environment", `os.environ['HF_TOKEN'] = 'abc'`, `os.environ['HF_TOKEN'] = [redacted]`},
		{"a name inside of a value", "url=http://h/?x=1&token=0123456789abcdef0123", "url=http://h/?x=1&token=[redacted]"},
		{"a possible name", "token=0123456789abcdef0123 key: abcdef0123456789abcd", "token=[redacted] key: [redacted]"},
		{
			"after a word", "invalid token 0123456789abcdef01234567, secret is YWJjZGVmZ2hpamtsbW5vcA==",
			"invalid token [redacted], secret is [redacted]",
		},
		{"PEM", "a " + pem + " b", "a [redacted] b"},
		{"PEM that was cut off", "a\n" + pem[:40], "a\n[redacted]"},
		{"PEM that began earlier", pem[33:] + " b", "[redacted] b"},
		{"line of a PEM", "a\nMIIEowIBAAKCAQEAxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghi\nb", "a\n[redacted]\nb"},
		{"cookie", "Set-Cookie: a=b; c=d\nnext", "Set-Cookie: [redacted]\nnext"},
		{
			"environment of all kinds", "DB_PASS=hunter2 MYSQL_PWD=x1 WANDB_KEY=0123 NGC_TOKEN=ab",
			"DB_PASS=[redacted] MYSQL_PWD=[redacted] WANDB_KEY=[redacted] NGC_TOKEN=[redacted]",
		},
		{"Azure", "AccountKey=YWJj;EndpointSuffix=core", "AccountKey=[redacted]"},
		{"a token with dots", "token=abc.def.ghi.jklmno", "token=[redacted]"},
		{"basic alone", "sent Basic dXNlcjpwYXNz and basic authentication", "sent Basic [redacted] and basic authentication"},
		{"a password in plain words", "PASSWORD hunter2 refused", "PASSWORD [redacted] refused"},
		{"curl", "curl -u bob:hunter2 http://h", "curl -u [redacted] http://h"},
		{
			"a prompt", "Received request cmpl-1: prompt: 'my diagnosis is', params: SamplingParams(n=1)",
			"Received request cmpl-1: prompt: (text), params: SamplingParams(n=1)",
		},
		{"a prompt to the end", `INFO prompt: "my diagnosis`, "INFO prompt: (text)"},
		{"twice", Text("--api-key a password=b https://u:p@h"), Text("--api-key a password=b https://u:p@h")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := Text(tt.in); got != tt.want {
				t.Errorf("Text(%q)\n got %q\nwant %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m \x1b[1;38;5;2mx":      "red x",
		"\u009b31mred":                            "red",
		"\x1b]0;title\x07text \x1b]8;;u\x1b\\l":   "text l",
		"\x1b]never ended\nnext":                  "\nnext",
		"\x1bPq\x1b\\x\x1b(By":                    "xBy",
		"10%\r100%\tdone\x00\x07\u200b\u202eevil": "10%\n100% doneevil",
		"bad \xff\xfe utf":                        "bad ? utf",
		"hf_abcdefgh\u200bijklmnop":               "hf_abcdefghijklmnop",
		"Größe 日本語 \u00a0ok":                      "Größe 日本語  ok",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q; want %q", in, got, want)
		}
	}
}

func TestForeignTextIsOneShortLine(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("word ", 10000) + "password=hunter2"
	if got := Shown(long); utf8.RuneCountInString(got) > maxLine+3 || strings.Contains(got, "hunter2") {
		t.Errorf("%q", got)
	}
	if got := Shown(strings.Repeat("a", 2*maxForeign)); got != "" {
		t.Errorf("a word without an end is cut to %q", got)
	}
	if got := Shown("a\n b\x1b[0m\tc"); got != "a b c" {
		t.Errorf("%q", got)
	}
}

// FuzzRedact plants a secret of each kind between two texts of anybody's. The test makes them itself, and does not ask
// the patterns for what they are.
func FuzzRedact(f *testing.F) {
	f.Add("vllm serve ", " --port 80", "s3cr3t")
	f.Add("{'api_key': '", "'}", "x")
	f.Add("-----BEGIN X-----\n", "\x1b[0m\"'([{", "\\")
	f.Add("http://a", "@b", "=:")
	f.Fuzz(func(t *testing.T, before, after, seed string) {
		before, after = before[:min(len(before), 2000)], after[:min(len(after), 2000)]
		for kind, secret := range planted(seed) {
			text := before + " " + secret.text + " " + after
			got := Text(Clean(text))
			if strings.Contains(strings.ReplaceAll(got, Hidden, ""), secret.value) && !strings.Contains(Clean(before),
				secret.value) && !strings.Contains(Clean(after), secret.value) {
				t.Errorf("%s: %q survives in %q, which was %q", kind, secret.value, got, text)
			}
			if again := Text(got); again != got {
				t.Errorf("%s: %q becomes %q", kind, got, again)
			}
			line := Shown(text)
			if utf8.RuneCountInString(line) > maxLine+3 || !utf8.ValidString(line) || strings.ContainsFunc(line,
				unicode.IsControl) {
				t.Errorf("%s: not one short line: %q", kind, line)
			}
		}
	})
}

type plantedSecret struct{ text, value string }

// planted makes secrets of 40 characters from the seed.
func planted(seed string) map[string]plantedSecret {
	const letters = "abcdefghijkLMNOPQRSTUVWXYZ0123456789"
	b := []byte("Zq7")
	for i := 0; len(b) < 40; i++ {
		c := byte(i * 7)
		if len(seed) > 0 {
			c += seed[i%len(seed)]
		}
		b = append(b, letters[int(c)%len(letters)])
	}
	v := string(b)
	return map[string]plantedSecret{
		"bearer":      {"Authorization: Bearer " + v, v},
		"bearer only": {"bearer " + v, v},
		"hf":          {"hf_" + v, v},
		"sk":          {"sk-" + v, v},
		"xox":         {"xoxb-" + v, v},
		"flag":        {"--api-key " + v, v},
		"flag=":       {"--api-key=" + v, v},
		"env":         {"HF_TOKEN=" + v, v},
		"json":        {`"password": "` + v + `"`, v},
		"aws":         {"AKIA" + strings.ToUpper(v[:16]), strings.ToUpper(v[:16])},
		"url":         {"https://user:" + v + "@host/path", v},
		"word":        {"token " + v, v},
		"pem":         {"-----BEGIN PRIVATE KEY-----\n" + v + "\n-----END PRIVATE KEY-----", v},
	}
}
