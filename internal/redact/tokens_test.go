package redact

import (
	"strings"
	"testing"
)

// Each has the form that its issuer documents, with made-up characters, and is put together here so that no scanner of
// repositories takes this file for a leak.
func samples() map[string]string {
	const letters = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA1bC2dE3fG4hI5jK6lM7nO8pQ9"
	const hex = "0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9"
	return map[string]string{
		"Hugging Face":         "hf_" + letters[:34],
		"Hugging Face, org":    "api_org_" + letters[:34],
		"Slack, bot":           "xoxb-1234567890-1234567890-" + letters[:24],
		"Slack, user":          "xoxp-1234567890-1234567890-" + letters[:24],
		"Slack, app":           "xapp-1-A0123-1234567890-" + hex,
		"Slack, rotated":       "xoxe.xoxp-1-" + letters[:40],
		"GitHub, classic":      "ghp_" + letters[:36],
		"GitHub, OAuth":        "gho_" + letters[:36],
		"GitHub, app":          "ghs_" + letters[:36],
		"GitHub, fine-grained": "github_pat_" + letters[:22] + "_" + letters[:50],
		"GitLab":               "glpat-" + letters[:20],
		"GitLab, runner":       "glrt-" + letters[:20],
		"GitLab, deploy":       "gldt-" + letters[:20],
		"Vault, service":       "hvs." + letters[:24],
		"Vault, batch":         "hvb." + letters[:40],
		"Vault, recovery":      "hvr." + letters[:24],
		"Vault, before 1.10":   "s." + letters[:24],
		"Terraform":            letters[:14] + ".atlasv1." + letters + letters[:10],
		"Groq":                 "gsk_" + letters[:52],
		"OpenAI":               "sk-" + letters[:48],
		"OpenAI, project":      "sk-proj-" + letters[:48],
		"Anthropic":            "sk-ant-api03-" + letters[:40] + "-" + letters[:20],
		"OpenRouter":           "sk-or-v1-" + hex,
		"Perplexity":           "pplx-" + letters[:48],
		"xAI":                  "xai-" + letters[:50],
		"Replicate":            "r8_" + letters[:37],
		"NVIDIA":               "nvapi-" + letters[:50],
		"Databricks":           "dapi" + hex[:32],
		"AWS":                  "AKIA" + "IOSFODNN7EXAMPLE",
		"AWS, session":         "ASIA" + "IOSFODNN7EXAMPLE",
		"Google":               "AIza" + letters[:35],
		"Google, OAuth":        "GOCSPX-" + letters[:28],
		"Google, access":       "ya29." + letters[:40],
		"Docker":               "dckr_pat_" + letters[:27],
		"npm":                  "npm_" + letters[:36],
		"PyPI":                 "pypi-" + letters[:50],
		"Stripe":               "sk_live_" + letters[:24],
		"Stripe, restricted":   "rk_live_" + letters[:24],
		"Stripe, webhook":      "whsec_" + letters[:32],
		"SendGrid":             "SG." + letters[:22] + "." + letters[:43],
		"Grafana":              "glsa_" + letters[:32] + "_" + hex[:8],
		"Sentry":               "sntrys_" + letters[:40],
		"DigitalOcean":         "dop_v1_" + hex,
		"Atlassian":            "ATATT3" + letters[:40],
		"Tailscale":            "tskey-auth-" + letters[:12] + "-" + letters[:30],
		"age":                  "AGE-SECRET-KEY-1" + strings.ToUpper(letters[:40]),
		"JSON web token":       "eyJ" + letters[:20] + ".eyJ" + letters[:30] + "." + letters[:43],
		"database URL":         "postgres://medic:" + letters[:12] + "@db.example:5432/medic",
		"PEM":                  "-----BEGIN PRIVATE KEY-----\n" + letters + "\n-----END PRIVATE KEY-----",
	}
}

func TestSecretsAreKnownByTheirForm(t *testing.T) {
	t.Parallel()
	for issuer, secret := range samples() {
		for _, text := range []string{secret, "got " + secret + ", so", `{"message":"` + secret + `"}`, "(" + secret + ")"} {
			for how, got := range map[string]string{"Text": Text(text), "Tokens": Tokens(text)} {
				if !strings.Contains(got, Hidden) || leaks(got, secret) {
					t.Errorf("%s: %s(%q) is %q", issuer, how, text, got)
				}
			}
		}
		if !Pasted(secret) {
			t.Errorf("%s in place of a name is not noticed: %q", issuer, secret)
		}
	}
	webhook := "https://hooks.slack.com/services/" + "T0123456/B0123456/" + "aB3dE5gH7jK9mN1pQ2rS4tU6"
	if got := Tokens(webhook); got != "https://hooks.slack.com/services/"+Hidden {
		t.Error(got)
	}
}

// leaks says whether any eight characters of the secret part are left.
func leaks(text, secret string) bool {
	if at := strings.LastIndexAny(secret, "@"); at > 0 { // of a URL only what is before the host
		secret = secret[strings.Index(secret, "://")+3 : at]
	}
	secret = strings.TrimPrefix(secret, "-----BEGIN PRIVATE KEY-----")
	for n := 0; n+8 <= len(secret); n++ {
		if strings.Contains(text, secret[n:n+8]) {
			return true
		}
	}
	return false
}

func TestWordsAreNoSecretsByTheirForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"hf_config hf_overrides", "sk_live", "the disk-usage", "s.replicas of the object", "spec.replicas", "gsk_", "hvs.",
		"max_num_batched_tokens", "meta-llama/Llama-3.1-70B-Instruct", "pool llama-70b-0123456789 of ns",
		"sha256:0a1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5c6d7e8f9", "eyJ", "npm_config_cache",
		"registry.example/vllm/vllm-openai:v0.11.0", "class.ResourceExhaustedErrorsWithALongName",
	} {
		if got := Tokens(text); got != text {
			t.Errorf("Tokens(%q) is %q", text, got)
		}
	}
	for _, name := range []string{
		"SLACK_BOT_TOKEN", "AM_TOKEN", "slackToken", "VLLMMEDICTOKEN2026", "/run/secrets/token", "secrets/tls.key",
		"SLACK_TOKEN_2", "token", "secrets-v2/slack-0123456789",
	} {
		if Pasted(name) {
			t.Errorf("%q is taken for a secret", name)
		}
	}
	for _, secret := range []string{"0a1b2c3d4e5f60718293a4b5c6d7e8f9", "Zm9vYmFyMTIzNDU2Nzg5MGFiY2Q9"} {
		if !Pasted(secret) {
			t.Errorf("%q is not noticed", secret)
		}
	}
}

// FuzzTokens plants a token of each issuer between two texts of anybody's: nothing before or behind it makes it
// unknown, as long as it is a word of its own.
func FuzzTokens(f *testing.F) {
	f.Add("see ", " there")
	f.Add("://", "@x")
	f.Add("-----BEGIN X-----", "")
	f.Fuzz(func(t *testing.T, before, after string) {
		for issuer, secret := range samples() {
			if strings.Contains(before+after, "-----") && strings.Contains(secret, "-----") {
				continue // halves of two blocks make a third
			}
			got := Tokens(before + " " + secret + " " + after)
			if again := Tokens(got); again != got {
				t.Errorf("%s: %q becomes %q when it is looked at again", issuer, got, again)
			}
			if leaks(got, secret) && !leaks(before+after, secret) {
				t.Errorf("%s: %q is left", issuer, got)
			}
		}
	})
}
