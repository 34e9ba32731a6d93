package grafana

import (
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// boards are the dashboards by name, as text.
func boards(t *testing.T) map[string]string {
	t.Helper()
	found, err := filepath.Glob("../../deploy/grafana/*.json")
	if err != nil || len(found) != 2 {
		t.Fatalf("dashboards: %v, %v", found, err)
	}
	out := map[string]string{}
	for _, path := range found {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(filepath.Base(path), ".json")] = string(text)
	}
	return out
}

// compileError is the first error of a file of TypeScript.
var compileError = regexp.MustCompile(`(?m)^(\w[\w-]*)\.ts\((.*)$`)

// compiled holds texts of dashboards against Grafana's types, and returns the first error of each that has one.
func compiled(t *testing.T, texts map[string]string) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(tools.Modules(t, "grafana"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, name := range []string{"dashboard.ts", "tsconfig.json"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	for name, text := range texts {
		files[name+".ts"] = "import type { Board } from './dashboard.js';\nexport const board: Board =\n" + text + ";\n"
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join("node_modules", "typescript", "bin", "tsc"), "-p", ".",
		"--pretty", "false")
	cmd.Dir = dir
	process.Tie(cmd)
	out, err := cmd.CombinedOutput()
	failed := map[string]string{}
	for _, m := range compileError.FindAllStringSubmatch(string(out), -1) {
		if failed[m[1]] == "" {
			failed[m[1]] = m[2]
		}
	}
	// Whatever else tsc has to say is about this test.
	exit := (&exec.ExitError{})
	if err != nil && !errors.As(err, &exit) || (err != nil) != (len(failed) > 0) || failed["dashboard"] != "" {
		t.Fatalf("tsc: %v\n%s", err, out)
	}
	return failed
}

func TestGrafanaTakesTheDashboards(t *testing.T) {
	t.Parallel()
	for name, why := range compiled(t, boards(t)) {
		t.Errorf("%s: %s", name, why)
	}
}

// A check that takes everything is none: each of these is a dashboard with one thing that Grafana doesn't know.
func TestGrafanasTypesRefuseWhatGrafanaDoesNotKnow(t *testing.T) {
	t.Parallel()
	good := boards(t)["vllm"]
	changes := map[string][2]string{
		"drawing": {`"drawStyle": "line"`, `"drawStyle": "lines"`}, "field": {`"lineWidth": 1`, `"linewidth": 1`},
		"board": {`"graphTooltip"`, `"graphTooltips"`}, "query": {`"refId": "A"`, `"refID": "A"`},
		"tooltip": {`"mode": "multi"`, `"mode": "many"`}, "stat": {`"colorMode": "value"`, `"colorMode": 3`},
		"variable": {`"type": "interval"`, `"type": "intervals"`}, "refresh": {`"refresh": 2`, `"refresh": 7`},
		"row": {`"collapsed": true`, `"folded": true`}, "panel": {`"type": "stat"`, `"type": "statistic"`},
		"annotation": {`"iconColor"`, `"color"`}, "color": {`"mode": "palette-classic"`, `"mode": "palette"`},
	}
	bad := map[string]string{}
	for name, c := range changes {
		if bad[name] = strings.Replace(good, c[0], c[1], 1); bad[name] == good {
			t.Errorf("%s: the dashboard has no %s", name, c[0])
		}
	}
	refused := compiled(t, bad)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if refused[name] == "" {
			t.Errorf("%s passes", changes[name][1])
		}
	}
}
