// Command generate writes the alert rule files of ../rules, one for each way in which vLLM's metrics are spelled, from
// rules.tmpl.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"
)

//go:generate go run .

//go:embed rules.tmpl
var source string

// The variants, by what the template calls them, each with its file in ../rules.
const (
	current    = "current"
	v0         = "v0"
	underscore = "underscore"
)

func files() map[string]string {
	return map[string]string{
		current: "vllm-alerts.yaml", v0: "vllm-alerts-v0.yaml", underscore: "vllm-alerts-underscore.yaml",
	}
}

func main() {
	for variant, file := range files() {
		if err := write(variant, filepath.Join("..", "rules", file)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(variant, path string) error {
	text, err := render(variant)
	if err != nil {
		return fmt.Errorf("render the variant %s: %w", variant, err)
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // a file of the repository, which everybody reads
}

// render is the text of one rule file. The template's delimiters leave Prometheus' own templates alone, and its metrics
// are spelled as vLLM spells them today.
func render(variant string) ([]byte, error) {
	t, err := template.New("rules").Delims("[[", "]]").Parse(source)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, variant); err != nil {
		return nil, err
	}
	header, rules, _ := strings.Cut(b.String(), "\ngroups:\n")
	switch variant {
	case underscore:
		rules = strings.ReplaceAll(rules, "vllm:", "vllm_")
	case v0:
		rules = selector.ReplaceAllStringFunc(rules, withoutEngine)
	}
	return []byte(header + "\ngroups:\n" + rules), nil
}

// selector is one of vLLM's metrics with its matchers, if it has some.
var selector = regexp.MustCompile(`vllm:\w+(\{[^}]*\})?`)

// withoutEngine limits a selector to series without a label engine. Those that an annotation fills in with the alert's
// own labels stay: they name one instance.
func withoutEngine(s string) string {
	const matcher = `engine=""`
	switch name, matchers, has := strings.Cut(s, "{"); {
	case !has:
		return name + "{" + matcher + "}"
	case strings.Contains(matchers, "%q"):
		return s
	default:
		return name + "{" + strings.TrimSuffix(matchers, "}") + "," + matcher + "}"
	}
}
