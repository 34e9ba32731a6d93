package app

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/reread"
	"github.com/vllm-medic/vllm-medic/internal/rescue"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// playbookSet is the playbooks in force. Files are reloaded when they change. With any error in them the whole set is
// refused and the last valid one stays in force. It is safe for concurrent use.
type playbookSet struct {
	cfg    config.Playbooks
	logger *slog.Logger
	panics *rescue.Log
	load   func([]playbooks.File, playbooks.Options) (*playbooks.Catalog, error)
	source *reread.Source[*playbooks.Catalog]
}

func newPlaybookSet(cfg config.Playbooks, current *playbooks.Catalog, logger *slog.Logger) *playbookSet {
	s := &playbookSet{cfg: cfg, logger: logger, load: playbooks.Load}
	s.source = reread.Having(current, s.read, s.parse)
	return s
}

func (s *playbookSet) read() ([]reread.Content, error) {
	files, err := playbookFiles(s.cfg.Dirs)
	if err != nil {
		return nil, err
	}
	out := make([]reread.Content, len(files))
	for n, f := range files {
		out[n] = reread.Content{Name: f.Name, Data: f.Data}
	}
	return out, nil
}

func (s *playbookSet) parse(content []reread.Content) (next *playbooks.Catalog, err error) {
	files := make([]playbooks.File, len(content))
	for n, c := range content {
		files[n] = playbooks.File{Name: c.Name, Data: c.Data}
	}
	// Reading isn't bound to whoever asked for it.
	err = s.panics.Do(context.Background(), partPlaybooks, func() (err error) {
		next, err = s.load(files, playbooks.Options{Window: s.cfg.Window, MaxWarmUp: s.cfg.MaxWarmUp})
		return err
	})
	return next, err
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

func (s *playbookSet) inForce() *playbooks.Catalog { return s.source.Value() }

// loadedAt is when the playbooks in force were read.
func (s *playbookSet) loadedAt() time.Time { return s.source.State().Loaded }

// notice says that the files of now are not in force; empty when they are.
func (s *playbookSet) notice() string {
	is := s.source.State()
	if is.Problem == "" {
		return ""
	}
	return fmt.Sprintf("Playbooks on disk are invalid since %s; those read at %s stay in force. %s",
		is.Since.UTC().Format("15:04 UTC"), is.Loaded.UTC().Format("2006-01-02 15:04 UTC"), is.Problem)
}

// reload reads the files and, when they have changed, puts them in force or says why not. Without folders there is
// nothing that could change.
func (s *playbookSet) reload(ctx context.Context) {
	if len(s.cfg.Dirs) == 0 {
		return
	}
	switch outcome, err := s.source.Reload(); outcome {
	case reread.Refused:
		s.logger.ErrorContext(ctx, "the changed playbooks are invalid; the last valid ones stay in force", "err", err)
	case reread.Taken:
		s.logger.InfoContext(ctx, "the changed playbooks are in force", "playbooks", len(s.inForce().Playbooks()))
	case reread.Unchanged:
	}
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
	is := s.source.State()
	out <- prometheus.MustNewConstMetric(descReloadGood, prometheus.GaugeValue, good(is))
	out <- prometheus.MustNewConstMetric(descReloadTime, prometheus.GaugeValue, float64(is.Loaded.Unix()))
}

// good is 1 when what is in the files is in force.
func good(s reread.State) float64 {
	if s.Problem != "" {
		return 0
	}
	return 1
}
