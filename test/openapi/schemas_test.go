package openapi

import (
	"bytes"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/test/schematest"
)

var update = flag.Bool("update", false, "write the schemas of docs/openapi.yaml again")

// mark is the line below which the document is made from the types.
const mark = "  # Below this line, the schemas are made from the types: go test ./test/openapi -run Schemas -update\n"

// answered are the types that the API answers with, and that are written down field by field.
var answered = []reflect.Type{
	reflect.TypeFor[incident.Incident](), reflect.TypeFor[incident.Pause](), reflect.TypeFor[incident.Write](),
	reflect.TypeFor[report.Report](),
}

func TestTheSchemasAreThoseOfTheTypes(t *testing.T) {
	t.Parallel()
	path, err := Path()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, got, found := strings.Cut(string(raw), mark)
	if !found {
		t.Fatalf("the document lacks the line %q", mark)
	}
	want := below(t, schemas(t))
	if *update {
		if err := os.WriteFile(path, []byte(head+mark+want), 0o600); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the schemas are not what the types say; run this test with -update (-want +got):\n%s", diff)
	}
}

// schemas are all types of the answers by their names in the document.
func schemas(t *testing.T) map[string]*jsonschema.Schema {
	t.Helper()
	comments := map[string]map[string]string{}
	for _, of := range []string{"incident", "report"} {
		files, err := filepath.Glob("../../internal/" + of + "/*.go")
		if err != nil || len(files) == 0 {
			t.Fatalf("the sources of %s: %v", of, err)
		}
		comments[of] = schematest.Comments(t, files...)
	}
	r := &jsonschema.Reflector{
		Anonymous: true, AllowAdditionalProperties: true, Namer: named, Mapper: mapped,
		LookupComment: func(in reflect.Type, field string) string { return comments[room(in)][in.Name()+"."+field] },
	}
	out := map[string]*jsonschema.Schema{}
	for _, of := range answered {
		maps.Copy(out, r.ReflectFromType(of).Definitions)
	}
	for _, of := range answered {
		nullable(of, out, map[reflect.Type]bool{})
	}
	spoken(out)
	return out
}

func room(in reflect.Type) string { return in.PkgPath()[strings.LastIndex(in.PkgPath(), "/")+1:] }

// named keeps the types of reports apart from those of incidents.
func named(in reflect.Type) string {
	if room(in) == "report" && in.Name() != "Report" {
		return "Report" + in.Name()
	}
	return in.Name()
}

// mapped are the types that are not written as Go has them.
func mapped(in reflect.Type) *jsonschema.Schema {
	switch in {
	case reflect.TypeFor[time.Duration]():
		return &jsonschema.Schema{Type: "integer", Format: "int64", Description: "In nanoseconds."}
	case reflect.TypeFor[incident.Value]():
		return &jsonschema.Schema{Type: "string", Description: "A value as text; null where the field is absent."}
	case reflect.TypeFor[report.Seconds]():
		return &jsonschema.Schema{Type: "number", Description: "In seconds."}
	}
	return nil
}

// spoken adds what is written beside the fields: sentences for people.
func spoken(to map[string]*jsonschema.Schema) {
	text := func(of string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Description: of} }
	list := func(of string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: of}
	}
	to["Step"].Properties.Set("checked", text("What the API server said of the step as a dry run, in words."))
	to["Cluster"].Properties.Set("unread", list("What could not be read, in words."))
	to["Diagnosis"].Properties.Set("never", list("What is against the diagnosis' wrong answers, in words."))
	to["Incident"].Properties.Set("drill", &jsonschema.Schema{Type: "boolean", Description: "The old name of dryRun."})
}

// below is the schemas as the end of the document.
func below(t *testing.T, all map[string]*jsonschema.Schema) string {
	t.Helper()
	raw, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	raw = bytes.ReplaceAll(raw, []byte("#/$defs/"), []byte("#/components/schemas/"))
	var tree yaml.Node
	if err := yaml.Unmarshal(raw, &tree); err != nil {
		t.Fatal(err)
	}
	plain(&tree)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(&tree); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(out.String()) {
		lines = append(lines, "    "+line)
	}
	return strings.Join(lines, "")
}

// plain takes the signs of JSON away.
func plain(n *yaml.Node) {
	n.Style = 0
	for _, c := range n.Content {
		plain(c)
	}
}

// nullable says which fields may be null: those that Go leaves empty and the types write all the same.
func nullable(of reflect.Type, to map[string]*jsonschema.Schema, seen map[reflect.Type]bool) {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || seen[of] || mapped(of) != nil || of == reflect.TypeFor[time.Time]() {
		return
	}
	seen[of] = true
	for _, f := range reflect.VisibleFields(of) {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		nullable(f.Type, to, seen)
		if name == "" || name == "-" || strings.Contains(options, "omit") || to[named(of)] == nil {
			continue
		}
		s, found := to[named(of)].Properties.Get(name)
		empty := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Slice || f.Type.Kind() == reflect.Map ||
			f.Type == reflect.TypeFor[incident.Value]()
		if !found || !empty || len(s.OneOf) > 0 {
			continue
		}
		full := *s
		full.Description = ""
		to[named(of)].Properties.Set(name, &jsonschema.Schema{
			OneOf: []*jsonschema.Schema{&full, {Type: "null"}}, Description: s.Description,
		})
	}
}
