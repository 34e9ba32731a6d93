package chart

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

const page = "../../docs/install.md"

var (
	shell = regexp.MustCompile("(?ms)^```sh\n(.*?)^```")
	block = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")
	// row is one of the table of values: its path and its default.
	row = regexp.MustCompile("(?m)^\\| `([a-zA-Z.]+)` \\| (?:`([^|]*)`)? \\| [^|]+ \\|$")
)

// Somebody follows the page from its top: every command of Helm and kubectl on it is run as it stands, on a real API
// server.
func TestThePageIsFollowed(t *testing.T) {
	t.Parallel()
	c := withMonitoring(t)
	text := read(t, page)
	here := t.TempDir()
	root, err := filepath.Abs("../..")
	must(t, err)
	must(t, os.Symlink(filepath.Join(root, "deploy"), filepath.Join(here, "deploy")))
	must(t, os.WriteFile(filepath.Join(here, "values.yaml"), []byte(block.FindStringSubmatch(text)[1]), 0o600))
	ran := 0
	for _, sh := range shell.FindAllStringSubmatch(text, -1) {
		for line := range strings.Lines(sh[1]) {
			if strings.HasPrefix(line, "vllm-medic ") { // the scenarios run these
				continue
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-c", line)
			cmd.Dir = here
			cmd.Env = append(os.Environ(), "PATH="+tools.File(t, "bin")+":"+os.Getenv("PATH"), "HOME="+here,
				"KUBECONFIG="+c.Kubeconfig(t, kubetest.Admin))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%s%v\n%s", line, err, out)
			}
			ran++
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands were found", ran)
	}
	claims, err := c.Client(t).CoreV1().PersistentVolumeClaims("vllm-medic").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(claims.Items) != 1 {
		t.Errorf("at the end %d volumes are left, want the one with the incidents: %v", len(claims.Items), err)
	}
}

// Every example of values on the page is one.
func TestTheExamplesOnThePageAreValues(t *testing.T) {
	t.Parallel()
	examples := block.FindAllStringSubmatch(read(t, page), -1)
	if len(examples) < 4 {
		t.Fatalf("only %d examples were found", len(examples))
	}
	for n, e := range examples {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			rendered(t, "vllm-medic", e[1])
		})
	}
}

// The table on the page has every value with its default.
func TestThePageListsEveryValue(t *testing.T) {
	t.Parallel()
	var values map[string]any
	must(t, yaml.Unmarshal([]byte(read(t, folder+"/values.yaml")), &values))
	want := map[string]any{}
	flatten(want, "", values)
	got := map[string]any{}
	for _, row := range row.FindAllStringSubmatch(read(t, page), -1) {
		var is any
		must(t, yaml.Unmarshal([]byte(row[2]), &is))
		if row[2] == "" {
			is = ""
		}
		got[row[1]] = is
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values.yaml (-) differs from the table (+):\n%s", diff)
	}
}

// flatten lists values by their path. What people fill in is one value: the configuration, labels and the like.
func flatten(into map[string]any, path string, v any) {
	below, is := v.(map[string]any)
	whole := map[string]bool{
		"config": true, "resources": true, "monitoring.labels": true, "monitoring.dashboards.labels": true,
	}
	if !is || len(below) == 0 || whole[path] {
		if path == "config" {
			v = ""
		}
		into[path] = v
		return
	}
	for key, value := range below {
		flatten(into, strings.TrimPrefix(path+"."+key, "."), value)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Clean(path))
	must(t, err)
	return string(b)
}
