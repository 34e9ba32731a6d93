package playbooktest

import (
	"flag"
	"reflect"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/test/schematest"
)

var update = flag.Bool("update", false, "write docs/playbook-test.schema.json anew")

const schemaFile = "../../docs/playbook-test.schema.json"

// schema makes the JSON Schema from the types that a file is decoded into.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	docs := schematest.Comments(t, "document.go", "reading.go")
	r := schematest.Reflector(docs, "Doc", "15s", "10m", "1h30m")
	plain := r.Mapper
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
			return plain(in)
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
	schematest.Committed(t, schemaFile, schema(t), *update)
}

func TestSchemaSaysWhatEachFieldIs(t *testing.T) {
	t.Parallel()
	schematest.Described(t, schema(t), 35)
}
