package app

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// reloadEvery is how often the playbook folders are read. A mounted ConfigMap takes about a minute to change anyway.
const reloadEvery = 10 * time.Second

// playbookSet is the playbooks in force. Files are reloaded when they change. With any error in them the whole set is
// refused and the last valid one stays in force. It is safe for concurrent use.
type playbookSet struct {
	cfg    config.Playbooks
	logger *slog.Logger
	now    func() time.Time
	panics *rescue.Log
	load   func([]playbooks.File, playbooks.Options) (*playbooks.Catalog, error)

	mu      sync.Mutex
	current *playbooks.Catalog
	files   []playbooks.File // as they were last read, valid or not; nil before the first reload
	problem string           // why the files of now are not in force; empty when they are
	since   time.Time        // when that began
	loaded  time.Time        // when the playbooks in force were read
}

func newPlaybookSet(
	cfg config.Playbooks, current *playbooks.Catalog, logger *slog.Logger, now func() time.Time,
) *playbookSet {
	return &playbookSet{cfg: cfg, logger: logger, now: now, current: current, loaded: now(), load: playbooks.Load}
}

func playbookFiles(dirs []string) ([]playbooks.File, error) {
	files, err := catalog.Files()
	if err != nil {
		return nil, err
	}
	more, err := config.PlaybookFiles(dirs)
	if err != nil {
		return nil, err
	}
	for _, f := range more {
		files = append(files, playbooks.File{Name: f.Name, Data: f.Data})
	}
	return files, nil
}

// Signals implements remediation.Diagnoser with the playbooks in force.
func (s *playbookSet) Signals(alertNames []string) []incident.Signal {
	return s.inForce().Signals(alertNames)
}

// Diagnose implements remediation.Diagnoser with the playbooks in force.
func (s *playbookSet) Diagnose(in playbooks.Input) playbooks.Result { return s.inForce().Diagnose(in) }

func (s *playbookSet) inForce() *playbooks.Catalog {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// loadedAt is when the playbooks in force were read.
func (s *playbookSet) loadedAt() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loaded
}

// notice says that the files of now are not in force; empty when they are.
func (s *playbookSet) notice() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem == "" {
		return ""
	}
	return fmt.Sprintf("Playbooks on disk are invalid since %s; those read at %s stay in force. %s",
		s.since.UTC().Format("15:04 UTC"), s.loaded.UTC().Format("2006-01-02 15:04 UTC"), s.problem)
}

// run reloads the folders until the context ends. Without folders there is nothing that could change.
func (s *playbookSet) run(ctx context.Context, every time.Duration) error {
	if len(s.cfg.Dirs) == 0 {
		return nil
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			s.reload(ctx)
		}
	}
}

// reload reads the files and, when they have changed, puts them in force or says why not.
func (s *playbookSet) reload(ctx context.Context) {
	files, err := playbookFiles(s.cfg.Dirs)
	s.mu.Lock()
	same := err == nil && slices.EqualFunc(files, s.files, func(a, b playbooks.File) bool {
		return a.Name == b.Name && bytes.Equal(a.Data, b.Data)
	})
	s.mu.Unlock()
	if same {
		return
	}
	var next *playbooks.Catalog
	if err == nil {
		err = s.panics.Do(ctx, partPlaybooks, func() (err error) {
			next, err = s.load(files, playbooks.Options{Window: s.cfg.Window, MaxWarmUp: s.cfg.MaxWarmUp})
			return err
		})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if s.problem != err.Error() {
			s.logger.ErrorContext(ctx, "the changed playbooks are invalid; the last valid ones stay in force", "err", err)
			s.since = s.now()
		}
		s.problem, s.files = err.Error(), files
		return
	}
	first := s.files == nil
	s.current, s.files, s.problem, s.loaded = next, files, "", s.now()
	if first {
		return // what the bot started with, most likely
	}
	s.logger.InfoContext(ctx, "the changed playbooks are in force", "playbooks", len(next.Playbooks()))
}

// The metrics of the playbooks. docs/operations.md says what to do about each.
var (
	descReloadGood = desc("playbooks_reload_successful",
		"1 when the playbooks on disk are in force, 0 when they are invalid and the last valid ones stay in force.")
	descReloadTime = desc("playbooks_loaded_timestamp_seconds", "When the playbooks in force were read.")
)

// Describe sends every description.
func (s *playbookSet) Describe(out chan<- *prometheus.Desc) {
	out <- descReloadGood
	out <- descReloadTime
}

// Collect sends both.
func (s *playbookSet) Collect(out chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	good := 1.0
	if s.problem != "" {
		good = 0
	}
	out <- prometheus.MustNewConstMetric(descReloadGood, prometheus.GaugeValue, good)
	out <- prometheus.MustNewConstMetric(descReloadTime, prometheus.GaugeValue, float64(s.loaded.Unix()))
}
