package playbooktest

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Result is what became of one test in one dialect.
type Result struct {
	// Test is its name and Line where it stands in the file.
	Test string `json:"test"`
	Line int    `json:"line"`
	// Dialect is the spelling that the series were written in.
	Dialect string `json:"dialect"`
	// At is when it was looked, counted from the first value of the series.
	At string `json:"at"`
	// Expected and Diagnosis are the diagnosis that the test wants, and the one that came out; "none" for no diagnosis.
	Expected  string `json:"expected"`
	Diagnosis string `json:"diagnosis,omitempty"`
	Passed    bool   `json:"passed"`
	// Error says why the test could not run.
	Error       string       `json:"error,omitempty"`
	Differences []Difference `json:"differences,omitempty"`
	// Without are the metrics of the test that the dialect does not have; they were left out.
	Without []string `json:"without,omitempty"`
	// Series is the input as it was loaded, histograms written out.
	Series []promembed.Series `json:"-"`
}

// Difference is one thing that came out otherwise than expected.
type Difference struct {
	Field    string `json:"field"`
	Expected string `json:"expected"`
	Got      string `json:"got"`
	// Why explains what came out, as far as the bot can.
	Why string `json:"why,omitempty"`
}

// Run runs the tests whose name matches, all without an expression, in every dialect that they name, several side by
// side. The results are in the order of the file. It may be called again; every run begins with an empty Prometheus.
func (f *File) Run(ctx context.Context, only *regexp.Regexp) []Result {
	type job struct {
		test    *test
		dialect vllm.Spelling
	}
	var jobs []job
	for i := range f.tests {
		t := &f.tests[i]
		if only != nil && !only.MatchString(t.name) {
			continue
		}
		for _, d := range t.spellings {
			jobs = append(jobs, job{t, d})
		}
	}
	out := make([]Result, len(jobs))
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	var mu sync.Mutex
	done := 0
	tell := func(more int) {
		mu.Lock()
		defer mu.Unlock()
		if done += more; f.Progress != nil {
			f.Progress(done, len(jobs))
		}
	}
	tell(0)
	for i, j := range jobs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots; tell(1) }()
			out[i] = f.run(ctx, *j.test, j.dialect)
		})
	}
	wg.Wait()
	return out
}

func (f *File) run(ctx context.Context, t test, dialect vllm.Spelling) Result {
	r := Result{Test: t.name, Line: t.line, Dialect: dialect.Name, At: t.after.String(), Expected: t.expect.Diagnosis}
	r.Series, r.Without = spelled(t.input, dialect)
	ev, err := collect(ctx, t, start(), f.interval, r.Series, f.catalog.Signals(namesOf(t.alerts)))
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		r.Error = err.Error()
		return r
	}
	got := f.catalog.Diagnose(playbooks.Input{Alerts: t.alerts, Pool: t.pool, Evidence: ev})
	r.Diagnosis = none
	if got.Diagnosis != nil {
		r.Diagnosis = got.Diagnosis.Name
	}
	r.Differences = compare(t.expect, ev, got)
	r.Passed = len(r.Differences) == 0
	return r
}

// collect reads the evidence as the bot does. The first value of all series is of from.
func collect(
	ctx context.Context, t test, from time.Time, interval time.Duration, series []promembed.Series,
	signals []incident.Signal,
) (ev incident.Evidence, err error) {
	p, err := promembed.New(promembed.Options{})
	if err != nil {
		return ev, err
	}
	defer func() {
		if closed := p.Close(); err == nil {
			err = closed
		}
	}()
	if err := p.Load(from, interval, series); err != nil {
		return ev, err
	}
	var cluster evidence.Kube
	if t.cluster != nil {
		cluster = kube{*t.cluster}
	}
	c, err := evidence.New(evidence.Config{
		Prometheus: prometheus.Config{
			URL: "http://prometheus.invalid", Transport: func(http.RoundTripper) http.RoundTripper { return p },
		},
		Now: func() time.Time { return t.at },
	}, cluster, slog.New(slog.DiscardHandler))
	if err != nil {
		return ev, fmt.Errorf("prepare the evidence: %w", err)
	}
	ev = c.Collect(ctx, t.pool, signals, evidence.CollectOptions{
		History:  true,
		Baseline: true, Alerts: t.alerts,
	})
	return ev, nil
}

func namesOf(alerts []incident.Alert) []string {
	out := make([]string, len(alerts))
	for i, a := range alerts {
		out[i] = a.Name()
	}
	return out
}
