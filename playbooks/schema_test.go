package playbooks

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

const schemaFile = "../docs/playbook.schema.json"

// said describes the fields of a file that have no comment in document.go, by "type.Field".
func said() map[string]string {
	out := map[string]string{
		"document.Signals":     "Signals: the values that rules use, in this file and in all others.",
		"document.Profiles":    "Profiles: named sets of targets, for pools to choose from.",
		"document.Name":        "The playbook's name: lower-case letters and digits, with single dashes between.",
		"document.Title":       "The title in messages and pages.",
		"document.Doc":         "The path or URL of its runbook.",
		"document.Alerts":      "The names of the alerts that it handles.",
		"document.Healthy":     "Rules that must all be true once the pool has recovered.",
		"document.Never":       "Changes that make this kind of problem worse, whatever the cause.",
		"document.Reads":       "Additional signals to read and show, although no rule needs them.",
		"document.Also":        "Diagnoses of other playbooks to evaluate too.",
		"document.Diagnoses":   "The causes that it can diagnose.",
		"profileDoc.Name":      "The name that pools use in slo.",
		"profileDoc.TTFT":      "Time to first token (TTFT), p95: 500ms.",
		"profileDoc.TPOT":      "Time per output token (TPOT), p95: 50ms.",
		"profileDoc.QueueTime": "Queue time, p95: 1s.",
		"profileDoc.E2E":       "End-to-end (E2E) latency, p95: 10s.",
		"profileDoc.Source":    "Where the targets come from.",
		"healthyDoc.Rule":      "A rule in CEL over signals and slo.*.",
		"healthyDoc.Or":        "Another rule; if it is true, the first one doesn't matter.",
		"diagnosisDoc.Name": "Its name: lower-case letters and digits, with single dashes between; unique " +
			"among all files.",
		"diagnosisDoc.Rank":    "1 is nearest to the root cause, 1000 farthest; the nearest one that is true is chosen.",
		"diagnosisDoc.Summary": "What is wrong, in one or two sentences.",
		"diagnosisDoc.Source":  "Where the rule and its numbers come from.",
		"diagnosisDoc.When": "The rule in CEL over signals and slo.*; numbers carry their units: ttft_p95 > " +
			"slo.ttft.or(2500ms).",
		"diagnosisDoc.Explains": "Diagnoses that are symptoms of this one; their rank must be higher.",
		"diagnosisDoc.Never":    "Changes that would make it worse.",
		"diagnosisDoc.NoAction": "Why no action is needed; for a diagnosis without steps.",
		"diagnosisDoc.Steps":    "The steps, in this order.",
		"stepDoc.Manual":        "A step for a human.",
		"stepDoc.Why":           "Why the step helps and what it costs.",
		"stepDoc.If":            "A rule; the step is proposed only if it is true.",
		"stepDoc.RevertAfter": "Makes the step a mitigation: it is undone once the pool has been healthy " +
			"for this long.",
		"stepDoc.WarmUp":   "How long to wait after the rollout before its effect is judged.",
		"factorDoc.Factor": "The factor that the current value is multiplied by.",
		"addDoc.Add":       "The number that is added to the current value.",
		"adviceDoc.Advice": "What to do, in one or a few sentences.",
		"neverDoc.Knob":    "The setting.",
		"neverDoc.Change":  "The direction in which it must not change.",
		"neverDoc.Why":     "Why: the consequence of such a change.",
	}
	for _, k := range incident.AllKnobs() {
		out["stepDoc."+fieldOf(k)] = k.Does
	}
	return out
}

// fieldOf is the field that stepDoc would have for a knob.
func fieldOf(k incident.Knob) string { return "Knob_" + string(k.Kind) }

// knobFields are the fields that stepDoc has by the table of knobs.
func knobFields(in reflect.Type) []reflect.StructField {
	if in != reflect.TypeFor[stepDoc]() {
		return nil
	}
	var out []reflect.StructField
	for _, k := range incident.AllKnobs() {
		f := reflect.StructField{
			Name: fieldOf(k), Type: reflect.TypeFor[*factorDoc](), Tag: reflect.StructTag(`yaml:"` + string(k.Kind) + `"`),
		}
		if k.Adds {
			f.Type = reflect.TypeFor[*addDoc]()
		}
		out = append(out, f)
	}
	return out
}

// comments are the doc comments of the fields, by "type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "document.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	out := said()
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if s, ok := spec.Type.(*ast.StructType); ok {
			for _, field := range s.Fields.List {
				for _, id := range field.Names {
					if text := strings.Join(strings.Fields(field.Doc.Text()), " "); text != "" {
						out[spec.Name.Name+"."+id.Name] = text
					}
				}
			}
		}
		return false
	})
	return out
}

// words are the closed lists, by definition and field.
func words() map[string][]string {
	texts := func(n int, at func(int) string) (out []string) {
		for i := range n {
			out = append(out, at(i))
		}
		return out
	}
	return map[string][]string{
		"signal.unit":      texts(len(units()), func(i int) string { return string(units()[i]) }),
		"signal.direction": texts(len(directions()), func(i int) string { return string(directions()[i]) }),
		"signal.target":    targetNames(),
		"signal.fact":      slices.Sorted(maps.Keys(factSources())),
		"never.knob":       knobs(),
		"never.change":     texts(len(changes()), func(i int) string { return string(changes()[i]) }),
	}
}

// schema makes the JSON Schema from the types that a file is decoded into.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	docs := comments(t)
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, ExpandedStruct: true, RequiredFromJSONSchemaTags: true,
		AdditionalFields: knobFields,
		LookupComment:    func(in reflect.Type, field string) string { return docs[in.Name()+"."+field] },
		Namer:            func(in reflect.Type) string { return strings.TrimSuffix(in.Name(), "Doc") },
		Mapper: func(in reflect.Type) *jsonschema.Schema {
			if in == reflect.TypeFor[strictyaml.Duration]() {
				return &jsonschema.Schema{
					Type: "string", Pattern: strictyaml.DurationPattern,
					Examples: []any{"500ms", "30s", "1h30m"},
				}
			}
			return nil
		},
	}
	s := r.Reflect(document{})
	for place, list := range words() {
		def, field, _ := strings.Cut(place, ".")
		below, ok := s.Definitions[def].Properties.Get(field)
		if !ok {
			t.Fatalf("a %s has no %s", def, field)
		}
		for _, w := range list {
			below.Enum = append(below.Enum, w)
		}
	}
	for def, fields := range map[string][]string{
		"signal": {"name", "title", "unit", "direction", "source"}, "ratio": {"of", "per"}, "profile": {"name", "source"},
		"healthy":   {"rule"},
		"diagnosis": {"name", "rank", "summary", "source", "when"}, "never": {"knob", "change", "why"}, "factor": {"factor"},
		"add": {"add"}, "advice": {"advice"},
	} {
		s.Definitions[def].Required = fields
	}
	s.Title = "A playbook, signals or profiles for vllm-medic"
	s.Description = "One YAML file; the built-in ones are in playbooks/catalog."
	return s
}

func TestSchemaOfPlaybooksIsCommitted(t *testing.T) {
	t.Parallel()
	want, err := json.MarshalIndent(schema(t), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	// load_test.go declares the flag, in the package of the other tests.
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(schemaFile, want, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(schemaFile)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("docs/playbook.schema.json is not what the types say; go test ./playbooks -run Schema "+
			"-update\n-want +got:\n%s", d)
	}
}

func TestSchemaSaysWhatEachFieldOfAPlaybookIs(t *testing.T) {
	t.Parallel()
	s := schema(t)
	all := maps.Clone(s.Definitions)
	all["file"] = s
	for name, def := range all {
		for key, below := range def.Properties.FromOldest() {
			if below.Description == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
	}
	if len(all) < 10 {
		t.Errorf("the schema has %d kinds of things, so some are missing", len(all))
	}
}
