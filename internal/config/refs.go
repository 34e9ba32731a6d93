package config

import (
	"context"
	"fmt"
	"maps"
)

// Refs are secrets by the names under which a client's configuration refers to them. They implement SecretManager of
// Prometheus' own HTTP client, which asks for each when it needs it.
type Refs map[string]func() string

// With are these and one more.
func (r Refs) With(ref string, value func() string) Refs {
	out := maps.Clone(r)
	if out == nil {
		out = Refs{}
	}
	out[ref] = value
	return out
}

// Fetch implements SecretManager.
func (r Refs) Fetch(_ context.Context, ref string) (string, error) {
	value, there := r[ref]
	if !there {
		return "", fmt.Errorf("nothing is known as %s", ref)
	}
	return value(), nil
}
