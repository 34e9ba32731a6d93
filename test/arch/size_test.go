package arch

import (
	"go/ast"
	"go/build/constraint"
	"maps"
	"slices"
	"strings"
	"testing"
)

// programs are the packages that start programs in tests, with what they start. Their tests that do are medium or
// large.
var programs = map[string]string{
	"actions":                       "its own tests again, on the sandbox's cluster",
	"deploy/prometheus/generate":    "promtool",
	"internal/app":                  "Debian's webhook, in a benchmark",
	"internal/remediation":          "itself, to die",
	"internal/sandbox/alertmanager": "Alertmanager",
	"playbooks":                     "sh and kubectl",
	"test/browser":                  "Chromium",
	"test/chart":                    "the bot, helm and kubectl",
	"test/crash":                    "itself, to be killed",
	"test/docs":                     "the commands of the documents",
	"test/e2e":                      "the bot",
	"test/flood":                    "itself, to hold connections",
	"test/gate":                     "scripts/test.sh",
	"test/grafana":                  "node",
	"test/helm":                     "helm",
	"test/image":                    "what the Dockerfile runs",
	"test/kubetest":                 "a control plane",
	"test/messages":                 "Chromium and the bot's commands",
	"test/postgres":                 "PostgreSQL and PgBouncer",
	"test/process":                  "what a test hands to it",
	"test/program":                  "go build",
	"test/promtest":                 "Prometheus",
	"test/sandbox":                  "the sandbox",
	"test/scenarios":                "the bot",
	"test/slacksdk":                 "node",
	"test/stores":                   "VictoriaMetrics and Thanos",
	"test/tools":                    "scripts/tools.sh, for where the tools are",
}

func TestProgramsAreStartedInKnownPlaces(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	for _, f := range parse(t) {
		if !slices.Contains(imports(f), "os/exec") {
			continue
		}
		found[f.dir] = true
		if programs[f.dir] == "" {
			t.Errorf("%s starts programs: go through a package of test/ that does, or ask for size.Medium and add %s here",
				f.path, f.dir)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(programs)) {
		if !found[dir] {
			t.Errorf("%s starts no program; take it out of the table", dir)
		}
	}
}

// A test that is left out for a reason of its own is one that nobody misses.
func TestTestsAreLeftOutForTheirSizeOnly(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		if f.dir == "test/size" || strings.HasSuffix(f.path, "_bench_test.go") { // a benchmark is started by hand
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && leavesOut(sel) {
				t.Errorf("%s calls %s: size.Needs leaves a test out", f.path, sel.Sel.Name)
			}
			return true
		})
	}
}

// What the race detector leaves out by a build tag is a test that no run of a size has.
func TestTheRaceDetectorLeavesNothingOut(t *testing.T) {
	t.Parallel()
	for _, f := range parse(t) {
		for _, group := range f.ast.Comments {
			for _, c := range group.List {
				if x, err := constraint.Parse(c.Text); err == nil && strings.Contains(x.String(), "race") {
					t.Errorf("%s has %s: a test that takes long asks for size.Medium or size.Large", f.path, c.Text)
				}
			}
		}
	}
}

// leavesOut says whether a function skips a test, or is what tests used to skip by.
func leavesOut(f *ast.SelectorExpr) bool {
	of, named := f.X.(*ast.Ident)
	short := f.Sel.Name == "Short" && named && of.Name == "testing"
	return short || slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, f.Sel.Name)
}
