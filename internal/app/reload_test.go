package app

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

const ownPlaybook = `name: mine
title: Mine
alerts: [MyAlert]
healthy: [{rule: waiting <= 5}]
diagnoses:
  - {name: my-cause, rank: 500, summary: s, source: s, when: waiting > LIMIT, no_action: n}
`

func withLimit(limit string) string { return strings.Replace(ownPlaybook, "LIMIT", limit, 1) }

// A good change comes into force; a bad one is refused, the last good one stays, and both the metric and the notice say
// so until it is mended.
func TestChangedPlaybooksComeIntoForceAndBadOnesDoNot(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	put := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put(withLimit("5"))
	files, err := playbookFiles([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	start, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := newPlaybookSet(config.Playbooks{Dirs: []string{dir}}, start, slog.New(slog.NewTextHandler(&log, nil)))
	holds := func(limit, notice string, good float64) {
		t.Helper()
		s.reload(t.Context())
		got := ""
		for _, o := range s.Diagnose(playbooks.Input{}).Others {
			if o.Name == "my-cause" {
				got = o.Why
			}
		}
		var rule string
		for _, p := range s.inForce().Playbooks() {
			rule += p.Name + " "
		}
		if !strings.Contains(rule, "mine") || got == "" {
			t.Errorf("in force: %s; my-cause: %q", rule, got)
		}
		if want := s.inForce().Rule("my-cause"); want != "waiting > "+limit {
			t.Errorf("the rule in force is %q, want the limit %s", want, limit)
		}
		if n := s.notice(); (notice == "") != (n == "") || !strings.Contains(n, notice) {
			t.Errorf("the notice is %q, want %q in it", n, notice)
		}
		want := "# HELP vllm_medic_playbooks_reload_successful 1 when the playbooks on disk are in force, " +
			"0 when they are invalid and the last valid ones stay in force.\n" +
			"# TYPE vllm_medic_playbooks_reload_successful gauge\nvllm_medic_playbooks_reload_successful "
		if err := testutil.CollectAndCompare(s, strings.NewReader(want+map[float64]string{0: "0", 1: "1"}[good]+"\n"),
			"vllm_medic_playbooks_reload_successful"); err != nil {
			t.Error(err)
		}
	}
	holds("5", "", 1)
	put(withLimit("7"))
	holds("7", "", 1)
	put(withLimit("'7"))
	holds("7", "mine.yaml:6:", 0)
	holds("7", "mine.yaml:6:", 0)
	if n := strings.Count(log.String(), "playbooks are invalid"); n != 1 {
		t.Errorf("the error is %d times in the log:\n%s", n, log.String())
	}
	put(withLimit("8"))
	holds("8", "", 1)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	holds("8", "is not a readable directory", 0)
}
