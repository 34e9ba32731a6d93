package bundle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// leftOut stands where something was that needs no look to be left out.
const leftOut = "[left out]"

// shortest is how long a known secret must be to be searched for: a shorter one stands in any word.
const shortest = 4

// Cleaner hides secrets. The zero Cleaner knows none, and hides what looks like one.
type Cleaner struct{ known []string }

// NewCleaner returns a Cleaner for the secrets that are known. Of a URL the password, and of one to post to the path
// and the query, are secrets of their own: errors name them apart.
func NewCleaner(secrets ...string) Cleaner {
	var c Cleaner
	for _, s := range secrets {
		s = strings.TrimSpace(s)
		parts := []string{s}
		if u, err := url.Parse(s); err == nil && u.Host != "" {
			password, _ := u.User.Password()
			parts = append(parts, password)
			if strings.HasPrefix(u.Scheme, "http") {
				parts = append(parts, strings.TrimPrefix(u.Path, "/"), u.RawQuery)
			}
		}
		for line := range strings.SplitSeq(s, "\n") {
			parts = append(parts, strings.TrimSpace(line))
		}
		for _, p := range parts {
			if len(p) >= shortest && !slices.Contains(c.known, p) {
				c.known = append(c.known, p)
			}
		}
	}
	return c
}

// hide hides what is known and what looks like a secret in a text of any length, line by line; PEM blocks are found
// across lines.
func (c Cleaner) hide(s string) string {
	s = redact.Without(s, c.known...)
	if strings.Contains(s, "-----BEGIN ") {
		return redact.Text(redact.Clean(s))
	}
	lines := strings.Split(s, "\n")
	for n, l := range lines {
		lines[n] = redact.Text(redact.Clean(l))
	}
	return strings.Join(lines, "\n")
}

// Text is a text without secrets.
func (c Cleaner) Text(b []byte) []byte { return []byte(c.hide(string(b))) }

// told are the labels of an alert that say where it is. The others, and all annotations, are other people's words.
func told() []string {
	return []string{
		"alertname", "severity", "namespace", "pod", "instance", "model_name", "container", "service", "job", "node",
	}
}

// JSON is a JSON document without secrets. Annotations of alerts, and labels but those that say where they are, are
// left out as a whole.
func (c Cleaner) JSON(b []byte) ([]byte, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("read it as JSON: %w", err)
	}
	return json.MarshalIndent(c.value("", v), "", "  ")
}

func (c Cleaner) value(key string, v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, below := range v {
			switch {
			case key == "annotations", key == "labels" && !slices.Contains(told(), k):
				out[c.hide(k)] = leftOut
			default:
				out[c.hide(k)] = c.value(k, below)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for n, below := range v {
			out[n] = c.value(key, below)
		}
		return out
	case string:
		if redact.Suspicious(key) && v != "" {
			return redact.Hidden
		}
		return c.hide(v)
	}
	return v
}

// YAML is a configuration without secrets, with its comments. The names of variables and files that hold secrets stay.
// What can't be read as YAML is a text.
func (c Cleaner) YAML(b []byte) []byte {
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return c.Text(b)
	}
	c.node("", &doc)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&doc); err != nil {
		return c.Text(b)
	}
	return out.Bytes()
}

func (c Cleaner) node(key string, n *yaml.Node) {
	for _, comment := range []*string{&n.HeadComment, &n.LineComment, &n.FootComment} {
		*comment = c.hide(*comment)
	}
	switch n.Kind { //nolint:exhaustive // the others only hold further ones
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			name := n.Content[i].Value
			if key == "headers" || key == "extra_params" {
				name = "secret" // whatever is sent along
			}
			c.node("", n.Content[i])
			c.node(name, n.Content[i+1])
		}
	case yaml.ScalarNode:
		if v := c.setting(key, n.Value); v != n.Value {
			n.Value, n.Tag, n.Style = v, "!!str", 0
		}
	default:
		for _, below := range n.Content {
			c.node(key, below)
		}
	}
}

var variable = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

// Named says whether a word is the name of an environment variable, as people write them. Any other may be the secret
// itself, written in the wrong place.
func Named(word string) bool { return variable.MatchString(word) }

var number = regexp.MustCompile(`^[0-9.]*$`)

// setting is the value of a setting as it may be shown.
func (c Cleaner) setting(key, value string) string {
	switch {
	case strings.HasSuffix(key, "_env"):
		if Named(value) {
			return value
		}
		return redact.Hidden
	case strings.HasSuffix(key, "_file"):
		return c.hide(value)
	case redact.Suspicious(key) && value != "" && !number.MatchString(value):
		return redact.Hidden
	}
	return c.hide(value)
}
