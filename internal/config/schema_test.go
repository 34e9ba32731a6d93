package config

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/schematest"
)

var update = flag.Bool("update", false, "write docs/config.schema.json anew")

const schemaFile = "../../docs/config.schema.json"

// schema makes the JSON Schema from the types that a configuration is decoded into.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	docs := schematest.Comments(t, "file.go", "poolfile.go", "slo.go")
	r := schematest.Reflector(docs, "File", "30s", "5m", "1h30m")
	plain := r.Mapper
	r.Mapper = func(in reflect.Type) *jsonschema.Schema {
		switch in {
		case reflect.TypeFor[sloFile]():
			targets := *r
			targets.DoNotReference = true
			own := targets.Reflect(sloInline{})
			own.Version = ""
			return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, own}}
		default:
			return plain(in)
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
	schematest.Committed(t, schemaFile, schema(t), *update)
}

func TestSchemaSaysWhatEachSettingIs(t *testing.T) {
	t.Parallel()
	schematest.Described(t, schema(t), 100)
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

// sectionsOf are the lines of the reference, by the section that they are in.
func sectionsOf(t *testing.T) map[string]string {
	t.Helper()
	sections, section := map[string]string{}, ""
	for line := range strings.Lines(reference(t)) {
		if key, _, ok := strings.Cut(line, ":"); ok && regexp.MustCompile(`^[a-z]+$`).MatchString(key) {
			section = key
		}
		sections[section] += line
	}
	return sections
}

// Whoever copies a line of the reference gets what they would have had without it: a switch that is off is shown as
// off, or as an alternative. Pools and their approvers are examples.
func TestTheReferenceOfTheConfigurationShowsDefaults(t *testing.T) {
	t.Parallel()
	sections, seen := sectionsOf(t), 0
	schematest.Fields(schema(t), func(path []string, s *jsonschema.Schema) {
		if path[0] == "pools" || path[0] == "approvers" || (s.Default == nil && s.Type != "boolean") {
			return
		}
		key, want := path[len(path)-1], "false"
		if s.Default != nil {
			want = fmt.Sprint(s.Default)
		}
		values := regexp.MustCompile(`(?m)(?:^|[\s{,])`+key+`: +("[^"]*"|[^\s,}]+)`).FindAllStringSubmatch(
			regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(sections[path[0]], ""), -1)
		for _, found := range values {
			if seen++; strings.Trim(found[1], `"`) != want {
				t.Errorf("docs/config.md shows %s: %s, and the default is %s", strings.Join(path, "."), found[1], want)
			}
		}
	})
	if seen < 15 {
		t.Errorf("only %d settings with a default were found", seen)
	}
}

// An alternative that cannot stand beside another, such as token_file beside token_env, stands in the reference as a
// comment.
func TestTheReferenceOfTheConfigurationHasEverySetting(t *testing.T) {
	t.Parallel()
	sections := sectionsOf(t)
	schematest.Fields(schema(t), func(path []string, _ *jsonschema.Schema) {
		key := path[len(path)-1]
		if !regexp.MustCompile(`(?m)(^|[\s{,])` + key + `:`).MatchString(sections[path[0]]) {
			t.Errorf("docs/config.md does not show %s", strings.Join(path, "."))
		}
	})
}
