package remediation_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// carried is what the objects of every pool say of their last writes.
type carried struct {
	mu  sync.Mutex
	all []incident.LastWrite
	err error
}

func (c *carried) LastWrites(context.Context, incident.Pool) ([]incident.LastWrite, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all), c.err
}

func (c *carried) say(err error, all ...incident.LastWrite) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all, c.err = all, err
}

// foreign is a write of the throttle that no database of these tests has.
var foreign = incident.WriteID{
	Incident: "inc-lost", Step: "p1-s1", Op: incident.OpApply, Since: time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC),
}.String()

// of is what the object of the pool's throttle says.
func of(id string) incident.LastWrite {
	return incident.LastWrite{
		Target:   incident.Target{APIVersion: "v1", Kind: "THROTTLE", Namespace: "llm", Name: "llama", UID: "u1"},
		Resource: "throttles", ID: id,
		Settings: []incident.WrittenSetting{{
			Field: "f", Value: incident.Set("64"), Before: new(incident.Set("2048")),
			Patch: `[{"op":"add","path":"/spec/f","value":2048}]`,
		}},
	}
}

func withObjects(c *carried) func(*remediation.Config, *remediation.Deps) {
	return func(_ *remediation.Config, d *remediation.Deps) { d.LastWrites = c }
}

// said are the lines of the journal about records, all of which must be in the thread.
func (b *bench) said(id string) []incident.Entry {
	b.t.Helper()
	var out []incident.Entry
	for _, e := range b.read(id).Journal {
		if e.Said.Kind == incident.NoteUnrecorded || e.Said.Kind == incident.NoteRecordUnknown {
			if !e.Thread {
				b.t.Errorf("%q is not in the thread", e.Text)
			}
			out = append(out, e)
		}
	}
	return out
}

// cautions are what approvers of the first step should know.
func (b *bench) cautions(id string) []string {
	b.t.Helper()
	return b.read(id).Plan.Steps[0].Cautions()
}

func TestAnUnrecordedWriteIsToldOnceAndItsStepsSayIt(t *testing.T) {
	t.Parallel()
	c := &carried{}
	c.say(nil, of(foreign))
	b := newBench(t, []incident.Pool{llama()}, withObjects(c))
	inc := b.asked(sick(5, throttle()))
	b.pass(10 * time.Minute) // investigated again and again
	lines := b.said(inc.ID)
	if len(lines) != 1 {
		t.Fatalf("%d lines: %+v", len(lines), lines)
	}
	for _, part := range []string{
		"A vllm-medic has changed THROTTLE llm/llama, and this database has no record of it", "incident inc-lost",
		"2026-11-20 03:00 UTC", "another installation", "f is 64 now", `it replaced "2048"`,
		`kubectl -n llm patch throttles/llama --type=json -p '[{"op":"add","path":"/spec/f","value":2048}]'`,
		"kubectl -n llm annotate throttles/llama vllm-medic.io/last-write-",
	} {
		if !strings.Contains(lines[0].Text, part) {
			t.Errorf("it does not say %q:\n%s", part, lines[0].Text)
		}
	}
	if got := b.cautions(inc.ID); len(got) != 1 ||
		!strings.Contains(got[0], "has no record of the last write of THROTTLE") {
		t.Errorf("the step's cautions: %q", got)
	}
	if n := strings.Count(b.log.String(), "carries a write that this database has no record of"); n != 1 {
		t.Errorf("logged %d times:\n%s", n, b.log)
	}
	if b.live.value(incident.StepThrottle) != 64 || len(b.live.written()) > 0 {
		t.Errorf("it was changed: %v", b.live.written())
	}
	c.say(nil, of(strings.Replace(foreign, "apply", "undo", 1)))
	b.pass(10 * time.Minute)
	if lines := b.said(inc.ID); len(lines) != 2 || !strings.Contains(lines[1].Text, "has rolled back THROTTLE") {
		t.Errorf("after another write: %+v", lines)
	}
}

// Policy does not act by itself on an object whose value may be a leftover.
func TestAnUnrecordedWriteKeepsPolicyFromActing(t *testing.T) {
	t.Parallel()
	c := &carried{}
	c.say(nil, of(foreign))
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeAuto)}, withObjects(c),
		func(cfg *remediation.Config, _ *remediation.Deps) {
			cfg.Policy.Automatic = []incident.StepKind{incident.StepThrottle}
		})
	inc := b.asked(sick(5, throttle()))
	if got := b.cautions(inc.ID); len(got) != 1 {
		t.Errorf("asked for another reason: %q", got)
	}
}

func TestAnUnrecordedWriteOfAnotherObjectIsNoCaution(t *testing.T) {
	t.Parallel()
	c, other := &carried{}, of(foreign)
	other.Target.Kind = "REPLICAS"
	c.say(nil, other)
	b := newBench(t, []incident.Pool{llama()}, withObjects(c))
	inc := b.asked(sick(5, throttle()))
	if got := b.cautions(inc.ID); len(got) > 0 {
		t.Errorf("%q", got)
	}
	if lines := b.said(inc.ID); len(lines) != 1 {
		t.Errorf("%+v", lines)
	}
}

// In a dry run and in a drill it is said all the same, and nothing is written.
func TestAnUnrecordedWriteIsOnlySaidInADryRun(t *testing.T) {
	t.Parallel()
	c := &carried{}
	c.say(nil, of(foreign))
	b := newBench(t, []incident.Pool{inMode(llama(), incident.ModeDryRun)}, withObjects(c))
	inc := b.asked(sick(5, throttle()))
	if lines := b.said(inc.ID); len(lines) != 1 || len(b.live.written()) > 0 {
		t.Errorf("%+v, wrote %v", lines, b.live.written())
	}
}

// What is recorded, was recorded once, or was never written is nothing to tell.
func TestNothingIsUnrecordedWhereTheWriteIsKnown(t *testing.T) {
	t.Parallel()
	t.Run("no object says anything", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()}, withObjects(&carried{}))
		b.silent(b.asked(sick(5, throttle())))
	})
	t.Run("nobody can look", func(t *testing.T) {
		t.Parallel()
		b := newBench(t, []incident.Pool{llama()})
		b.silent(b.asked(sick(5, throttle())))
	})
	t.Run("the bot's own write of this incident", func(t *testing.T) {
		t.Parallel()
		c := &carried{}
		b := newBench(t, []incident.Pool{llama()}, withObjects(c))
		inc := recovered(b, mitigation())
		c.say(nil, of(b.writes("llama")[0].ID))
		b.pass(5 * time.Minute)
		b.silent(inc)
	})
	t.Run("a write whose incident was removed after its time", func(t *testing.T) {
		t.Parallel()
		c := &carried{}
		b := newBench(t, []incident.Pool{llama()}, withObjects(c))
		gone := incident.WriteID{Incident: "inc-gone", Step: "p1-s1", Op: incident.OpApply, Since: b.clock().Add(-time.Hour)}
		old := incident.New(gone.Incident, "other", incident.ModeApprove, false, b.clock())
		old.State, old.ClosedAt = incident.StateClosed, b.clock().Add(-365*24*time.Hour)
		ch := incident.Change{Incident: old, Entries: []incident.Entry{{At: b.clock()}}}
		if err := b.store.Commit(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
		if n, err := b.store.Prune(t.Context(), b.clock(), store.DefaultKeep); err != nil || n.Incidents != 1 {
			t.Fatalf("removed %+v, %v", n, err)
		}
		c.say(nil, of(gone.String()))
		b.silent(b.asked(sick(5, throttle())))
	})
}

// silent fails if anything was told or logged of records, or a step has a caution.
func (b *bench) silent(inc incident.Incident) {
	b.t.Helper()
	if lines := b.said(inc.ID); len(lines) > 0 {
		b.t.Errorf("told %+v", lines)
	}
	if got := b.read(inc.ID); got.Plan != nil && len(got.Plan.Steps[0].Cautions()) > 0 {
		b.t.Errorf("cautions %q", got.Plan.Steps[0].Cautions())
	}
	if strings.Contains(b.log.String(), "record of") || strings.Contains(b.log.String(), "recorded") {
		b.t.Errorf("logged:\n%s", b.log)
	}
}

// An error is no "no": what could not be read is unknown, said once, and not called a write without a record.
func TestWhatCannotBeReadIsUnknownAndNotUnrecorded(t *testing.T) {
	t.Parallel()
	broken := errors.New("the API server is away")
	for name, tt := range map[string]struct {
		carries error
		ledger  error
		all     []incident.LastWrite
		says    string
	}{
		"an object": {carries: broken, says: "the API server is away"},
		"the database": {
			ledger: errors.New("disk I/O error"), all: []incident.LastWrite{of(foreign)}, says: "disk I/O error",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &carried{}
			c.say(tt.carries, tt.all...)
			b := newBench(t, []incident.Pool{llama()}, withObjects(c))
			b.store.ledger = tt.ledger
			b.sight.see(sick(5, throttle()))
			b.deliver(alert("HighTTFT", "llama"))
			b.sweep()
			b.pass(10 * time.Minute)
			inc := b.open("llama")
			lines := b.said(inc.ID)
			if len(lines) != 1 || lines[0].Said.Kind != incident.NoteRecordUnknown || !strings.Contains(lines[0].Text, tt.says) {
				t.Fatalf("%+v", lines)
			}
			if !strings.Contains(b.log.String(), "it is not known whether the last writes") {
				t.Errorf("not in the log:\n%s", b.log)
			}
			c.say(nil, of(foreign))
			b.store.ledger = nil
			b.pass(10 * time.Minute)
			if lines := b.said(inc.ID); len(lines) != 2 || lines[1].Said.Kind != incident.NoteUnrecorded {
				t.Errorf("when it could be read: %+v", lines)
			}
		})
	}
}

// Anybody who may change the object may set what it says; that is no write of a bot, and is shown as it is.
func TestAnUnrecordedWriteMayBeSomebodyElsesText(t *testing.T) {
	t.Parallel()
	c := &carried{}
	c.say(nil, of("*bold* <!channel> \u202e"))
	b := newBench(t, []incident.Pool{llama()}, withObjects(c))
	lines := b.said(b.asked(sick(5, throttle())).ID)
	if len(lines) != 1 || !strings.Contains(lines[0].Text, `"*bold* <!channel> \u202e", which no vllm-medic has written`) {
		t.Errorf("%+v", lines)
	}
}

// A test alert is about the way of an alert, not about the pool.
func TestATestAlertLooksForNoUnrecordedWrite(t *testing.T) {
	t.Parallel()
	c := &carried{}
	c.say(nil, of(foreign))
	b := newBench(t, []incident.Pool{llama()}, withObjects(c))
	b.sight.see(sick(5, throttle()))
	b.deliver(alert(incident.TestAlertName, "llama"))
	b.sweep()
	b.pass(5 * time.Second)
	for _, inc := range b.all() {
		if lines := b.said(inc.ID); len(lines) > 0 {
			t.Errorf("%+v", lines)
		}
	}
}
