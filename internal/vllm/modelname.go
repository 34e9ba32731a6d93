package vllm

import (
	"slices"
	"strings"
)

const servedModelName = "served-model-name"

// ModelNames are the names under which the server seems to answer, the one that its metrics carry first: those of
// --served-model-name, else the model itself. It looks into scripts too, and is a guess: what it says is shown to
// people, and decides about no change. A name that a variable brings whose value is not known is left out.
func (c *CommandLine) ModelNames() []string {
	words := c.plainWords()
	if names := valuesOf(words, servedModelName, true); len(names) > 0 {
		return names
	}
	if names := valuesOf(words, "model", false); len(names) > 0 {
		return names
	}
	if at := slices.Index(words, "serve"); at >= 0 && at+1 < len(words) && isName(words[at+1]) {
		return words[at+1 : at+2]
	}
	return nil
}

// plainWords are the words of the line, those of a script apart.
func (c *CommandLine) plainWords() []string {
	if !RunsScript(c.text) {
		return c.text
	}
	var out []string
	for _, w := range c.text {
		for part := range strings.FieldsSeq(w) {
			if part = strings.Trim(part, `"'\;`); part != "" {
				out = append(out, part)
			}
		}
	}
	return out
}

// valuesOf are the values of the last occurrence of a flag, of which several may have more than one.
func valuesOf(words []string, flag string, several bool) []string {
	var out []string
	for i, w := range words {
		name, value, joined := SplitFlag(w)
		switch {
		case name != flag:
		case joined && isName(value):
			out = []string{value}
		case !joined:
			out = nil
			for _, next := range words[i+1:] {
				if !isName(next) || len(out) > 0 && !several {
					break
				}
				out = append(out, next)
			}
		}
	}
	return out
}

// isName says that a word can be a model's name: no flag, and nothing that a shell or Kubernetes would replace.
func isName(word string) bool {
	return word != "" && !strings.HasPrefix(word, "-") && !strings.ContainsAny(word, "$`")
}
