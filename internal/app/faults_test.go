package app

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// brittle fails as a part of the program may.
type brittle struct{}

func (brittle) Prune(context.Context, time.Time, store.Keep) (store.Pruned, error) { panic("prune") }

func (brittle) Stats(context.Context) (store.Stats, error) { panic("stats") }

func (brittle) Ready(context.Context) error { return nil }

func (brittle) ClockOffset() time.Duration { return 0 }

func (brittle) Turns() remediation.Turns { return remediation.Turns{Hung: 1, GivenUp: 3} }

func TestAPanicInTheBackgroundIsCountedAndEndsNothing(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	panics := rescue.NewLog(slog.New(slog.NewTextHandler(&out, nil)), partPrune, partMetrics, store.Part)
	pruneOnce(t.Context(), rescued{brittle{}, panics}, slog.New(slog.DiscardHandler), time.Now)
	m := &storeMetrics{counter: brittle{}, logger: slog.New(slog.DiscardHandler), now: time.Now, panics: panics}
	if _, err := m.count(t.Context()); err == nil {
		t.Error("the store could be counted")
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(faults{brittle{}, panics})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, x := range f.GetMetric() {
			label := ""
			if len(x.GetLabel()) > 0 {
				label = x.GetLabel()[0].GetValue()
			}
			got = append(got,
				strings.TrimPrefix(f.GetName(), "vllm_medic_")+" "+label+" "+
					formatCount(x.GetCounter().GetValue()+x.GetGauge().GetValue()))
		}
	}
	want := []string{
		"panics_total metrics 1", "panics_total prune 1", "panics_total store 0", "turns_given_up_total  3",
		"turns_hung  1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if !strings.Contains(out.String(), "faults_test.go") {
		t.Errorf("the log has no stack: %s", out.String())
	}
}

func formatCount(v float64) string { return string(rune('0' + int(v))) }

// A bug that a playbook brings out when it is loaded leaves the last good ones in force.
func TestPlaybooksThatPanicAreRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.yaml"), []byte("playbook: a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newPlaybookSet(config.Playbooks{Dirs: []string{dir}}, nil, slog.New(slog.DiscardHandler))
	s.load = func([]playbooks.File, playbooks.Options) (*playbooks.Catalog, error) { panic(errors.New("nil map")) }
	s.reload(t.Context())
	if got := s.notice(); !strings.Contains(got, "panic: nil map") {
		t.Errorf("notice %q", got)
	}
}
