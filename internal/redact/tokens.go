package redact

import (
	"regexp"
	"strings"
)

// form is what the secrets of one issuer look like, as its documents and the public scanners of repositories describe
// them. The pattern is of RE2; what may stand before the secret is its first group.
type form struct{ issuer, pattern string }

// forms are the secrets that are known by their form alone, wherever they stand. A beginning that is a common word
// needs a boundary before it.
func forms() []form {
	const word = `(^|[^A-Za-z0-9_])`
	return []form{
		{"Hugging Face", `()hf_[A-Za-z0-9]{16,}|()api_org_[A-Za-z0-9]{16,}`},
		{"Slack", `()xox[a-z]-[A-Za-z0-9\-]{6,}|()xapp-[A-Za-z0-9\-]{6,}|()xoxe\.xox[a-z]-[A-Za-z0-9\-]{6,}`},
		{"Slack, a webhook", `(hooks\.slack\.com/(?:services|workflows|triggers)/)[A-Za-z0-9/_\-]{8,}`},
		{"GitHub", `()gh[pousr]_[A-Za-z0-9]{16,}|()github_pat_[A-Za-z0-9_]{16,}`},
		{"GitLab", `()gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|oas|soat|ffct)-[A-Za-z0-9_.\-]{16,}`},
		{"HashiCorp Vault", `()hv[sbr]\.[A-Za-z0-9_\-]{16,}|` + word + `[sbr]\.[A-Za-z0-9]{24,}`},
		{"HashiCorp Terraform", `()[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_\-]{40,}`},
		{"Groq", `()gsk_[A-Za-z0-9]{16,}`},
		{"OpenAI, Anthropic and their kin", `(^|[^A-Za-z0-9])sk-[A-Za-z0-9_\-]{4,}`},
		{"Perplexity, xAI, Replicate, Fireworks, Together", word + `(?:pplx-|xai-|r8_|fw_|tgp_v1_)[A-Za-z0-9_\-]{20,}`},
		{"NVIDIA", `()nvapi-[A-Za-z0-9_\-]{16,}`},
		{"Databricks", word + `dapi[a-f0-9]{32}`},
		{"AWS", `()A(?:KI|SI|GP|ID|RO|NP|NV|BI|CC)A[A-Z0-9]{12,}`},
		{"Google", `()AIza[A-Za-z0-9_\-]{20,}|()ya29\.[A-Za-z0-9_\-]{16,}|()GOCSPX-[A-Za-z0-9_\-]{16,}`},
		{"Docker", `()dckr_(?:pat|oat)_[A-Za-z0-9_\-]{16,}`},
		{"npm, PyPI, RubyGems", `()npm_[A-Za-z0-9]{16,}|()pypi-[A-Za-z0-9_\-]{16,}|()rubygems_[a-f0-9]{16,}`},
		{"Stripe", word + `(?:[srp]k_(?:live|test)_|whsec_)[A-Za-z0-9]{10,}`},
		{"SendGrid", word + `SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}`},
		{"Grafana", word + `gl(?:sa|c)_[A-Za-z0-9_=+/\-]{16,}`},
		{"Sentry, New Relic", word + `(?:sntry[us]_|NRAK-)[A-Za-z0-9_=+/\-]{16,}`},
		{"DigitalOcean", word + `do[opr]_v1_[a-f0-9]{32,}`},
		{"Atlassian", `()ATATT3[A-Za-z0-9_=\-]{16,}`},
		{"Tailscale", word + `tskey-[A-Za-z0-9\-]{12,}`},
		{"age", `()AGE-SECRET-KEY-1[A-Z0-9]{16,}`},
		{"JSON web token", `()eyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*)?`},
	}
}

// known are the patterns of all forms.
var known = func() []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, f := range forms() {
		out = append(out, regexp.MustCompile(f.pattern))
	}
	return out
}()

// knownTokens hides what has the form of a secret of a known issuer.
func knownTokens(s string) string {
	for _, re := range known {
		s = re.ReplaceAllStringFunc(s, func(m string) string {
			return strings.Join(re.FindStringSubmatch(m)[1:], "") + Hidden
		})
	}
	return s
}

// Tokens hides what is a secret by its form alone: tokens of known issuers, keys in PEM, and user and password in a
// URL. It leaves what only the name before it makes suspicious, so that a message about a setting stays readable.
func Tokens(s string) string {
	s = pemBlock.ReplaceAllString(s, Hidden)
	return knownTokens(urlUser.ReplaceAllString(s, "${1}"+Hidden+"@"))
}

// randomLength is how long a word without any separator is at least that nobody would type as a name, randomRuns how
// often its letters are parted by digits: a name has a number at most once.
const randomLength, randomRuns = 16, 2

var digitRuns = regexp.MustCompile(`[0-9]+`)

// Pasted says whether a text in place of a name, as of a variable or a file, looks like the secret itself: it has the
// form of one, several lines, or is a long word with digits all over it and nothing that parts it.
func Pasted(s string) bool {
	s = strings.TrimSpace(s)
	if Tokens(s) != s || strings.ContainsAny(s, "\n\r") {
		return true
	}
	return len(s) >= randomLength && !strings.ContainsAny(s, "_/. -") && len(digitRuns.FindAllString(s, -1)) >= randomRuns
}
