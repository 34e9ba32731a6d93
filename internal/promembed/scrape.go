package promembed

import (
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
)

// upMetric says whether the last scrape of a target succeeded.
const upMetric = "up"

// Target is something that is scraped: its pages become samples as Prometheus' scraping makes them. It is for one
// goroutine at a time.
type Target struct {
	prom   *Prometheus
	labels labels.Labels
	// seen are the series of the last page, by their text in it.
	seen map[string]labels.Labels
}

// Target adds a target with the labels that service discovery gave it (job, instance, namespace, pod, ...). A series
// that has one of them itself keeps its own as exported_NAME.
func (p *Prometheus) Target(ls labels.Labels) *Target {
	return &Target{prom: p, labels: ls, seen: map[string]labels.Labels{}}
}

// Scraped puts in the samples of a page in Prometheus' text format, all at one time. Series of the page before that are
// not in this one end. Of what Prometheus adds by itself it adds up. A page that cannot be read counts as a scrape that
// failed, and is the error.
func (t *Target) Scraped(at time.Time, page []byte) error {
	got, batches, err := t.read(at, page)
	if err != nil {
		return errors.Join(err, t.Failed(at))
	}
	batches = append(t.ended(at, got), batches...)
	if err := t.prom.samples.add(append(batches, t.up(at, 1))); err != nil {
		return err
	}
	t.seen = got
	return nil
}

// Failed notes a scrape without an answer: up is 0, and every other series of the target ends.
func (t *Target) Failed(at time.Time) error {
	if err := t.prom.samples.add(append(t.ended(at, nil), t.up(at, 0))); err != nil {
		return err
	}
	t.seen = map[string]labels.Labels{}
	return nil
}

// Gone notes that service discovery has dropped the target: all its series end, up too.
func (t *Target) Gone(at time.Time) error {
	stale := batch{labels: t.derived(upMetric), points: []point{{t: at.UnixMilli(), v: staleMarker()}}}
	if err := t.prom.samples.add(append(t.ended(at, nil), stale)); err != nil {
		return err
	}
	t.seen = map[string]labels.Labels{}
	return nil
}

func staleMarker() float64 { return math.Float64frombits(value.StaleNaN) }

// read parses a page. Labels of series that were on the page before are not parsed again.
func (t *Target) read(at time.Time, page []byte) (map[string]labels.Labels, []batch, error) {
	p, err := textparse.New(page, "text/plain", nil, textparse.ParserOptions{})
	if err != nil {
		return nil, nil, err
	}
	got := make(map[string]labels.Labels, len(t.seen))
	var batches []batch
	for {
		entry, err := p.Next()
		switch {
		case errors.Is(err, io.EOF):
			return got, batches, nil
		case err != nil:
			return nil, nil, fmt.Errorf("parse the page of %s: %w", t.labels, err)
		case entry != textparse.EntrySeries:
			continue
		}
		text, ts, v := p.Series()
		if ts != nil {
			return nil, nil, fmt.Errorf("the page of %s has timestamps, which are not supported: %s", t.labels, text)
		}
		ls, known := t.seen[string(text)]
		if !known {
			p.Labels(&ls)
			ls = t.merged(ls)
		}
		got[string(text)] = ls
		batches = append(batches, batch{labels: ls, points: []point{{t: at.UnixMilli(), v: v}}})
	}
}

// merged puts the target's labels on a series, as honor_labels: false does.
func (t *Target) merged(ls labels.Labels) labels.Labels {
	b := labels.NewBuilder(ls)
	t.labels.Range(func(l labels.Label) {
		if own := ls.Get(l.Name); own != "" {
			b.Set(model.ExportedLabelPrefix+l.Name, own)
		}
		b.Set(l.Name, l.Value)
	})
	return b.Labels()
}

// ended are the markers that end what was on the last page and is not on this one.
func (t *Target) ended(at time.Time, now map[string]labels.Labels) []batch {
	var out []batch
	for text, ls := range t.seen {
		if _, still := now[text]; !still {
			out = append(out, batch{labels: ls, points: []point{{t: at.UnixMilli(), v: staleMarker()}}})
		}
	}
	return out
}

func (t *Target) up(at time.Time, v float64) batch {
	return batch{labels: t.derived(upMetric), points: []point{{t: at.UnixMilli(), v: v}}}
}

func (t *Target) derived(name string) labels.Labels {
	return labels.NewBuilder(t.labels).Set(model.MetricNameLabel, name).Labels()
}
