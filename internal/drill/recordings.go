package drill

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/playbooktest"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Recordings reads the readings of scenarios. The zero value is ready to use; it is safe for concurrent use.
type Recordings struct {
	mu   sync.Mutex
	read map[string]*playbooktest.Recording
}

// Scenario finds a scenario by its name.
func (*Recordings) Scenario(name string) (incident.Scenario, bool) {
	s, ok := find(name)
	return s.Scenario, ok
}

// Names are those of all scenarios.
func (*Recordings) Names() []string {
	var out []string
	for _, s := range all {
		out = append(out, s.Name)
	}
	return out
}

// Collect reads the signals in a scenario as they would be read in a Prometheus at a time. now is the cluster as it is,
// for the guardrails. Like a real collection it never fails as a whole: every reading then has the error.
func (r *Recordings) Collect(
	ctx context.Context, name string, signals []incident.Signal, at time.Time, now incident.Cluster,
) incident.Evidence {
	rec, err := r.recording(name)
	var ev incident.Evidence
	if err == nil {
		ev, err = rec.Collect(ctx, signals, at, now.Workload)
	}
	if err != nil {
		return failed(signals, at, now, err)
	}
	ev.Recorded = &incident.Recorded{SLO: rec.SLO(), Now: now}
	return ev
}

func failed(signals []incident.Signal, at time.Time, now incident.Cluster, err error) incident.Evidence {
	ev := incident.Evidence{
		At: at, Readings: map[string]incident.Reading{}, Cluster: now, Recorded: &incident.Recorded{Now: now},
	}
	for _, s := range signals {
		ev.Readings[s.Name] = incident.Reading{
			Signal: s.Name, Title: s.Title, Short: s.Short, Unit: s.Unit, Direction: s.Direction, Optional: s.Optional,
			At: at, Error: err.Error(),
		}
	}
	return ev
}

// recording reads a scenario's series once: that compiles playbooks, which takes a moment.
func (r *Recordings) recording(name string) (*playbooktest.Recording, error) {
	s, ok := find(name)
	if !ok {
		return nil, fmt.Errorf("there is no scenario %q", name)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if rec := r.read[name]; rec != nil {
		return rec, nil
	}
	builtin, err := catalog.Files()
	if err != nil {
		return nil, err
	}
	path, data, err := catalog.Recorded(s.file)
	if err != nil {
		return nil, err
	}
	rec, err := playbooktest.ReadRecording(path, data, builtin, s.test)
	if err != nil {
		return nil, err
	}
	if r.read == nil {
		r.read = map[string]*playbooktest.Recording{}
	}
	r.read[name] = rec
	return rec, nil
}
