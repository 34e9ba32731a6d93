package playbooktest

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

var update = flag.Bool("update", false, "write docs/playbook-test.schema.json anew")

const schemaFile = "../../docs/playbook-test.schema.json"

// comments are the doc comments of the fields that a file is decoded into, by "type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"document.go", "reading.go"} {
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
				for _, field := range s.Fields.List {
					for _, id := range field.Names {
						out[spec.Name.Name+"."+id.Name] = strings.Join(strings.Fields(field.Doc.Text()), " ")
					}
				}
			}
			return false
		})
	}
	return out
}

// schema makes the JSON Schema from the types that a file is decoded into.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	docs := comments(t)
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, ExpandedStruct: true,
		LookupComment: func(in reflect.Type, field string) string { return docs[in.Name()+"."+field] },
		Namer:         func(in reflect.Type) string { return strings.TrimSuffix(in.Name(), "Doc") },
	}
	text := &jsonschema.Schema{Type: "string"}
	truth := []any{true, false, "true", "false", "undecided"}
	own := func(v any) *jsonschema.Schema {
		inline := *r
		inline.DoNotReference, inline.Mapper = true, r.Mapper
		s := inline.Reflect(v)
		s.Version = ""
		return s
	}
	r.Mapper = func(in reflect.Type) *jsonschema.Schema {
		switch in {
		case reflect.TypeFor[strictyaml.Duration]():
			return &jsonschema.Schema{Type: "string", Pattern: strictyaml.DurationPattern, Examples: []any{
				"15s", "10m",
				"1h30m",
			}}
		case reflect.TypeFor[strictyaml.Value]():
			return &jsonschema.Schema{Type: "object"}
		case reflect.TypeFor[alertDoc]():
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, own(fullAlertDoc{})}}
		case reflect.TypeFor[bucketsDoc]():
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Enum: []any{layoutV1, layoutOld}}, {
				Type:  "array",
				Items: &jsonschema.Schema{Type: "number"},
			}}}
		case reflect.TypeFor[sloDoc]():
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, own(targetsDoc{})}}
		case reflect.TypeFor[planDoc]():
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, {
				Type: "object", MinProperties: new(uint64(1)),
				MaxProperties: new(uint64(1)), AdditionalProperties: own(askDoc{}),
			}}}
		case reflect.TypeFor[readingDoc]():
			near := own(toleranceDoc{})
			for key, was := range near.Properties.FromOldest() {
				near.Properties.Set(key, &jsonschema.Schema{Description: was.Description, OneOf: []*jsonschema.Schema{
					text,
					{Type: "number"},
				}})
			}
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{text, {Type: "number"}, near}}
		default:
			return nil
		}
	}
	s := r.Reflect(document{})
	expect := s.Definitions["expect"].Properties
	for name, field := range map[string]func(*jsonschema.Schema) *jsonschema.Schema{
		"healthy": func(was *jsonschema.Schema) *jsonschema.Schema {
			return &jsonschema.Schema{Description: was.Description, Enum: truth}
		},
		"others": func(was *jsonschema.Schema) *jsonschema.Schema {
			return &jsonschema.Schema{
				Description: was.Description, Type: "object",
				AdditionalProperties: &jsonschema.Schema{Enum: truth},
			}
		},
	} {
		was, ok := expect.Get(name)
		if !ok {
			t.Fatalf("expect has no %s", name)
		}
		expect.Set(name, field(was))
	}
	s.Title = "Tests of playbooks for vllm-medic"
	s.Description = "What vllm-medic test reads; docs/testing-playbooks.md explains it."
	return s
}

func TestSchemaOfTestsIsCommitted(t *testing.T) {
	t.Parallel()
	want, err := json.MarshalIndent(schema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(schemaFile, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/playbook-test.schema.json is not what the types say; go test ./internal/playbooktest -run Schema "+
			"-update\n-want +got:\n%s", d)
	}
}

func TestSchemaSaysWhatEachFieldIs(t *testing.T) {
	t.Parallel()
	root := schema(t)
	count := 0
	var walk func(path string, s *jsonschema.Schema)
	walk = func(path string, s *jsonschema.Schema) {
		if s == nil {
			return
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/$defs/"); ok {
			s = root.Definitions[name]
		}
		walk(path, s.Items)
		walk(path, s.AdditionalProperties)
		for _, one := range s.OneOf {
			walk(path, one)
		}
		if s.Properties == nil {
			return
		}
		for key, below := range s.Properties.FromOldest() {
			count++
			if !strings.HasSuffix(below.Description, ".") {
				t.Errorf("%s.%s has no description that ends with a full stop: %q", path, key, below.Description)
			}
			walk(path+"."+key, below)
		}
	}
	walk("", root)
	if count < 35 {
		t.Errorf("the schema has %d fields, so the walk has missed some", count)
	}
}
