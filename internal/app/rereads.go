package app

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/reread"
)

// reloadEvery is how often files are read again. A mounted ConfigMap or Secret takes about a minute to change anyway.
const reloadEvery = 10 * time.Second

// reread reads again what may have changed on disk, now and then, and at once when somebody asks for it: playbooks,
// certificates and secrets.
func (a *App) reread(ctx context.Context, every time.Duration) error {
	cfg := a.opts.Config
	if a.opts.Reload == nil && len(cfg.Playbooks.Dirs) == 0 && len(cfg.Files.Members()) == 0 {
		return nil // nothing could change
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	log := a.opts.Logger.With("part", "files")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		case <-a.opts.Reload:
			log.InfoContext(ctx, "asked to read playbooks, certificates and secrets again")
		}
		a.playbooks.reload(ctx)
		cfg.Files.Reload(ctx, log)
	}
}

// files are the metrics of what is read again. docs/operations.md says what to do about each.
type files struct{ set *reread.Set }

var (
	descFilesGood = desc("files_reload_successful",
		"1 when the files of a setting are in force, 0 when they are invalid and the last valid ones stay in force.",
		"setting")
	descFilesTime    = desc("files_loaded_timestamp_seconds", "When the files in force were read.", "setting")
	descCertNotAfter = desc("certificate_not_after_timestamp_seconds",
		"Until when the certificates in force hold.", "setting")
	descCertNotBefore = desc("certificate_not_before_timestamp_seconds",
		"From when on the certificates in force hold.", "setting")
)

// Describe sends every description.
func (files) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{descFilesGood, descFilesTime, descCertNotAfter, descCertNotBefore} {
		out <- d
	}
}

// Collect sends what is known of each setting.
func (f files) Collect(out chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, value float64, setting string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, setting)
	}
	for _, m := range f.set.Members() {
		send(descFilesGood, good(m.State), m.Setting)
		send(descFilesTime, float64(m.State.Loaded.Unix()), m.Setting)
		if v := m.Validity; v != nil {
			send(descCertNotAfter, float64(v.NotAfter.Unix()), m.Setting)
			send(descCertNotBefore, float64(v.NotBefore.Unix()), m.Setting)
		}
	}
}
