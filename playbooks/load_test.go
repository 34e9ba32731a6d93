package playbooks_test

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

var update = flag.Bool("update", false,
	"write what was found into the golden files; read the diff before you commit it")

// Each archive holds files with mistakes and, as "want", every problem that Load must find in them, all at once. A file
// named "with-signals" in the comment is loaded before them.
func TestLoadFindsEveryMistakeWithItsPlace(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/problems/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Parallel()
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			archive := txtar.Parse(data)
			var files []playbooks.File
			want := ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = strings.TrimSpace(string(f.Data))
					continue
				}
				files = append(files, playbooks.File{Name: f.Name, Data: f.Data})
			}
			if strings.Contains(string(archive.Comment), "with-signals") {
				files = append([]playbooks.File{goodFile(t, "signals.yaml")}, files...)
			}
			c, err := playbooks.Load(files, playbooks.Options{})
			var found strictyaml.Problems
			if !errors.As(err, &found) || c != nil {
				t.Fatalf("Load gave (%v, %v), want no catalog and strictyaml.Problems", c, err)
			}
			if *update {
				writeWant(t, name, archive, found.Error())
				return
			}
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(found.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func writeWant(t *testing.T, name string, archive *txtar.Archive, want string) {
	t.Helper()
	files := archive.Files[:0]
	for _, f := range archive.Files {
		if f.Name != "want" {
			files = append(files, f)
		}
	}
	archive.Files = append(files, txtar.File{Name: "want", Data: []byte(want + "\n")})
	if err := os.WriteFile(name, txtar.Format(archive), 0o600); err != nil {
		t.Fatal(err)
	}
}

func goodFile(t *testing.T, name string) playbooks.File {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return playbooks.File{Name: name, Data: data}
}

func loadGood(t *testing.T, opts playbooks.Options) *playbooks.Catalog {
	t.Helper()
	c, err := playbooks.Load([]playbooks.File{goodFile(t, "signals.yaml"), goodFile(t, "playbook.yaml")}, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// What must be so still is read over two minutes, and over less where the whole window is short.
func TestTheNewestPartOfTheWindow(t *testing.T) {
	t.Parallel()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	for window, want := range map[time.Duration]string{
		0: "[2m])", 20 * time.Second: "[8s])", time.Minute: "[24s])", time.Hour: "[2m])",
	} {
		c, err := playbooks.Load(files, playbooks.Options{Window: window})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.AllSignals() {
			if s.Name == "waiting_lately" && !strings.Contains(s.Query, want) {
				t.Errorf("with a window of %s: %s", window, s.Query)
			}
		}
	}
}

func TestLoadReadsSignals(t *testing.T) {
	t.Parallel()
	c := loadGood(t, playbooks.Options{Window: 30 * time.Second})
	want := []incident.Signal{
		{
			Name: "ttft", Title: "First token", Unit: incident.UnitSeconds, Direction: incident.HigherIsWorse, Floor: 0.001,
			Ceiling: 2560,
			Query:   "histogram_quantile(0.95, sum by (le) (rate(ttft_bucket[30s])))",
		},
		{
			Name: "waiting", Title: "Waiting", Query: "sum(waiting)", Unit: incident.UnitCount,
			Direction: incident.HigherIsWorse,
		},
		{Name: "kv", Title: "KV cache", Query: "max(kv)", Unit: incident.UnitRatio, Direction: incident.HigherIsWorse},
		{
			Name: "tokens", Title: "Tokens", Query: "sum(rate(tokens_total[30s])) /\nsum(rate(requests_total[30s]))",
			Unit: incident.UnitPerSecond, Direction: incident.LowerIsWorse,
		},
	}
	if diff := cmp.Diff(want, c.AllSignals()); diff != "" {
		t.Error(diff)
	}
}

func TestLoadReadsProfiles(t *testing.T) {
	t.Parallel()
	c := loadGood(t, playbooks.Options{})
	got, ok := c.Profile("fast")
	want := incident.SLO{Profile: "fast", TTFT: 0.2, TPOT: 0.03, QueueTime: 1, E2E: 90}
	if !ok || got != want {
		t.Errorf("got %+v, %t", got, ok)
	}
	got, ok = c.Profile("slow")
	if want := (incident.SLO{Profile: "slow", TTFT: 5}); !ok || got != want {
		t.Errorf("got %+v, %t", got, ok)
	}
	if got, ok := c.Profile("unheard-of"); ok || got != (incident.SLO{}) {
		t.Errorf("got %+v, %t for a profile that is not there", got, ok)
	}
}

func TestLoadReadsPlaybooks(t *testing.T) {
	t.Parallel()
	want := []playbooks.Playbook{{
		Name: "slow", Title: "Slow", Doc: "docs/playbooks/slow.md", Alerts: []string{"Slow", "AlsoSlow"},
		Diagnoses: []string{"busy", "full", "odd"},
	}}
	if diff := cmp.Diff(want, loadGood(t, playbooks.Options{}).Playbooks()); diff != "" {
		t.Error(diff)
	}
}

func TestLoadRefusesOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string]playbooks.Options{
		"negative window":  {Window: -time.Second},
		"tiny window":      {Window: time.Millisecond},
		"huge window":      {Window: 48 * time.Hour},
		"negative warm-up": {MaxWarmUp: -time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := playbooks.Load([]playbooks.File{goodFile(t, "signals.yaml"), goodFile(t, "playbook.yaml")}, opts)
			var found strictyaml.Problems
			if !errors.As(err, &found) || len(found) != 1 || found[0].File != "" {
				t.Errorf("got %v, want one problem outside the files", err)
			}
		})
	}
}

func TestLoadRefusesFilesThatCannotBeMeant(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		files []playbooks.File
		want  string
	}{
		"none": {want: "there is no file to load"},
		"twice": {
			files: []playbooks.File{goodFile(t, "signals.yaml"), goodFile(t, "signals.yaml")},
			want:  "signals.yaml: the file is given twice",
		},
		"too big": {
			files: []playbooks.File{{Name: "big.yaml", Data: make([]byte, 1<<20+1)}},
			want:  "big.yaml: the file has 1048577 bytes; at most 1048576 are read",
		},
		"no playbook": {files: []playbooks.File{goodFile(t, "signals.yaml")}, want: "no file holds a playbook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := playbooks.Load(tt.files, playbooks.Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestTheSameFilesGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	a, b := loadGood(t, playbooks.Options{}), loadGood(t, playbooks.Options{})
	in := playbooks.Input{
		Alerts:   alerts("Slow"),
		Evidence: readings(map[string]float64{"ttft": 9, "waiting": 3, "kv": 0.97}),
	}
	if diff := cmp.Diff(a.Diagnose(in), b.Diagnose(in)); diff != "" {
		t.Error(diff)
	}
}
