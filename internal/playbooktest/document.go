package playbooktest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// document is one file of tests as people write it.
type document struct {
	// Playbooks of your own, loaded after the built-in ones: folders or files, relative to this file.
	Playbooks []string `yaml:"playbooks,omitempty"`
	// The range of rates in the signals; 5m when it is left out, as for the bot.
	Window strictyaml.Duration `yaml:"window,omitempty"`
	// The time between two values of the input series; 15s when it is left out.
	Interval strictyaml.Duration `yaml:"interval,omitempty"`
	// The tests.
	Tests []testDoc `yaml:"tests"`
}

type testDoc struct {
	// What is tested, in a few words; unique in the file.
	Name string `yaml:"name"`
	// The spellings of vLLM's metrics that the test runs in, once in each: all, or names such as vllm, vllm-0.9,
	// underscore, ray. Only vllm when it is left out.
	Dialects []string `yaml:"dialects,omitempty"`
	// What Prometheus holds, in Prometheus' own notation and in today's names of vLLM.
	InputSeries []seriesDoc `yaml:"input_series,omitempty"`
	// Histograms in short; each stands for its bucket, sum and count series.
	Histograms []histogramDoc `yaml:"histograms,omitempty"`
	// The alerts that fire: names, or alerts with their labels and the query of their rule. Without any, every playbook is
	// asked.
	Alerts []alertDoc `yaml:"alerts,omitempty"`
	// The pool that is looked at. Left out, it has no targets, and the namespace and model_name that all series share as
	// matchers.
	Pool poolDoc `yaml:"pool,omitempty"`
	// What Kubernetes says, with the fields of cluster in an incident's JSON; times may be written as "5m ago". Left out:
	// no Kubernetes.
	Cluster strictyaml.Value `yaml:"cluster,omitempty"`
	// When it is looked, counted from the first value of the series.
	At strictyaml.Duration `yaml:"at"`
	// What must come out.
	Expect expectDoc `yaml:"expect"`
}

type seriesDoc struct {
	// A metric with its labels: vllm:num_requests_waiting{pod="a"}.
	Series string `yaml:"series"`
	// Its values, an interval apart: '1 2 3', '0+1x10' (0 to 10), '5x3' (5 four times), '_x5' (five times none), 'stale'.
	Values string `yaml:"values"`
}

type histogramDoc struct {
	// The histogram with its labels, without _bucket: vllm:time_to_first_token_seconds{pod="a"}.
	Series string `yaml:"series"`
	// The bucket bounds: v1 (vLLM 0.8.4 and later, also when it is left out), old, or a list of numbers.
	Buckets bucketsDoc `yaml:"buckets,omitempty"`
	// What it observes, one stretch of time after the other.
	Spans []spanDoc `yaml:"spans"`
}

type spanDoc struct {
	// How long it lasts, a multiple of the interval; the last one may leave it out and lasts until the test looks.
	For strictyaml.Duration `yaml:"for,omitempty"`
	// How many observations of which size come in each interval: {200ms: 10, 8s: 2}. Nothing: no traffic.
	Observe map[string]float64 `yaml:"observe,omitempty"`
}

type poolDoc struct {
	// Its targets: a profile (chat, completion, batch), or targets of its own.
	SLO sloDoc `yaml:"slo,omitempty"`
	// The labels that belong to the pool; they are put into every query.
	Matchers map[string]string `yaml:"matchers,omitempty"`
	// The HTTPRoute at the gateway that leads to the pool, as http_route in an incident's pool.
	HTTPRoute strictyaml.Value `yaml:"http_route,omitempty"`
	// The knobs with their bounds, as knobs in an incident's pool.
	Knobs strictyaml.Value `yaml:"knobs,omitempty"`
}

// expectDoc is what must come out. What is left out is not compared.
type expectDoc struct {
	// The diagnosis, or none.
	Diagnosis string `yaml:"diagnosis"`
	// A part of the dialect that was found: "underscore names".
	Dialect string `yaml:"dialect,omitempty"`
	// Readings by signal, as precise as they are written: 70, 7.2s, 97%, at most 300ms, no data, error.
	Readings map[string]readingDoc `yaml:"readings,omitempty"`
	// Other diagnoses and what their rules say: true, false or undecided.
	Others map[string]string `yaml:"others,omitempty"`
	// The steps in their order: kinds, or kinds with what they ask for. [] is no step.
	Plan []planDoc `yaml:"plan,omitempty"`
	// Parts of the changes that would make it worse, each of another one or of the same.
	Never []string `yaml:"never,omitempty"`
	// Whether the trouble is over: true, false or undecided.
	Healthy string `yaml:"healthy,omitempty"`
	// Parts of the note.
	Note string `yaml:"note,omitempty"`
	// Parts of what is unusual beside the diagnosis.
	Unusual []string `yaml:"unusual,omitempty"`
}

// alertDoc is an alert's name, or an alert.
type alertDoc struct {
	Name string
	Full *fullAlertDoc
}

type fullAlertDoc struct {
	// All labels, alertname among them.
	Labels map[string]string `yaml:"labels"`
	// The annotations.
	Annotations map[string]string `yaml:"annotations,omitempty"`
	// The query of the alert's rule, to see whether it is about this pool at all; Prometheus sends it in the address
	// below.
	Expr string `yaml:"expr,omitempty"`
	// The address of the rule as Prometheus sends it.
	GeneratorURL string `yaml:"generatorURL,omitempty"`
	// Says that the alert is over.
	Resolved bool `yaml:"resolved,omitempty"`
}

// FromYAML reads a text as a name and a mapping as an alert.
func (a *alertDoc) FromYAML(v strictyaml.Value) error {
	if text, ok := v.Text(); ok {
		a.Name = text
		return nil
	}
	a.Full = &fullAlertDoc{}
	if err := v.Decode(a.Full); err != nil {
		return err
	}
	if a.Full.Labels["alertname"] == "" {
		return fmt.Errorf("the alert has no label alertname")
	}
	if a.Full.Expr != "" && a.Full.GeneratorURL != "" {
		return fmt.Errorf("give expr or generatorURL: one is made from the other")
	}
	return nil
}

// bucketsDoc is the name of a layout, or bounds.
type bucketsDoc struct {
	Layout string
	Bounds []float64
}

// FromYAML reads a text as a layout's name and a list as bounds.
func (b *bucketsDoc) FromYAML(v strictyaml.Value) error {
	text, ok := v.Text()
	if !ok {
		if err := v.Decode(&b.Bounds); err != nil {
			return err
		}
		if len(b.Bounds) == 0 || !slices.IsSorted(b.Bounds) || len(slices.Compact(slices.Clone(b.Bounds))) < len(b.Bounds) {
			return fmt.Errorf("the bounds of buckets must rise, and +Inf is not among them")
		}
		return nil
	}
	if text != layoutV1 && text != layoutOld {
		return fmt.Errorf("the buckets are %s, %s or a list of numbers, not %q", layoutV1, layoutOld, text)
	}
	b.Layout = text
	return nil
}

// sloDoc is the name of a profile, or targets.
type sloDoc struct {
	Profile string
	Targets *targetsDoc
}

type targetsDoc struct {
	// Time to first token, 95th percentile.
	TTFT strictyaml.Duration `yaml:"ttft,omitempty"`
	// Time per output token, 95th percentile.
	TPOT strictyaml.Duration `yaml:"tpot,omitempty"`
	// Time in the queue, 95th percentile.
	QueueTime strictyaml.Duration `yaml:"queue_time,omitempty"`
	// The whole request, 95th percentile.
	E2E strictyaml.Duration `yaml:"e2e,omitempty"`
}

// FromYAML reads a text as a profile's name and a mapping as targets.
func (s *sloDoc) FromYAML(v strictyaml.Value) error {
	if text, ok := v.Text(); ok {
		s.Profile = text
		return nil
	}
	s.Targets = &targetsDoc{}
	return v.Decode(s.Targets)
}

func (t targetsDoc) slo() incident.SLO {
	s := func(d strictyaml.Duration) float64 { return time.Duration(d).Seconds() }
	return incident.SLO{TTFT: s(t.TTFT), TPOT: s(t.TPOT), QueueTime: s(t.QueueTime), E2E: s(t.E2E)}
}

// planDoc is the kind of a step, or a step with what it asks for.
type planDoc struct {
	Kind string
	Ask  askDoc
}

type askDoc struct {
	// By how much the present value is multiplied.
	Factor *float64 `yaml:"factor,omitempty"`
	// How much is added to the present value.
	Add *int64 `yaml:"add,omitempty"`
	// A part of the advice.
	Advice string `yaml:"advice,omitempty"`
}

// FromYAML reads a text as a kind and a mapping of one kind as a step.
func (p *planDoc) FromYAML(v strictyaml.Value) error {
	if text, ok := v.Text(); ok {
		p.Kind = text
		return nil
	}
	kinds := v.Fields()
	if len(kinds) != 1 {
		return fmt.Errorf("a step is its kind, or one kind with what it asks for: throttle: {factor: 0.7}")
	}
	p.Kind = kinds[0]
	return v.Key(p.Kind).Decode(&p.Ask)
}

// String is the step as it is written.
func (p planDoc) String() string {
	var asks []string
	if p.Ask.Factor != nil {
		asks = append(asks, fmt.Sprintf("factor: %g", *p.Ask.Factor))
	}
	if p.Ask.Add != nil {
		asks = append(asks, fmt.Sprintf("add: %d", *p.Ask.Add))
	}
	if p.Ask.Advice != "" {
		asks = append(asks, "advice: "+p.Ask.Advice)
	}
	if len(asks) == 0 {
		return p.Kind
	}
	return p.Kind + " {" + strings.Join(asks, ", ") + "}"
}
