package playbooks

import (
	"flag"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/invopop/jsonschema"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/schematest"
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

// words are the closed lists, by definition and field.
func words() map[string][]string {
	texts := func(n int, at func(int) string) (out []string) {
		for i := range n {
			out = append(out, at(i))
		}
		return out
	}
	return map[string][]string{
		"signal.unit":          texts(len(units()), func(i int) string { return string(units()[i]) }),
		"signal.direction":     texts(len(directions()), func(i int) string { return string(directions()[i]) }),
		"signal.target":        targetNames(),
		"signal.fact":          slices.Sorted(maps.Keys(factSources())),
		"diagnosis.own_target": targetNames(),
		"never.knob":           knobs(),
		"never.change":         texts(len(changes()), func(i int) string { return string(changes()[i]) }),
	}
}

// schema makes the JSON Schema from the types that a file is decoded into.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	docs := said()
	maps.Copy(docs, schematest.Comments(t, "document.go"))
	r := schematest.Reflector(docs, "Doc", "500ms", "30s", "1h30m")
	r.RequiredFromJSONSchemaTags, r.AdditionalFields = true, knobFields
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
	// load_test.go declares the flag, in the package of the other tests.
	schematest.Committed(t, schemaFile, schema(t), flag.Lookup("update").Value.String() == "true")
}

func TestSchemaSaysWhatEachFieldOfAPlaybookIs(t *testing.T) {
	t.Parallel()
	schematest.Described(t, schema(t), 60)
}
