package playbooktest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// Recording is the input of one test, which can be read as if it were a pool's present. It is safe for concurrent use.
type Recording struct {
	interval time.Duration
	test     test
	// signals are the built-in ones over the range that the series were written for, by name.
	signals map[string]incident.Signal
}

// ReadRecording finds a test by its name in a file of tests. The error of a file with mistakes is that of Read.
func ReadRecording(path string, data []byte, builtin []playbooks.File, name string) (*Recording, error) {
	f, err := read(path, data, builtin)
	if err != nil {
		return nil, err
	}
	n := slices.IndexFunc(f.tests, func(t test) bool { return t.name == name })
	if n < 0 {
		return nil, fmt.Errorf("%s has no test %q", path, name)
	}
	r := &Recording{interval: f.interval, test: f.tests[n], signals: map[string]incident.Signal{}}
	for _, s := range f.catalog.AllSignals() {
		r.signals[s.Name] = s
	}
	return r, nil
}

// Alerts are the alerts that fire in it.
func (r *Recording) Alerts() []incident.Alert { return slices.Clone(r.test.alerts) }

// Diagnosis is the one that the test expects, "none" for none.
func (r *Recording) Diagnosis() string { return r.test.expect.Diagnosis }

// SLO are the targets that the test gives its pool.
func (r *Recording) SLO() incident.SLO { return r.test.pool.SLO }

// Collect reads signals as the bot does, as if now were the test's time of the diagnosis. Built-in signals are read
// over the test's own range, whatever range the bot is set to: over another one its series may say something else.
// Where the test has no cluster, the workload's pods are those of the series, ready and old.
func (r *Recording) Collect(
	ctx context.Context, signals []incident.Signal, now time.Time, workload incident.WorkloadRef,
) (incident.Evidence, error) {
	t := r.test
	t.at, t.pool.Workload = now, workload
	if t.cluster == nil {
		t.cluster = r.pods(now)
	}
	signals = slices.Clone(signals)
	for n, s := range signals {
		if own, builtin := r.signals[s.Name]; builtin {
			signals[n] = own
		}
	}
	series, _ := spelled(t.input, vllm.Spellings()[0])
	return collect(ctx, t, now.Add(-time.Duration(t.after)), r.interval, series, signals)
}

func (r *Recording) pods(now time.Time) *incident.Cluster {
	var names []string
	for _, one := range r.test.input {
		if name := one.labels.Get("pod"); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	out := &incident.Cluster{}
	for _, name := range slices.Compact(names) {
		out.Pods = append(out.Pods, incident.Pod{
			Name: name, Ready: true, Phase: "Running", Started: now.Add(-9 * time.Hour),
		})
	}
	return out
}
