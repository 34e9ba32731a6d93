package docs

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/program"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// elsewhere are commands that other tests run, with where.
func elsewhere() map[string]string {
	return map[string]string{
		"make run":                        "it is the sandbox, which test/sandbox plays",
		"go run ./cmd/vllm-medic sandbox": "test/sandbox plays it",
		"vllm-medic sandbox":              "test/sandbox plays it",
		"make test":                       "it runs this test",
		"make test-small":                 "it is the first half of make test",
		"make test-medium":                "it is the second half of make test",
		"make test-large":                 "it takes an hour",
		"make test-touched":               "it takes as long as the parts that are touched",
		"make lint":                       ".ci/run runs it",
		"make accuracy":                   "TestAccuracyDoesNotFall of test/diagnosis does what it does",

		"vllm-medic test-alert --alertmanager http://127.0.0.1:9093 --label namespace=llm " +
			"--label model_name=llama-70b": "the quickstart's test of test/chart runs it",

		"sed 's/vllm:/ray_vllm_/g' rules/vllm-alerts.yaml > vllm-alerts-ray.yaml": "a test of " +
			"deploy/prometheus/generate runs it, and the rules' tests on what it makes",

		"go test ./test/truth/...": "make test runs it",
		"go test ./...":            "make test runs its tests, too",
		"make efficacy":            "it computes for an hour; the tests of test/efficacy play some of it",
		"make efficacy SEEDS=2":    "the same, for minutes",
		"make stores":              "it builds two stores for minutes; what it measured stands beside it",
		"make tools":               "make test builds what is missing of them",
		"make fuzz":                "it looks for ten minutes for what the tests' own seeds don't find",
		"make gate":                "it runs .ci/run, and so this test",
		"make release":             "it builds everything four times; it checks what it makes itself",
		"make licenses":            "TestTheLicensesOfEverythingThatIsLinkedAreShipped of test/image compares what it writes",
		"make vulncheck":           "it needs the internet; it fails where it can't scan",
		"make test-under-load":     "it is the end-to-end tests of make test, five times, beside stress-ng",
	}
}

// pages are all documents, by their path from the root of the project.
func pages(t *testing.T) map[string]string {
	t.Helper()
	root := filepath.Join("..", "..")
	out := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "deploy/*/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range found {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(root, path)
			if err != nil {
				t.Fatal(err)
			}
			out[rel] = string(b)
		}
	}
	if len(out) < 10 {
		t.Fatalf("only %d documents were found", len(out))
	}
	return out
}

// commands are the lines of the sh blocks of a page, without comments.
func commands(page string) []string {
	var out []string
	in := false
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "```"):
			in = line == "```sh"
		case in:
			line, _, _ = strings.Cut(line, " #")
			if line = strings.TrimSpace(line); line != "" {
				out = append(out, line)
			}
		}
	}
	return out
}

// form is a command line of ours without its values: the command, its verb and the names of its flags.
func form(line string) string {
	words := strings.Fields(line)
	var names, flags []string
	for n, w := range words[1:] {
		switch {
		case strings.HasPrefix(w, "-"):
			name, _, _ := strings.Cut(strings.TrimLeft(w, "-"), "=")
			flags = append(flags, name)
		case n == 0, n == 1 && words[1] == "incidents":
			names = append(names, w)
		}
	}
	slices.Sort(flags)
	return strings.Join(append(names, slices.Compact(flags)...), " ")
}

// Commands of ours are run by the scenarios, with the same flags; the tools' are run here, as they stand.
func TestEveryCommandInTheDocumentsIsRun(t *testing.T) {
	t.Parallel()
	run := scenarioForms(t)
	for name, page := range pages(t) {
		for _, line := range commands(page) {
			t.Run(name+": "+line, func(t *testing.T) {
				t.Parallel()
				first, _, _ := strings.Cut(line, " ")
				switch {
				case elsewhere()[line] != "", fresh(t, line):
				case name == "docs/quickstart.md":
					// TestTheQuickstartLeadsToATestMessage of test/chart does all that is on it, and nothing else.
				case strings.HasPrefix(line, "export VLLM_MEDIC_TOKEN=$(kubectl create token"):
					// The scenarios get their tokens from the same API (TokenRequest), without kubectl.
				case installing(t)[line]:
				case first == "vllm-medic":
					if !run[form(line)] {
						t.Errorf("no scenario runs %q (%s); they run:\n%s", line, form(line),
							strings.Join(slices.Sorted(maps.Keys(run)), "\n"))
					}
				case first == "promtool" || first == "amtool":
					tool(t, filepath.Join("..", "..", filepath.Dir(name)), line)
				default:
					t.Errorf("nothing runs %q", line)
				}
			})
		}
	}
}

// installing are the commands of docs/install.md that test/chart runs, in their order, on a real API server.
func installing(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, line := range commands(pages(t)["docs/install.md"]) {
		first, _, _ := strings.Cut(line, " ")
		out[line] = first == "helm" || first == "kubectl"
	}
	return out
}

// scenarioForms are the forms of the commands that the scenarios run.
func scenarioForms(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../scenarios/testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	called := regexp.MustCompile(`(?m)^(?:!? ?exec vllm-medic|(serve)) ?(.*)$`)
	out := map[string]bool{}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range called.FindAllStringSubmatch(string(b), -1) {
			out[form("vllm-medic "+m[1]+" "+m[2])] = true
		}
	}
	return out
}

func tool(t *testing.T, dir, line string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+tools.File(t, "bin")+":"+os.Getenv("PATH"))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
}

// The configuration in the README is the first that people copy.
func TestTheConfigurationInTheReadmeIsSound(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(pages(t)["README.md"], "```yaml\n")
	text, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no yaml block")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "medic.yaml")
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	medic := program.Build(t, "../../cmd/vllm-medic")
	must(t, exec.CommandContext(t.Context(), medic, "check", "--offline", "--config", config))
}

func must(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}
