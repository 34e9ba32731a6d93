package slack

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// booth is the store and the engine as commands see them, in memory.
type booth struct {
	mu     sync.Mutex
	open   []incident.Incident
	pauses []incident.Pause
	writes []incident.Write
	acts   []incident.Event
	refuse error // of Act
	broken error // of the others
	notice string
	acting map[string][]incident.Approvers
}

func (b *booth) Incidents(_ context.Context, f incident.Filter) ([]incident.Incident, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if f.State != "open" || !f.AllPools {
		return nil, errors.New("not the open incidents of all pools")
	}
	return b.open[:min(len(b.open), f.Limit)], b.broken
}

func (b *booth) SetPause(_ context.Context, p incident.Pause) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.broken == nil {
		b.pauses = append(b.pauses, p)
	}
	return b.broken
}

func (b *booth) ClearPause(_ context.Context, pool string, asked time.Time) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(b.pauses)
	b.pauses = slices.DeleteFunc(b.pauses, func(p incident.Pause) bool { return p.Pool == pool && !p.At.After(asked) })
	return len(b.pauses) < n, b.broken
}

func (b *booth) Pauses(context.Context) ([]incident.Pause, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pauses), b.broken
}

func (b *booth) OpenWrites(context.Context) ([]incident.Write, error) { return b.writes, b.broken }

func (b *booth) Act(_ context.Context, _ string, ev incident.Event) (incident.Incident, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.refuse == nil {
		b.acts = append(b.acts, ev)
	}
	return incident.Incident{}, b.refuse
}

func (b *booth) Pools() []string { return []string{"llama", "mixtral"} }

func (b *booth) Acting(pool string) []incident.Approvers { return b.acting[pool] }

func (b *booth) Notice() string { return b.notice }

// state is what was changed.
func (b *booth) state() (pauses []incident.Pause, acts []incident.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.pauses), slices.Clone(b.acts)
}

// staffed lets Alice and Bob act in llama, Bob and the group in mixtral.
func (b *booth) staffed() {
	b.acting = map[string][]incident.Approvers{
		"llama":   {{Users: []string{"U0ALICE", "U0BOB", "U0GUEST", "U0ROBOT", "U0LEFT", "U0STRANGER"}}},
		"mixtral": {{Users: []string{"U0BOB"}, Groups: []string{"S0NIGHT"}}},
	}
}

// command sends a command and returns the private answer.
func (f *office) command(c fakeslack.CommandRequest) string {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), process.Patience)
	defer cancel()
	c.User, c.Channel, c.Command = cmp.Or(c.User, "U0ALICE"), channel, CommandName
	res, err := f.Command(ctx, c)
	if err != nil {
		f.t.Fatalf("command: %v", err)
	}
	answers, err := f.WaitAnswers(ctx, res.ID, 1)
	if err != nil {
		f.t.Fatalf("no answer to %q: %v", c.Text, err)
	}
	if got := answers[0]; got.User != c.User || len(answers) != 1 {
		f.t.Errorf("answers = %+v", answers)
	}
	return answers[0].VisibleText()
}
