package redact

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// shortest is how long a value must be to be searched for in a text: shorter ones stand in any word.
const shortest = 4

// Without is a text in which secrets that are known are hidden, also as they stand in URLs, JSON and quotes. The
// longest goes first, so that none leaves the end of another. It changes nothing for a secret that is empty.
func Without(text string, secrets ...string) string {
	var all []string
	for _, s := range secrets {
		if s == "" {
			continue
		}
		quoted := strconv.Quote(s)
		all = append(all, s, url.QueryEscape(s), url.PathEscape(s), url.UserPassword("", s).String()[1:],
			quoted[1:len(quoted)-1])
	}
	slices.SortStableFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, s := range slices.Compact(all) {
		text = strings.ReplaceAll(text, s, Hidden)
	}
	return text
}

// Values are what follows the flags of a command line that speak of a secret, and what is assigned to such names in the
// words of a shell: "--api-key", "a"; "--api-key=a"; "sh", "-c", "API_KEY=a exec vllm serve --hf-token b".
func Values(words []string) []string {
	var out []string
	add := func(s string) {
		if len(s) >= shortest {
			out = append(out, s)
		}
	}
	hidden := false
	for _, w := range words {
		if fields := strings.Fields(w); len(fields) > 1 && !hidden {
			for _, s := range shellValues(fields) {
				add(s)
			}
			continue
		}
		if !strings.HasPrefix(w, "-") {
			if hidden {
				add(w)
			}
			continue
		}
		name, value, joined := strings.Cut(w, "=")
		if hidden = Suspicious(name); hidden && joined {
			add(value)
		}
	}
	return out
}

// shellValues is Values for the words of a script. Only one word belongs to a flag: a command may follow it.
func shellValues(fields []string) []string {
	var out []string
	hidden := false
	for _, f := range fields {
		name, value, joined := strings.Cut(f, "=")
		if hidden && !strings.HasPrefix(f, "-") {
			out = append(out, strings.Trim(f, `"';`))
		}
		suspicious := Suspicious(strings.Trim(name, `"'`))
		if suspicious && joined {
			out = append(out, strings.Trim(value, `"';`))
		}
		hidden = suspicious && !joined && strings.HasPrefix(f, "-")
	}
	return out
}

// NamedValue is the value of a variable when its name speaks of a secret and the value can be searched for; else it is
// empty.
func NamedValue(name, value string) string {
	if len(value) < shortest || !Suspicious(name) {
		return ""
	}
	return value
}
