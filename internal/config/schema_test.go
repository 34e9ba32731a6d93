package config

import (
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

var update = flag.Bool("update", false, "write docs/config.schema.json anew")

const schemaFile = "../../docs/config.schema.json"

// comments are the doc comments of this package's struct fields, by "type.Field".
func comments(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, name := range []string{"file.go", "poolfile.go", "slo.go"} {
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

// schema makes the JSON Schema from the types that a configuration is decoded into.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	docs := comments(t)
	r := &jsonschema.Reflector{
		FieldNameTag: "yaml", Anonymous: true, ExpandedStruct: true,
		LookupComment: func(in reflect.Type, field string) string { return docs[in.Name()+"."+field] },
		Namer:         func(in reflect.Type) string { return strings.TrimSuffix(in.Name(), "File") },
	}
	r.Mapper = func(in reflect.Type) *jsonschema.Schema {
		switch in {
		case reflect.TypeFor[strictyaml.Duration]():
			return &jsonschema.Schema{Type: "string", Pattern: strictyaml.DurationPattern, Examples: []any{"30s", "5m", "1h30m"}}
		case reflect.TypeFor[sloFile]():
			targets := *r
			targets.DoNotReference = true
			own := targets.Reflect(sloInline{})
			own.Version = ""
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, own}}
		default:
			return nil
		}
	}
	s := r.Reflect(file{})
	for _, a := range incident.EngineArguments() {
		s.Definitions["knobs"].Properties.Set(string(a.Kind), argumentSchema(r, a))
	}
	s.Title = "The configuration of vllm-medic"
	s.Description = "One YAML file; docs/config.md describes every setting. Secrets come only from environment " +
		"variables or files."
	return s
}

// argumentSchema is what the configuration takes for an engine argument, by its row.
func argumentSchema(r *jsonschema.Reflector, a incident.EngineArgument) *jsonschema.Schema {
	out := r.Reflect(argumentKnobFile{})
	out.Version = ""
	out.Description = "vLLM's --" + a.Flag() + ". A change restarts the pods."
	inForce, _ := out.Properties.Get("default")
	inForce.Minimum = json.Number(strconv.FormatInt(a.LeastDefault, 10))
	inForce.Maximum = json.Number(strconv.FormatInt(a.MostDefault, 10))
	if !a.ChunkedPrefill {
		out.Properties.Delete("chunked_prefill")
	}
	return out
}

func TestSchemaOfTheConfigurationIsCommitted(t *testing.T) {
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
		t.Errorf("docs/config.schema.json is not what the types say; go test ./internal/config -run Schema "+
			"-update\n-want +got:\n%s", d)
	}
}

// settings calls fn for every key that a configuration can have, with the keys above it.
func settings(t *testing.T, fn func(path []string, s *jsonschema.Schema)) {
	t.Helper()
	root := schema(t)
	var walk func(path []string, s *jsonschema.Schema)
	walk = func(path []string, s *jsonschema.Schema) {
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
			here := append(slices.Clone(path), key)
			fn(here, below)
			walk(here, below)
		}
	}
	walk(nil, root)
}

func TestSchemaSaysWhatEachSettingIs(t *testing.T) {
	t.Parallel()
	count := 0
	settings(t, func(path []string, s *jsonschema.Schema) {
		count++
		if !strings.HasSuffix(s.Description, ".") {
			t.Errorf("%s has no description that ends with a full stop: %q", strings.Join(path, "."), s.Description)
		}
	})
	if count < 100 {
		t.Errorf("the schema has %d settings, so the walk has missed some", count)
	}
}

// reference is the complete configuration in docs/config.md.
func reference(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/config.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n```yaml\n# yaml-language-server")
	text, _, closed := strings.Cut(rest, "\n```\n")
	if !ok || !closed {
		t.Fatal("docs/config.md has no yaml block that begins with # yaml-language-server")
	}
	return "# yaml-language-server" + text + "\n"
}

func TestTheReferenceOfTheConfigurationLoads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "playbooks"), 0o700); err != nil {
		t.Fatal(err)
	}
	cfg, err := Parse(filepath.Join(dir, "medic.yaml"), []byte(reference(t)), opts(func(o *Options) { o.Offline = true }))
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.Pools) < 2 || cfg.Slack == nil || cfg.Kubernetes == nil || cfg.Mode != incident.ModeDryRun {
		t.Errorf("the reference should show two pools, Slack and Kubernetes, in a dry run: %+v", cfg)
	}
}

// An alternative that cannot stand beside another, such as token_file beside token_env, stands in the reference as a
// comment.
func TestTheReferenceOfTheConfigurationHasEverySetting(t *testing.T) {
	t.Parallel()
	sections := map[string]string{}
	section := ""
	for line := range strings.Lines(reference(t)) {
		if key, _, ok := strings.Cut(line, ":"); ok && regexp.MustCompile(`^[a-z]+$`).MatchString(key) {
			section = key
		}
		sections[section] += line
	}
	settings(t, func(path []string, _ *jsonschema.Schema) {
		key := path[len(path)-1]
		if !regexp.MustCompile(`(?m)(^|[\s{,])` + key + `:`).MatchString(sections[path[0]]) {
			t.Errorf("docs/config.md does not show %s", strings.Join(path, "."))
		}
	})
}
