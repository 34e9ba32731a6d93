// Package schematest holds the JSON Schema of a file that people write against the Go types that the file is decoded
// into: the schema is made from the types and their comments, and its committed copy must be the same.
package schematest

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Comments are the doc comments of the struct fields of source files, by "type.Field". A field without one is left out.
func Comments(t testing.TB, files ...string) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				addComments(out, spec.Name.Name, s)
			}
			return false
		})
	}
	return out
}

func addComments(to map[string]string, name string, s *ast.StructType) {
	for _, field := range s.Fields.List {
		for _, id := range field.Names {
			if text := strings.Join(strings.Fields(field.Doc.Text()), " "); text != "" {
				to[name+"."+id.Name] = text
			}
		}
	}
}

// Reflector makes schemas of types that YAML is decoded into, with these comments. The definitions are named after the
// types, without suffix. examples are those of a duration.
func Reflector(comments map[string]string, suffix string, examples ...any) *jsonschema.Reflector {
	return &jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, ExpandedStruct: true,
		LookupComment: func(in reflect.Type, field string) string { return comments[in.Name()+"."+field] },
		Namer:         func(in reflect.Type) string { return strings.TrimSuffix(in.Name(), suffix) },
		Mapper: func(in reflect.Type) *jsonschema.Schema {
			if in != reflect.TypeFor[strictyaml.Duration]() {
				return nil
			}
			return &jsonschema.Schema{Type: "string", Pattern: strictyaml.DurationPattern, Examples: examples}
		},
	}
}

// Committed fails the test when the file at path is not this schema; with update it writes the file first.
func Committed(t testing.TB, path string, s *jsonschema.Schema, update bool) {
	t.Helper()
	want, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if update {
		if err := os.WriteFile(path, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s is not what the types say; run this package's tests with -run Schema -update\n-want +got:\n%s", path, d)
	}
}

// Fields calls visit for every field that a file can have, with the keys that lead to it. A definition that holds
// itself is visited once on each path.
func Fields(root *jsonschema.Schema, visit func(path []string, s *jsonschema.Schema)) {
	var walk func(path, inside []string, s *jsonschema.Schema)
	walk = func(path, inside []string, s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
			if slices.Contains(inside, name) {
				return
			}
			s, inside = root.Definitions[name], append(slices.Clone(inside), name)
		}
		walk(path, inside, s.Items)
		walk(path, inside, s.AdditionalProperties)
		for _, one := range s.OneOf {
			walk(path, inside, one)
		}
		if s.Properties == nil {
			return
		}
		for key, below := range s.Properties.FromOldest() {
			here := append(slices.Clone(path), key)
			visit(here, below)
			walk(here, inside, below)
		}
	}
	walk(nil, nil, root)
}

// Described fails the test for each field whose description is no sentence, and when there are fewer than least fields,
// so that a walk that misses some shows.
func Described(t testing.TB, root *jsonschema.Schema, least int) {
	t.Helper()
	count := 0
	Fields(root, func(path []string, s *jsonschema.Schema) {
		count++
		if !strings.HasSuffix(s.Description, ".") {
			t.Errorf("%s has no description that ends with a full stop: %q", strings.Join(path, "."), s.Description)
		}
	})
	if count < least {
		t.Errorf("the schema has %d fields, want at least %d: the walk has missed some", count, least)
	}
}
