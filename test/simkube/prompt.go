package simkube

import (
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/workloads"
)

// prompt is a fleet in which everything is ready, and ends, at once.
type prompt struct {
	mu   sync.Mutex
	runs map[workloads.ID]bool // whether it was asked to end
}

func (p *prompt) Started(r workloads.Run) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[r.ID()] = false
}

func (p *prompt) Ready(workloads.ID, bool) {}

func (p *prompt) Ending(id workloads.ID, _ time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs[id] = true
}

func (p *prompt) Ended(id workloads.ID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.runs, id)
}

func (p *prompt) State(id workloads.ID) workloads.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs[id] {
		return workloads.State{Ended: &workloads.End{}}
	}
	return workloads.State{Ready: true}
}
