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
	// The range of rates in the signals. Default 5m, as for the bot.
	Window strictyaml.Duration `yaml:"window,omitempty"`
	// The interval between two values of the input series. Default 15s.
	Interval strictyaml.Duration `yaml:"interval,omitempty"`
	// The tests.
	Tests []testDoc `yaml:"tests"`
}

type testDoc struct {
	// What is tested, in a few words; unique in the file.
	Name string `yaml:"name"`
	// The spellings of vLLM's metrics that the test runs in, once in each: all, or names such as vllm, vllm-0.9,
	// underscore, ray. Default: vllm only.
	Dialects []string `yaml:"dialects,omitempty"`
	// What Prometheus holds, in promtool's notation and in vLLM's current metric names.
	InputSeries []seriesDoc `yaml:"input_series,omitempty"`
	// Histograms in short form; each expands to its bucket, sum and count series.
	Histograms []histogramDoc `yaml:"histograms,omitempty"`
	// The alerts that fire: names, or alerts with their labels and the expression of their rule. Without any, every
	// playbook is evaluated.
	Alerts []alertDoc `yaml:"alerts,omitempty"`
	// The pool under test. By default it has no targets, and its matchers are the namespace and model_name that all
	// series share.
	Pool poolDoc `yaml:"pool,omitempty"`
	// What Kubernetes reports, in the format of cluster in an incident's JSON; times may be written as "5m ago".
	// Default: no Kubernetes.
	Cluster strictyaml.Value `yaml:"cluster,omitempty"`
	// The time of the investigation, counted from the first value of the series.
	At strictyaml.Duration `yaml:"at"`
	// The expected result.
	Expect expectDoc `yaml:"expect"`
}

type seriesDoc struct {
	// A metric with its labels: vllm:num_requests_waiting{pod="a"}.
	Series string `yaml:"series"`
	// Its values, one per interval: '1 2 3', '0+1x10' (0 to 10), '5x3' (5 four times), '_x5' (no sample five times),
	// 'stale'.
	Values string `yaml:"values"`
}

type histogramDoc struct {
	// The histogram with its labels, without _bucket: vllm:time_to_first_token_seconds{pod="a"}.
	Series string `yaml:"series"`
	// The bucket bounds: v1 (vLLM 0.8.4 and later, the default), old, or a list of numbers.
	Buckets bucketsDoc `yaml:"buckets,omitempty"`
	// What it observes, one period after the other.
	Spans []spanDoc `yaml:"spans"`
}

type spanDoc struct {
	// How long the span lasts, a multiple of the interval. Optional for the last one, which lasts until the end.
	For strictyaml.Duration `yaml:"for,omitempty"`
	// How many observations of which size arrive per interval: {200ms: 10, 8s: 2}. Without it there is no traffic.
	Observe map[string]float64 `yaml:"observe,omitempty"`
}

type poolDoc struct {
	// Its targets: a profile (chat, completion, batch), or its own targets.
	SLO sloDoc `yaml:"slo,omitempty"`
	// Label matchers added to every query.
	Matchers map[string]string `yaml:"matchers,omitempty"`
	// The HTTPRoute that routes to the pool, in the format of http_route in an incident's pool.
	HTTPRoute strictyaml.Value `yaml:"http_route,omitempty"`
	// The knobs with their bounds, in the format of knobs in an incident's pool.
	Knobs strictyaml.Value `yaml:"knobs,omitempty"`
}

// expectDoc is what must come out. What is left out is not compared.
type expectDoc struct {
	// The diagnosis, or none.
	Diagnosis string `yaml:"diagnosis"`
	// A substring of the detected dialect: "underscore names".
	Dialect string `yaml:"dialect,omitempty"`
	// Readings by signal, as precise as they are written: 70, 7.2s, 97%, ≤ 300 ms, no data, error.
	Readings map[string]readingDoc `yaml:"readings,omitempty"`
	// Other diagnoses and what their rules say: true, false or undecided.
	Others map[string]string `yaml:"others,omitempty"`
	// The steps in order: kinds, or kinds with their parameters. [] means no steps.
	Plan []planDoc `yaml:"plan,omitempty"`
	// Substrings of the changes that would make it worse.
	Never []string `yaml:"never,omitempty"`
	// Whether the pool has recovered: true, false or undecided.
	Healthy string `yaml:"healthy,omitempty"`
	// A substring of the note.
	Note string `yaml:"note,omitempty"`
	// Substrings of what is unusual.
	Unusual []string `yaml:"unusual,omitempty"`
}

// alertDoc is an alert's name, or an alert.
type alertDoc struct {
	Name string
	Full *fullAlertDoc
}

type fullAlertDoc struct {
	// All labels, including alertname.
	Labels map[string]string `yaml:"labels"`
	// The annotations.
	Annotations map[string]string `yaml:"annotations,omitempty"`
	// The expression of the alert's rule, to check whether it applies to this pool at all. Prometheus sends it in the
	// URL below.
	Expr string `yaml:"expr,omitempty"`
	// The URL of the rule as Prometheus sends it.
	GeneratorURL string `yaml:"generatorURL,omitempty"`
	// Whether the alert is resolved.
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
		return fmt.Errorf("give expr or generatorURL, not both")
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
			return fmt.Errorf("bucket bounds must increase, and must not include +Inf")
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
	// Time to first token (TTFT), p95.
	TTFT strictyaml.Duration `yaml:"ttft,omitempty"`
	// Time per output token (TPOT), p95.
	TPOT strictyaml.Duration `yaml:"tpot,omitempty"`
	// Queue time, p95.
	QueueTime strictyaml.Duration `yaml:"queue_time,omitempty"`
	// End-to-end (E2E) latency, p95.
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
	// The factor that the current value is multiplied by.
	Factor *float64 `yaml:"factor,omitempty"`
	// The number that is added to the current value.
	Add *int64 `yaml:"add,omitempty"`
	// A substring of the advice.
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
