package e2e

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	prom "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// scraping is a Prometheus in this process that scrapes the fleet and evaluates the rules each second.
type scraping struct {
	t       *testing.T
	store   *promembed.Prometheus
	scraper *fleet.Scraper
	am      atomic.Pointer[alertmanager.Alertmanager]
}

func newScraping(t *testing.T, f *fleet.Fleet) *scraping {
	t.Helper()
	store, err := promembed.New(promembed.Options{EvaluationInterval: time.Second, ResendDelay: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.LoadRules("vllm-alerts.yaml", []byte(rules(t))); err != nil {
		t.Fatal(err)
	}
	return &scraping{t: t, store: store, scraper: fleet.NewScraper(f, true)}
}

// run scrapes and evaluates until the context ends.
func (s *scraping) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			if err := errors.Join(s.scrape(now), s.evaluate(ctx, now)); err != nil {
				s.t.Error(err)
			}
		}
	}
}

// scrape stores what the fleet shows now. Its own time passes faster: what is scraped is of this moment.
func (s *scraping) scrape(now time.Time) error {
	return s.scraper.Scrape(func(ls labels.Labels, _ int64, v float64) error {
		return s.store.Append(ls, []promembed.Sample{{T: now, V: v}})
	})
}

// evaluate hands what the rules find to Alertmanager.
func (s *scraping) evaluate(ctx context.Context, now time.Time) error {
	found, err := s.store.EvaluateRules(ctx, now)
	alerts := make([]prom.Alert, 0, len(found))
	for _, a := range found {
		alerts = append(alerts, a.Model())
	}
	return errors.Join(err, s.am.Load().Put(alerts...)) //nolint:contextcheck // groups live as long as Alertmanager runs
}
