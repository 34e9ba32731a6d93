package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"time"

	prommodel "github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// The names that every incident has.
const (
	namespace = "llm"
	model     = "llama-70b"
	container = "vllm"
)

// Sink takes the generated series; promembed.Prometheus is one.
type Sink interface {
	Append(ls labels.Labels, samples []promembed.Sample) error
}

// fleet is an incident that has been simulated.
type fleet struct {
	inc      *Incident
	machines map[string][]*machine // by pod, by rank
}

// simulate runs every engine of an incident.
func (inc *Incident) simulate() *fleet {
	f := &fleet{inc: inc, machines: map[string][]*machine{}}
	var capacities []float64
	for _, pod := range inc.Pods {
		for _, rank := range inc.ranks() {
			m := inc.machine(pod, rank)
			m.run()
			f.machines[pod] = append(f.machines[pod], m)
			capacities = append(capacities, m.capacity())
		}
	}
	slices.Sort(capacities)
	for _, ms := range f.machines {
		for _, m := range ms {
			m.shared = capacities[len(capacities)/2]
		}
	}
	return f
}

// Generate simulates an incident and puts everything that Prometheus would have scraped into the sink.
func (inc *Incident) Generate(to Sink) error {
	f := inc.simulate()
	for i, pod := range inc.Pods {
		if err := f.pod(to, i, pod); err != nil {
			return fmt.Errorf("%s: %w", inc.Name, err)
		}
	}
	if err := f.around(to); err != nil {
		return fmt.Errorf("%s: %w", inc.Name, err)
	}
	return nil
}

// target is how one scrape target looks in Prometheus.
type target struct {
	labels []string // names and values
	state  []string // of the scrape, by step
	offset float64  // seconds before the step at which it is scraped
}

func (inc *Incident) instance(i int) string { return fmt.Sprintf("10.42.%d.%d:8000", i/200, 17+i%200) }

func (f *fleet) target(i int, pod, job string) target {
	m := f.machines[pod][0]
	t := target{
		labels: []string{
			"job", job, "instance", f.inc.instance(i), "namespace", namespace, "pod", pod, "container",
			container,
		},
		state: make([]string, m.tp.steps), offset: math.Mod(float64(i)*4.7+1.3, float64(f.inc.Scrape)),
	}
	for s := range t.state {
		t.state[s] = *m.tl.at(float64(s) * m.tp.interval).Target
	}
	return t
}

// pod writes one pod's engines, its API server and up.
func (f *fleet) pod(to Sink, i int, pod string) error {
	w := scribe{to: to, inc: f.inc}
	t := f.target(i, pod, "vllm")
	w.up(t)
	d := f.inc.spelling()
	ms := f.machines[pod]
	for rank, m := range ms {
		for _, c := range m.columns() {
			if !d.exports(c) {
				continue
			}
			w.series(t, d.name(c), d.labels(c, fmt.Sprint(rank), i), c.values)
			if f.inc.Dialect == kserveTwins {
				twin := f.target(i, pod, "kserve-llm-isvc-vllm-engine")
				w.series(twin, "kserve_"+d.name(c), d.labels(c, fmt.Sprint(rank), i), c.values)
			}
		}
	}
	if f.inc.Dialect == kserveTwins {
		w.up(f.target(i, pod, "kserve-llm-isvc-vllm-engine"))
	}
	if d.server {
		f.apiServer(&w, t, ms)
	}
	return w.err
}

// scribe writes series until the first error.
type scribe struct {
	to  Sink
	inc *Incident
	err error
}

func (w *scribe) time(t target, step int) time.Time {
	at := w.inc.first().Add(time.Duration(float64(step) * float64(w.inc.Scrape) * float64(time.Second)))
	return at.Add(-time.Duration(t.offset * float64(time.Second)))
}

// up is 1 while the scrape works, 0 when it fails, and ends with the target.
func (w *scribe) up(t target) {
	var samples []promembed.Sample
	for i, state := range t.state {
		s := promembed.Sample{T: w.time(t, i)}
		switch state {
		case targetUp:
			s.V = 1
		case targetDown, targetLost:
			s.V = 0
		case targetGone:
			if i == 0 || t.state[i-1] == targetGone {
				continue
			}
			s.V = math.Float64frombits(value.StaleNaN)
		case targetSilent:
			continue
		}
		samples = append(samples, s)
	}
	w.append("up", t.labels, samples)
}

// series writes what a working scrape shows; where it stops to work, the series is marked as ended.
func (w *scribe) series(t target, name string, more []string, values []float64) {
	samples := make([]promembed.Sample, 0, len(values))
	for i, v := range values {
		switch state := t.state[i]; {
		case state == targetUp && !math.IsNaN(v):
		case state == targetSilent:
			continue
		case len(samples) > 0 && !value.IsStaleNaN(samples[len(samples)-1].V):
			v = math.Float64frombits(value.StaleNaN)
		default:
			continue
		}
		samples = append(samples, promembed.Sample{T: w.time(t, i), V: v})
	}
	w.append(name, append(slices.Clone(t.labels), more...), samples)
}

func (w *scribe) append(name string, pairs []string, samples []promembed.Sample) {
	if w.err != nil || len(samples) == 0 {
		return
	}
	b := labels.NewBuilder(labels.EmptyLabels())
	b.Set(prommodel.MetricNameLabel, name)
	for i := 0; i+1 < len(pairs); i += 2 {
		b.Set(pairs[i], pairs[i+1])
	}
	if err := w.to.Append(b.Labels(), samples); err != nil {
		w.err = fmt.Errorf("append %s: %w", name, err)
	}
}
