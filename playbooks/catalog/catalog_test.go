package catalog_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

func load(t *testing.T, opts playbooks.Options) *playbooks.Catalog {
	t.Helper()
	c, err := catalog.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestFilesAreNamedAsBuiltInAndInAFixedOrder(t *testing.T) {
	t.Parallel()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name)
		if !strings.HasPrefix(f.Name, "builtin/") || len(f.Data) == 0 {
			t.Errorf("%s has %d bytes", f.Name, len(f.Data))
		}
	}
	if !slices.IsSorted(names) || !slices.Contains(names, "builtin/signals.yaml") {
		t.Errorf("got %v", names)
	}
}

func TestEveryQueryIsPromQLForTheVectorOfOneSeries(t *testing.T) {
	t.Parallel()
	for _, window := range []time.Duration{0, 10 * time.Second, 90 * time.Second, time.Hour} {
		for _, s := range load(t, playbooks.Options{Window: window}).AllSignals() {
			expr, err := parser.NewParser(parser.Options{}).ParseExpr(s.Query)
			if err != nil {
				t.Errorf("%s: %v", s.Name, err)
				continue
			}
			if expr.Type() != parser.ValueTypeVector {
				t.Errorf("%s gives a %s", s.Name, expr.Type())
			}
			if strings.Contains(s.Query, "$window") {
				t.Errorf("%s has a placeholder left: %s", s.Name, s.Query)
			}
		}
	}
}

// readFrom are the metrics that signals are made of: vLLM's own, and those of others that are joined to its pods or
// carry their namespace.
func readFrom() []string {
	return []string{
		"vllm:", "up", "http_requests_total", "process_resident_memory_bytes", "process_cpu_seconds_total", "lmcache:",
		"DCGM_FI_DEV_",
		"namespace_httproute:gateway_cancels", "namespace_httproute:gateway_rejected",
	}
}

// Dialects are found and renamed by name, so every metric must be spelled as vLLM V1 spells it, and no pool's matcher
// may be in it.
func TestEveryQueryUsesCanonicalNamesAndNoMatcherOfAPool(t *testing.T) {
	t.Parallel()
	// What tells kinds of requests and of engines apart, in any pool.
	kinds := []string{
		"__name__", "finished_reason", "reason", "status", "engine", "llm_d_ai_role", "nvidia_com_dynamo_sub_component_type",
		"disaggregatedset_x_k8s_io_role", "modelserving_volcano_sh_role", "role_name", "role", "transfer_type",
	}
	for _, s := range load(t, playbooks.Options{}).AllSignals() {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(s.Query)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(expr, func(n parser.Node, _ []parser.Node) error {
			vs, ok := n.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			if !slices.ContainsFunc(readFrom(), func(prefix string) bool { return strings.HasPrefix(vs.Name, prefix) }) {
				t.Errorf("%s reads %q", s.Name, vs.Name)
			}
			for _, m := range vs.LabelMatchers {
				if !slices.Contains(kinds, m.Name) {
					t.Errorf("%s has the matcher %s", s.Name, m)
				}
			}
			return nil
		})
	}
}

// A message and a chart tell two signals apart by their short names alone, and a legend takes 20 characters.
func TestEverySignalHasAShortNameOfItsOwn(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for _, s := range load(t, playbooks.Options{}).AllSignals() {
		label := incident.Reading{Signal: s.Name, Title: s.Title, Short: s.Short}.Label()
		if len(label) > 20 {
			t.Errorf("%s is called %q in messages; give it a short name of at most 20 characters", s.Name, label)
		}
		if other, is := seen[label]; is {
			t.Errorf("%s and %s are both called %q in messages", s.Name, other, label)
		}
		seen[label] = s.Name
	}
}

func headings() []string {
	return []string{
		"## Do now", "## What it means", "## How it's detected", "## What the bot proposes", "## What would make it worse",
		"## When it can't tell", "## Sources",
	}
}

func TestEveryPlaybookHasItsPage(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	c := load(t, playbooks.Options{})
	pages := map[string]bool{}
	for _, p := range c.Playbooks() {
		if want := "docs/playbooks/" + p.Name + ".md"; p.Doc != want {
			t.Errorf("%s points to %q, want %q", p.Name, p.Doc, want)
		}
		pages[filepath.Base(p.Doc)] = true
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(p.Doc)))
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		page := string(data)
		var found []string
		for line := range strings.SplitSeq(page, "\n") {
			if strings.HasPrefix(line, "## ") {
				found = append(found, line)
			}
		}
		if !slices.Equal(found, headings()) {
			t.Errorf("%s has the headings %q, want %q", p.Doc, found, headings())
		}
		if !strings.HasPrefix(page, "# "+p.Title+"\n") {
			t.Errorf("%s does not begin with its title %q", p.Doc, p.Title)
		}
		for _, name := range slices.Concat(p.Alerts, p.Diagnoses) {
			if !strings.Contains(page, "`"+name+"`") {
				t.Errorf("%s does not mention `%s`", p.Doc, name)
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(root, "docs", "playbooks"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "README.md" && !pages[e.Name()] {
			t.Errorf("docs/playbooks/%s is the page of no playbook", e.Name())
		}
	}
}

// What the documentation tells people to write must load.
func TestTheExampleInTheDocumentationLoads(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "playbooks", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	example, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatal("there is no example")
	}
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	c, err := playbooks.Load(append(files, playbooks.File{Name: "README.md", Data: []byte(example)}), playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if all := c.Playbooks(); all[len(all)-1].Name != "my-playbook" {
		t.Errorf("the example is not the last of %+v", all)
	}
}

// A page says that a scale-out is sized by the load where it is, and only there.
func TestPagesSayHowAScaleOutIsSized(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("playbooks: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(filepath.Join("..", "..", "docs", "playbooks", strings.TrimSuffix(file, ".yaml")+".md"))
		if errors.Is(err, fs.ErrNotExist) { // signals and profiles
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		const says = "[sized by the load](../actions/replicas.md)"
		if sized := strings.Contains(string(text), "times: demand"); sized != strings.Contains(string(page), says) {
			t.Errorf("%s sizes a scale-out by the load: %t; its page says otherwise", file, sized)
		}
	}
}
