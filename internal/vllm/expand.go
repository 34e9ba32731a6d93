package vllm

import (
	"slices"
	"strings"
)

// expand puts the variables into a word as Kubernetes does (k8s.io/kubernetes third_party/forked/golang/expansion):
// $(NAME) is the variable's value, $$ is a dollar sign, and anything else stays as it is. A variable that is not
// known stays in the text by its name.
func expand(raw string, env []Variable) word {
	w := word{raw: raw, unknown: -1}
	var b strings.Builder
	for rest := raw; rest != ""; {
		if after, escaped := strings.CutPrefix(rest, "$$"); escaped {
			b.WriteByte('$')
			rest = after
			continue
		}
		name, after, is := reference(rest)
		if !is {
			b.WriteByte(rest[0])
			rest = rest[1:]
			continue
		}
		if w.variable == "" {
			w.variable = name
		}
		value, known := lookUp(env, name)
		if !known {
			if w.unknown < 0 {
				w.unknown = b.Len()
			}
			value = "$(" + name + ")"
		}
		b.WriteString(value)
		rest = after
	}
	w.text = b.String()
	return w
}

// reference takes a $(NAME) from the beginning of a text.
func reference(s string) (name, rest string, ok bool) {
	after, is := strings.CutPrefix(s, "$(")
	if !is {
		return "", "", false
	}
	return strings.Cut(after, ")")
}

// lookUp finds the value of a variable; the last of a name counts, as for Kubernetes. A value that is itself made of
// variables is not known.
func lookUp(env []Variable, name string) (value string, known bool) {
	for _, v := range slices.Backward(env) {
		if v.Name == name {
			return v.Value, v.Known && !strings.Contains(v.Value, "$(") && !strings.Contains(v.Value, "$$")
		}
	}
	return "", false
}
