package redact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// Hidden stands where a secret was.
const Hidden = "[redacted]"

// maxForeign bounds what is looked at of one foreign text, in bytes.
const maxForeign = 8 << 10

// redactPasses bounds how often a text is gone through. Every pass leaves less to find; a text that does not come to
// rest is not shown at all.
const redactPasses = 8

// Shown makes a text that somebody else wrote one short line that may be shown.
func Shown(s string) string { return Line(Text(Clean(atMost(s)))) }

// atMost cuts a long text before a word, so that no half of a secret is left that nothing recognises.
func atMost(s string) string {
	if len(s) <= maxForeign {
		return s
	}
	s = s[:maxForeign]
	if i := strings.LastIndexAny(s, " \t\n"); i >= 0 {
		return s[:i]
	}
	return ""
}

// terminalCodes are the escape sequences of ECMA-48: with parameters, strings up to their end or the line's, and those
// of two characters.
var terminalCodes = regexp.MustCompile("(?:\x1b\\[|\u009b)[0-?]*[ -/]*[@-~]?" +
	"|\x1b[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)?" + "|\x1b[^\n]?")

// Clean makes a text valid UTF-8 of printable characters and line ends. A carriage return ends a line too: progress
// bars are drawn with it.
func Clean(s string) string {
	s = terminalCodes.ReplaceAllString(strings.ToValidUTF8(s, "?"), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r':
			return '\n'
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
}

// Text replaces what looks like a secret. It rather takes a harmless value for a secret than the other way round. The
// text must be clean.
func Text(s string) string {
	for range redactPasses {
		next := s
		for _, r := range redactions() {
			next = r.apply(next)
		}
		if next == s {
			return s
		}
		s = next
	}
	return Hidden
}

// redaction finds one kind of secret.
type redaction struct {
	name  string
	apply func(string) string
}

// redactions are in an order that matters: what takes the most comes first.
func redactions() []redaction {
	return []redaction{
		{"PEM block", pattern(pemBlock, Hidden)},
		{"end of a PEM block", pattern(pemEnd, Hidden)},
		{"lines of a PEM block", pattern(pemLine, Hidden)},
		{"user and password in a URL", pattern(urlUser, "${1}"+Hidden+"@")},
		{"text of a prompt", pattern(promptText, "${1}(text)${2}")},
		{"user and password of a flag", pattern(userFlag, "${1}"+Hidden)},
		{"value of a flag", secretFlags},
		{"value of a name", secretNames},
		{"basic authentication", basicAuth},
		{"password in plain words", pattern(plainPassword, "${1}"+Hidden)},
		{"bearer token", pattern(bearer, "${1} "+Hidden)},
		{"token that is known by its form", knownTokens},
		{"long value after a word", secretWords},
	}
}

func pattern(re *regexp.Regexp, with string) func(string) string {
	return func(s string) string { return re.ReplaceAllString(s, with) }
}

var (
	pemBlock = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(?:-----END [A-Z0-9 ]+-----|\z)`)
	// A log's tail may begin inside of a block.
	pemEnd  = regexp.MustCompile(`(?s)\A.*?-----END [A-Z0-9 ]+-----`)
	pemLine = regexp.MustCompile(`(?m)^ *[A-Za-z0-9+][A-Za-z0-9+/]{39,}={0,2} *$`)
	urlUser = regexp.MustCompile(`(://)[^\s]*@`)
	bearer  = regexp.MustCompile(`(?i)\b(bearer)[\s:=]+["']?[A-Za-z0-9._~+/=\-]{6,}`)
	// What people ask a model is theirs: "prompt: 'text', params: ..." of --enable-log-requests.
	promptText    = regexp.MustCompile(`(?m)(\bprompt: ?)["'].*?(, (?:params|sampling_params): |$)`)
	userFlag      = regexp.MustCompile(`((?:^|\s)(?:-u|--user)[ =])\S+:\S+`)
	basic         = regexp.MustCompile(`\b([Bb]asic\s+)([A-Za-z0-9+/]{8,}={0,2})`)
	plainPassword = regexp.MustCompile(`(?i)(\b(?:password|passwd|passphrase)[ \t]+)[^\s\[=:]\S*`)
	wordAndValue  = regexp.MustCompile(
		`(?i)(\b(?:tokens?|secrets?|passwords?|passwd|keys?|credentials?)(?: (?:is|was|of))?[\s"':=]{1,3})` +
			`([A-Za-z0-9+/=_]{20,})`,
	)
	secretValue = regexp.MustCompile(`[A-Za-z0-9+/=_.\-]{16,}`)
	flagWord    = regexp.MustCompile(`(?m)(?:^|[\s"'\[(,=])(--?[A-Za-z][A-Za-z0-9_.\-]*)["', ]+`)
	nextFlag    = regexp.MustCompile(`(?:^|["', ]+)--?[A-Za-z]`)
	nameBefore  = regexp.MustCompile(`([A-Za-z_][A-Za-z0-9_.\-]*)["'\])]{0,2}[ \t]*(?::=|=>|[:=])[ \t]*`)
)

// basicAuth hides what follows "Basic" when it cannot be a word.
func basicAuth(s string) string {
	return basic.ReplaceAllStringFunc(s, func(m string) string {
		parts := basic.FindStringSubmatch(m)
		if v := parts[2]; !strings.ContainsAny(v, "0123456789=+/") && strings.ToLower(v[1:]) == v[1:] {
			return m
		}
		return parts[1] + Hidden
	})
}

// secretWords hides long values that follow a word such as "token" and have a digit or both cases: names of objects
// mostly have neither.
func secretWords(s string) string {
	return wordAndValue.ReplaceAllStringFunc(s, func(m string) string {
		parts := wordAndValue.FindStringSubmatch(m)
		value := parts[2]
		if !strings.ContainsAny(value, "0123456789") && (strings.ToLower(value) == value || strings.ToUpper(value) == value) {
			return m
		}
		return parts[1] + Hidden
	})
}

// secretFlags hides what follows a flag that names a secret, up to the next flag or the end of the line: "--api-key a b
// --port 80", "'--api-key', 'a'".
func secretFlags(s string) string {
	var b strings.Builder
	for {
		m := flagWord.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		name := s[m[2]:m[3]]
		b.WriteString(s[:m[1]])
		s = s[m[1]:]
		if n := untilFlag(s); n > 0 && suspicion(name) != harmless {
			b.WriteString(Hidden)
			s = s[n:]
		}
	}
	return b.String() + s
}

// untilFlag counts the bytes up to the next flag or the line's end.
func untilFlag(s string) int {
	end := lineLength(s)
	if m := nextFlag.FindStringIndex(s[:end]); m != nil {
		return m[0]
	}
	return end
}

func lineLength(s string) int {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return i
	}
	return len(s)
}

// secretNames hides the values of names: "api_key=x", "'token': 'x'", "password: x", "Authorization: Bearer x".
func secretNames(s string) string {
	var b strings.Builder
	for {
		m := nameBefore.FindStringSubmatchIndex(s)
		if m == nil {
			break
		}
		name := s[m[2]:m[3]]
		b.WriteString(s[:m[1]])
		s = s[m[1]:]
		n := valueLength(s)
		if wholeLine(name) {
			n = lineLength(s)
		}
		level := suspicion(name)
		if n > 0 && (level == certain || wholeLine(name) || level == possible && secretValue.MatchString(s[:n])) {
			b.WriteString(Hidden)
			s = s[n:]
		}
	}
	return b.String() + s
}

// valueLength is how far a value goes: to the first blank outside of quotes and brackets, at most to the line's end.
func valueLength(s string) int {
	var (
		quote rune
		depth int
		after bool
	)
	for i, r := range s {
		switch {
		case r == '\n':
			return i
		case after:
			after = false
		case r == '\\':
			after = true
		case quote != 0:
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case strings.ContainsRune("[({", r):
			depth++
		case strings.ContainsRune("])}", r):
			depth = max(depth-1, 0)
		case r == ' ' && depth == 0:
			return i
		}
	}
	return len(s)
}

// How much a name speaks of a secret: of a possible one only a value is Hidden that looks like one, because a model has
// tokens and keys too.
const (
	harmless = iota
	possible
	certain
)

// Suspicious says whether a flag or a variable of this name may hold a secret. It rather suspects a harmless name than
// the other way round.
func Suspicious(name string) bool { return suspicion(name) != harmless }

func suspicion(name string) int {
	upper := name == strings.ToUpper(name)
	name = strings.ToLower(name)
	joined := strings.NewReplacer("-", "", "_", "", ".", "").Replace(name)
	for _, word := range []string{
		"password", "passwd", "passphrase", "secret", "credential", "apikey", "accesskey", "privatekey", "hftoken",
		"authtoken", "accesstoken",
		"accountkey", "sharedkey", "refreshtoken", "sessiontoken", "securitytoken", "bearertoken", "githubtoken",
		"xamzsignature", "xgoogsignature",
	} {
		if strings.Contains(joined, word) {
			return certain
		}
	}
	// A variable of the environment that ends like this holds nothing else.
	if upper && (strings.HasSuffix(name, "_key") || strings.HasSuffix(name, "_token") || strings.HasSuffix(name,
		"pwd") || strings.HasSuffix(name, "_pass")) {
		return certain
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("-_.", r) })
	if n := len(words); n > 0 && words[n-1] == "threshold" {
		return harmless // a count, such as vLLM's --long-prefill-token-threshold
	}
	if wholeLine(name) || slices.ContainsFunc(words, secretWord) {
		return possible
	}
	return harmless
}

// secretWord says whether one word of a name speaks of a secret. Tokens are counted, and a tokenizer is a model.
func secretWord(w string) bool {
	if slices.Contains([]string{"sig", "signature", "pwd", "pass", "cred", "creds", "keys", "keyfile"}, w) {
		return true
	}
	return slices.ContainsFunc([]string{"token", "key", "auth"}, func(end string) bool {
		return strings.HasSuffix(w,
			end)
	})
}

// wholeLine says that a header's value may have blanks.
func wholeLine(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, "authorization") || strings.HasSuffix(name, "cookie")
}
