package efficacy

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// monitor is a Prometheus with the shipped rules and the example configuration's times.
type monitor struct {
	world   *world
	prom    *promembed.Prometheus
	scraper *fleet.Scraper
	// renamed are the labels of series with the pod's name in the cluster.
	renamed map[uint64]labels.Labels
	// first is when an alert fired for the first time; zero before.
	first time.Time
}

// kept is longer than anybody looks back within a play.
const kept = 90 * time.Minute

func newMonitor(w *world, rules []byte) (*monitor, error) {
	prom, err := promembed.New(promembed.Options{EvaluationInterval: 15 * time.Second, Retention: kept})
	if err != nil {
		return nil, err
	}
	if err := prom.LoadRules("vllm-alerts.yaml", rules); err != nil {
		return nil, err
	}
	return &monitor{
		world: w, prom: prom, scraper: fleet.NewScraper(w.fleet, true), renamed: map[uint64]labels.Labels{},
	}, nil
}

// dropped are the series that the example configuration doesn't keep.
var dropped = regexp.MustCompile(`^vllm:(request|generation|iteration|time|inter|e2e|prefix|external|mm|num|spec|` +
	`nixl|kv|prompt_tokens_by_source|prompt_tokens_cached|corrupted|estimated|admission|tool|websocket).*_created$`)

// scrape reads what the fleet shows now.
func (m *monitor) scrape() error {
	return m.scraper.Scrape(func(ls labels.Labels, t int64, v float64) error {
		id := ls.Hash()
		named, known := m.renamed[id]
		if !known {
			named = m.rename(ls)
			m.renamed[id] = named
		}
		if named.IsEmpty() {
			return nil
		}
		return m.prom.Append(named, []promembed.Sample{{T: time.UnixMilli(t), V: v}})
	})
}

// rename gives a series the name that its pod has in the cluster; it is empty when the series isn't kept.
func (m *monitor) rename(ls labels.Labels) labels.Labels {
	if dropped.MatchString(ls.Get(model.MetricNameLabel)) {
		return labels.EmptyLabels()
	}
	if name := m.world.pods.Name(ls.Get("pod")); name != "" {
		return labels.NewBuilder(ls).Set("pod", name).Labels()
	}
	return ls
}

// evaluate hands what the rules find to Alertmanager.
func (m *monitor) evaluate(now time.Time) error {
	found, err := m.prom.EvaluateRules(context.Background(), now)
	alerts := make([]model.Alert, 0, len(found))
	for _, a := range found {
		if m.first.IsZero() && a.EndsAt.After(now) {
			m.first = now
		}
		alerts = append(alerts, a.Model())
	}
	if m.world.am == nil {
		return err
	}
	slices.SortFunc(alerts, func(a, b model.Alert) int { return int(a.Fingerprint()>>33) - int(b.Fingerprint()>>33) })
	return errors.Join(err, m.world.am.Put(alerts...))
}
