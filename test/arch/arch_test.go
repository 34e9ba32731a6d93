package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/vllm-medic/vllm-medic/"

// inside says which packages of ours a package may import. One that is not listed may import none of ours.
var inside = map[string][]string{
	"internal/incident": {},
	"playbooks":         {"internal/incident", "internal/promql", "internal/strictyaml"},
	"playbooks/catalog": {"playbooks"},
	"internal/drill":    {"internal/incident", "internal/playbooktest", "playbooks/catalog"},
	"actions": {
		"actions/admission", "actions/engineargs", "actions/kube", "actions/live", "actions/replicas", "actions/throttle",
		"internal/incident", "internal/redact",
	},
	"actions/engineargs": {
		"actions/admission", "actions/kube", "actions/live", "internal/cluster", "internal/incident", "internal/redact",
		"internal/vllm",
	},
	"actions/replicas": {
		"actions/admission", "actions/kube", "actions/live", "internal/answer", "internal/cluster", "internal/incident",
		"internal/vllm",
	},
	"actions/throttle": {
		"actions/admission", "actions/kube", "actions/live", "internal/cluster", "internal/incident",
	},
	"actions/admission":       {"actions/kube", "actions/live"},
	"deploy/helm/generate":    {"actions", "actions/admission"},
	"deploy/grafana/generate": {"internal/present"},
	"actions/live":            {"actions/kube", "internal/cluster", "internal/incident"},
	"actions/kube":            {"internal/answer", "internal/incident"},
	"webhook":                 {"internal/connlimit", "internal/credential", "internal/incident"},
	"notify":                  {"internal/incident", "internal/rescue"},
	"notify/hook":             {"notify"},
	"notify/cloudevents":      {"internal/incident", "internal/present", "notify/hook"},
	"notify/teams":            {"internal/incident", "internal/present", "notify", "notify/hook"},
	"notify/slack": {
		"internal/connlimit", "internal/incident", "internal/present", "internal/redact", "internal/rescue", "notify",
	},
	"internal/policy":     {"internal/incident"},
	"internal/present":    {"internal/incident", "internal/redact"},
	"internal/access":     {"internal/answer", "internal/boundedfile", "internal/incident"},
	"internal/answer":     {},
	"internal/alertrules": {"internal/nearest", "internal/promql", "internal/vllm"},
	"internal/evidence": {
		"internal/alertrules", "internal/cluster", "internal/incident", "internal/prometheus",
		"internal/promql", "internal/redact", "internal/rescue", "internal/vllm",
	},
	"internal/cluster": {
		"internal/answer", "internal/incident", "internal/redact", "internal/rescue", "internal/vllm",
	},
	"internal/prometheus":        {"internal/answer", "internal/incident", "internal/redact"},
	"internal/audit":             {},
	"internal/bundle":            {"internal/redact"},
	"internal/connlimit":         {},
	"internal/credential":        {},
	"internal/redact":            {},
	"internal/promembed":         {},
	"internal/promql":            {"internal/redact"},
	"internal/boundedfile":       {},
	"internal/reread":            {"internal/boundedfile"},
	"internal/rescue":            {},
	"internal/sandbox/workloads": {"internal/sandbox/kubeapi"},
	"internal/tracing":           {"internal/incident", "internal/redact"},
	"internal/vllm":              {},
	"internal/nearest":           {},
	"internal/strictyaml":        {"internal/incident", "internal/nearest"},
	"internal/playbooktest": {
		"internal/cluster", "internal/evidence", "internal/incident", "internal/nearest",
		"internal/promembed", "internal/prometheus", "internal/promql", "internal/strictyaml", "internal/vllm", "playbooks",
	},
	"internal/sandbox/alertmanager": {},
	"internal/sandbox/gateway":      {"internal/sandbox/kubeapi"},
	"internal/sandbox": {
		"deploy/prometheus/rules", "internal/app", "internal/config", "internal/incident",
		"internal/present", "internal/promembed", "internal/sandbox/alertmanager", "internal/sandbox/gateway",
		"internal/sandbox/kubeapi", "internal/sandbox/workloads", "playbooks", "playbooks/catalog", "test/fakeslack",
		"test/fleet",
	},
	"internal/replay": {
		"actions/live", "internal/incident", "internal/policy", "internal/present", "playbooks",
	},
	"internal/store": {"internal/audit", "internal/incident", "internal/redact", "internal/rescue"},
	"internal/web": {
		"internal/access", "internal/incident", "internal/present", "internal/redact", "internal/report",
	},
	"internal/report":            {"internal/incident", "internal/present"},
	"internal/report/reporttest": {"internal/incident"},
	"internal/remediation": {
		"internal/incident", "internal/policy", "internal/present", "internal/rescue", "playbooks",
	},
	"internal/config": {
		"internal/boundedfile", "internal/credential", "internal/incident", "internal/nearest", "internal/policy",
		"internal/promql", "internal/redact", "internal/reread", "internal/schedule", "internal/strictyaml",
	},
	"internal/schedule": {},
	"internal/setup":    {"internal/incident", "internal/redact"},
}

// everything may import everything: the wiring, the command, and what belongs to tests.
var everything = []string{"internal/app", "cmd", "test", "scripts", "internal/store/storetest"}

// outside says where a foreign module may be imported, and why only there.
var outside = map[string]struct {
	only []string
	why  string
}{
	"github.com/labstack/echo": {
		[]string{"webhook", "internal/web", "internal/app"},
		"HTTP routing stays at the edge",
	},
	"github.com/slack-go/slack": {[]string{"notify/slack"}, "Slack's client breaks often and stays in one place"},
	"k8s.io/": {
		[]string{
			"actions", "actions/admission", "actions/engineargs", "actions/kube", "actions/live",
			"actions/replicas", "actions/throttle", "internal/cluster", "internal/access", "internal/app",
			"internal/sandbox", "internal/sandbox/gateway", "internal/sandbox/kubeapi", "internal/sandbox/workloads",
		},
		"reading and writing the cluster stay apart from deciding",
	},
	"github.com/prometheus/client_golang/api": {[]string{"internal/prometheus"}, "one place knows how Prometheus answers"},
	"github.com/prometheus/alertmanager": {
		[]string{"webhook", "internal/sandbox/alertmanager"},
		"the payload is normalised once, and made by its double",
	},
	"go.opentelemetry.io/":     {[]string{"internal/tracing"}, "one place makes spans"},
	"github.com/yuin/goldmark": {[]string{"internal/web"}, "only pages show Markdown as HTML"},
	"database/sql":             {[]string{"internal/store"}, "one place knows the schema"},
}

// pure packages take values and return values.
var pure = []string{
	"internal/audit", "internal/credential", "internal/incident", "playbooks", "internal/policy", "internal/present",
	"internal/alertrules", "internal/report",
	"internal/promql", "internal/redact", "internal/replay",
	"internal/setup", "internal/strictyaml", "internal/vllm",
}

var impure = []string{
	"net/http", "net", "os", "os/exec", "math/rand", "math/rand/v2", "crypto/rand", "io/ioutil",
	"log", "log/slog",
}

// file is one parsed Go file.
type file struct {
	path, dir string
	test      bool
	ast       *ast.File
	lines     int
}

func parse(t *testing.T) []file {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	var out []file
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata") || path == filepath.Join(root, "tools") ||
				path == filepath.Join(root, "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		out = append(out,
			file{
				path: rel, dir: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(name, "_test.go"), ast: f,
				lines: strings.Count(string(src), "\n"),
			})
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("parse the module: %v (%d files)", err, len(out))
	}
	return out
}

func imports(f file) []string {
	out := make([]string, len(f.ast.Imports))
	for n, i := range f.ast.Imports {
		out[n] = strings.Trim(i.Path.Value, `"`)
	}
	return out
}

func free(dir string) bool {
	return slices.ContainsFunc(everything, func(e string) bool { return dir == e || strings.HasPrefix(dir, e+"/") })
}

func TestPackagesImportOnlyWhatTheHouseAllows(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if f.test || free(f.dir) {
			continue
		}
		for _, i := range imports(f) {
			if own, ok := strings.CutPrefix(i, module); ok && !slices.Contains(inside[f.dir], own) {
				t.Errorf("%s imports %s; %s may import %v of ours", f.path, own, f.dir, inside[f.dir])
			}
			for prefix, rule := range outside {
				if strings.HasPrefix(i, prefix) && !slices.Contains(rule.only, f.dir) {
					t.Errorf("%s imports %s, which belongs to %v: %s", f.path, i, rule.only, rule.why)
				}
			}
		}
	}
}

// A table that allows more than is used lets the next arrow in without a word, so each entry is one that the code
// needs.
func TestEveryAllowedImportIsUsed(t *testing.T) {
	t.Parallel()
	used := map[string][]string{} // package to all that it imports, tests apart
	for _, f := range parse(t) {
		if !f.test {
			used[f.dir] = append(used[f.dir], imports(f)...)
		}
	}
	for dir, allowed := range inside {
		if used[dir] == nil {
			t.Errorf("%s has no Go file that imports anything; take it out of the table", dir)
		}
		for _, to := range allowed {
			if !slices.Contains(used[dir], module+to) {
				t.Errorf("%s may import %s and does not; take it out of the table", dir, to)
			}
		}
	}
	for prefix, rule := range outside {
		for _, dir := range rule.only {
			if !slices.ContainsFunc(used[dir], func(i string) bool { return strings.HasPrefix(i, prefix) }) {
				t.Errorf("%s may import %s and does not; take it out of the table", dir, prefix)
			}
		}
	}
	for _, dir := range pure {
		if _, known := inside[dir]; !known {
			t.Errorf("%s is said to be pure and is no package of the table", dir)
		}
	}
}

func TestPurePackagesReachNothing(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if f.test || !slices.Contains(pure, f.dir) {
			continue
		}
		for _, i := range imports(f) {
			if slices.Contains(impure, i) {
				t.Errorf("%s imports %s; %s is pure", f.path, i, f.dir)
			}
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				id, named := sel.X.(*ast.Ident)
				if named && id.Name == "time" &&
					slices.Contains([]string{"Now", "Since", "Until", "Sleep", "After", "NewTimer", "NewTicker"}, sel.Sel.Name) {
					t.Errorf("%s uses time.%s; the present time is an argument there", f.path, sel.Sel.Name)
				}
			}
			return true
		})
	}
}

// Prometheus' parser has no bounds of its own. promembed is a Prometheus of its own, for tests.
func TestPromQLIsParsedInOneRoom(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if f.test || strings.HasPrefix(f.dir, "test/") ||
			slices.Contains([]string{"internal/promql", "internal/promembed"}, f.dir) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && sel.Sel.Name == "NewParser" {
				t.Errorf("%s makes a parser of its own; internal/promql parses within bounds", f.path)
			}
			return true
		})
	}
}

func TestNoProductionCodeRunsPrograms(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if !f.test && !strings.HasPrefix(f.dir, "test/") && !strings.HasPrefix(f.dir, "scripts/") &&
			slices.Contains(imports(f), "os/exec") {
			t.Errorf("%s imports os/exec", f.path)
		}
	}
}

func TestEveryPackageSaysWhatItPromisesOnce(t *testing.T) {
	t.Parallel()
	comments := map[string]int{}
	for _, f := range parse(t) {
		if f.test {
			continue
		}
		n := 0
		if f.ast.Doc != nil {
			n = 1
		}
		comments[f.dir] += n
	}
	for _, dir := range slices.Sorted(maps.Keys(comments)) {
		if comments[dir] != 1 {
			t.Errorf("%s has %d package comments, want 1", dir, comments[dir])
		}
	}
}

func TestFoldersAreNamedForWhatTheyHold(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		for part := range strings.SplitSeq(f.dir, "/") {
			if slices.Contains([]string{
				"util", "utils", "common", "types", "models", "model", "helpers", "shared", "core",
				"manager", "misc",
			}, part) {
				t.Errorf("%s: the name %q says nothing", f.dir, part)
			}
		}
	}
}

// long lists the files that may exceed 400 lines, with the reason.
var long = map[string]string{}

func TestFilesStaySmall(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if _, ok := long[filepath.ToSlash(f.path)]; !ok && !f.test && f.lines > 400 {
			t.Errorf("%s has %d lines; split it, or give the reason here", f.path, f.lines)
		}
	}
}

// A signal that Go asks for by name is a constant of incident, which a test binds to the catalog: renamed there, it
// would be missing here without a sound.
func TestSignalsThatGoNamesAreConstants(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if f.test || strings.HasPrefix(f.dir, "test/") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			index, ok := n.(*ast.IndexExpr)
			if !ok {
				return true
			}
			of, isField := index.X.(*ast.SelectorExpr)
			name, isLiteral := index.Index.(*ast.BasicLit)
			if isField && isLiteral && of.Sel.Name == "Readings" {
				t.Errorf("%s names the signal %s: use a constant of incident/signals.go", f.path, name.Value)
			}
			return true
		})
	}
}
