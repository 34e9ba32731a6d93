package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// say prints for a person. What alerts bring along is shown, never obeyed: a control character in a label could move
// the cursor or hide a line. A terminal that is gone cannot be told so.
func say(w io.Writer, format string, args ...any) {
	_, _ = io.WriteString(w, redact.Visible(fmt.Sprintf(format, args...)))
}

// write prints v for programs. YAML has the fields of JSON in their order.
func write(w io.Writer, format string, v any) error {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	out := b.Bytes()
	if format == "yaml" {
		var n yaml.Node
		if err := yaml.Load(out, &n); err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
		inBlocks(&n)
		var err error
		if out, err = yaml.Dump(&n, yaml.WithIndent(2), yaml.WithLineWidth(-1)); err != nil {
			return fmt.Errorf("write YAML: %w", err)
		}
	}
	_, err := w.Write(out)
	return err
}

// inBlocks takes JSON's braces and quotes away where YAML does not need them.
func inBlocks(n *yaml.Node) {
	n.Style = 0
	for _, below := range n.Content {
		inBlocks(below)
	}
}
