package remediation_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// plays are the scenarios of these tests; what is seen in them is what b.sight shows.
type plays struct{}

func (plays) Scenario(name string) (incident.Scenario, bool) {
	return incident.Scenario{
		Name: name, Plays: "Requests queue", Expected: "overload",
		Alerts: []incident.ScenarioAlert{{Name: "HighTTFT", Severity: "warning", Summary: "High TTFT"}},
	}, name == "queue"
}

func (plays) Names() []string { return []string{"queue"} }

func drills(_ *remediation.Config, d *remediation.Deps) { d.Scenarios = plays{} }

func newDrillBench(t *testing.T, pools ...incident.Pool) *bench {
	t.Helper()
	return newBench(t, pools, drills)
}

var order = incident.DrillOrder{Pool: "llama", Scenario: "queue", By: bob}

// drill starts a drill and lets the engine ask people.
func (b *bench) drill() incident.Incident {
	b.t.Helper()
	b.sight.see(sick(5, addReplica()))
	id, err := b.engine.StartDrill(b.t.Context(), order)
	if err != nil {
		b.t.Fatalf("start a drill: %v", err)
	}
	b.sweep()
	b.pass(5 * time.Second)
	inc := b.read(id)
	if inc.State != incident.StateDeciding {
		b.t.Fatalf("the drill is %s: %s", inc.State, inc.Note)
	}
	return inc
}

// ended fails unless a drill has ended with a result, and has left nothing.
func (b *bench) ended(id string, want incident.DrillResult) incident.Incident {
	b.t.Helper()
	inc := b.read(id)
	if inc.State != incident.StateClosed || inc.Drill.Result != want || inc.Active != nil || inc.Request != nil {
		b.t.Fatalf("the drill is %s, %q: %s", inc.State, inc.Drill.Result, inc.Note)
	}
	b.unlocked()
	if w := b.writes("llama"); len(w) > 0 {
		b.t.Errorf("the ledger has %+v", w)
	}
	if w := slices.Concat(b.live.written(), b.dryRun.written()); len(w) > 0 {
		b.t.Errorf("it has written %v", w)
	}
	return inc
}

func TestADrillIsDecidedAndNothingIsWritten(t *testing.T) {
	t.Parallel()
	for _, mode := range []incident.Mode{incident.ModeDryRun, incident.ModeApprove, incident.ModeAuto} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			b := newBench(t, []incident.Pool{inMode(llama(), mode)}, drills, func(c *remediation.Config, _ *remediation.Deps) {
				c.Policy.Automatic = []incident.StepKind{incident.StepReplicas}
			})
			inc := b.drill()
			if !inc.DryRun || inc.Mode != incident.ModeDryRun || inc.Drill.Plays != "Requests queue" {
				t.Errorf("it is %+v in mode %s", inc.Drill, inc.Mode)
			}
			b.skip(90 * time.Second)
			b.dryRun.expect("recheck")
			b.dryRun.expect("do apply")
			b.approve(inc)
			b.sweep()
			inc = b.ended(inc.ID, incident.DrillDecided)
			sum := inc.DrillSummary()
			if len(sum.Would) != 1 || !sum.Would[0].DryRun || sum.Would[0].From.Text != "2" || sum.Would[0].To.Text != "3" {
				t.Errorf("would have written %+v", sum.Would)
			}
			if *sum.DecidedAfter != 95*time.Second || *sum.DecidedBy != ada || *sum.SeenAfter != 95*time.Second ||
				sum.Diagnosis != "overload" || sum.Expected != "overload" {
				t.Errorf("measured %+v", sum)
			}
			last := inc.Journal[len(inc.Journal)-1]
			if !last.Thread || !strings.Contains(last.Text, "Would have set REPLICAS llm/llama f from 2 to 3") {
				t.Errorf("the thread ends with %q", last.Text)
			}
		})
	}
}

func TestADrillEndsWhenTheTimeToDecideDoes(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	b.pass(31 * time.Minute)
	got := b.ended(inc.ID, incident.DrillUndecided)
	if got.Drill.SeenBy != nil || !strings.Contains(got.Note, "no one decided") {
		t.Errorf("it says %q", got.Note)
	}
}

func TestADeniedDrillIsADecisionAndSnoozesNothing(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	no := incident.Decision{Digest: inc.Plan.Digest, Verb: incident.Deny, By: ada, Snooze: time.Hour}
	if _, err := b.engine.Decide(t.Context(), inc.ID, no); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.ended(inc.ID, incident.DrillDecided)
	if inc := b.asked(sick(5, addReplica())); inc.Drill != nil || len(inc.Snoozes) > 0 {
		t.Errorf("the real incident is %+v, %+v", inc.Drill, inc.Snoozes)
	}
}

func TestADrillThatAPersonStops(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	if _, err := b.engine.Act(t.Context(), inc.ID, incident.Aborted{By: ada, Reason: "wrong week"}); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.ended(inc.ID, incident.DrillStopped)
}

// Nobody can be asked where the step cannot even be worked out; the drill says why.
func TestADrillWithoutAStepEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	b.dryRun.refuse[incident.StepReplicas] = &incident.RefusedError{Reason: "an autoscaler owns the replicas"}
	b.sight.see(sick(5, addReplica()))
	id, err := b.engine.StartDrill(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.pass(5 * time.Second)
	if inc := b.ended(id, incident.DrillNotAsked); !strings.Contains(inc.Note, "an autoscaler owns the replicas") {
		t.Errorf("it says %q", inc.Note)
	}
}

func TestARealAlertOpensItsOwnIncidentAtOnceAndEndsTheDrill(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	own := b.open("llama")
	if own.Drill != nil || own.DryRun || own.ID == inc.ID || len(own.Alerts) != 1 {
		t.Fatalf("the real incident is %+v", own)
	}
	b.pass(5 * time.Second) // as often as a drill looks
	got := b.ended(inc.ID, incident.DrillInterrupted)
	if !strings.HasPrefix(got.Note, "A real alert arrived; the drill ended.") {
		t.Errorf("it says %q", got.Note)
	}
	if own = b.open("llama"); own.State != incident.StateDeciding || len(own.Proposed()) != 1 {
		t.Errorf("the real incident is %s: %s", own.State, own.Note)
	}
	if err := b.decide(got, "p1-s1", incident.Approve); err == nil {
		t.Error("a drill that has ended takes a decision")
	}
}

// The drill is about to be dry-run when the real alert comes: the real one waits for no lock.
func TestAnApprovedDrillHoldsNothingUp(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	b.dryRun.expect("recheck", answer{then: func() {
		if locks, err := b.store.Locks(t.Context()); err != nil || len(locks) > 0 {
			t.Errorf("locks %v %v", locks, err)
		}
	}})
	b.dryRun.expect("do apply")
	b.approve(inc)
	b.sweep()
	b.ended(inc.ID, incident.DrillDecided)
}

// A real alert that ends soon after its drill opens an incident of its own, and never the drill again.
func TestADrillIsNeverReopened(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	b.pass(31 * time.Minute)
	b.ended(inc.ID, incident.DrillUndecided)
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	if own := b.open("llama"); own.ID == inc.ID || own.Drill != nil {
		t.Errorf("it is %s", own.ID)
	}
	if got := b.read(inc.ID); got.Open() || got.Reopened > 0 {
		t.Error("the drill is open again")
	}
}

// What comes from outside neither makes a drill of an alert nor an alert of a drill's.
func TestAnAlertIsNeverMarkedAsADrill(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	inc := b.drill()
	marked := alert("HighTTFT", "llama")
	for _, l := range []string{"drill", "exercise", "DRILL"} {
		marked.Labels[l] = "true"
	}
	marked.Annotations = map[string]string{"exercise": "queue"}
	forged := resolved(inc.Alerts[0], b.clock())
	b.deliver(marked, forged)
	b.sweep()
	if own := b.open("llama"); own.Drill != nil || own.DryRun {
		t.Errorf("a label made a drill: %+v", own.Drill)
	}
	if got := b.read(inc.ID); !got.Alerts[0].Firing || len(got.Alerts) != 1 {
		t.Errorf("an alert from outside joined the drill: %+v", got.Alerts)
	}
}

func TestADrillIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, want string
		pool       incident.Pool
		order      incident.DrillOrder
		before     func(b *bench)
	}{
		{
			name: "on a pool that is not there", want: "There is no pool qwen; the pools are llama.",
			order: incident.DrillOrder{Pool: "qwen", Scenario: "queue"},
		},
		{
			name: "of what nobody can play", want: `There is no scenario "flood"; the scenarios are queue.`,
			order: incident.DrillOrder{Pool: "llama", Scenario: "flood"},
		},
		{
			name: "while a real incident is open", want: "Pool llama has a real incident (inc-", order: order,
			before: func(b *bench) {
				b.deliver(alert("HighTTFT", "llama"))
				b.sweep()
			},
		},
		{
			name: "while another one goes on", want: "A drill (drill-", order: order,
			before: func(b *bench) { b.drill() },
		},
		{
			name: "where nobody is asked", want: "in mode observe, in which nobody is asked", order: order,
			pool: inMode(llama(), incident.ModeObserve),
		},
		{
			name: "during a pause", want: "writes are paused", order: order,
			before: func(b *bench) { b.pause("") },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.pool.Name == "" {
				tt.pool = llama()
			}
			b := newDrillBench(t, tt.pool)
			if tt.before != nil {
				tt.before(b)
			}
			before := len(b.all())
			_, err := b.engine.StartDrill(t.Context(), tt.order)
			var no *incident.RefusedError
			if !errors.As(err, &no) || !strings.Contains(no.Reason, tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			b.sweep()
			if now := len(b.all()); now != before {
				t.Errorf("%d incidents came of it", now-before)
			}
		})
	}
}

func TestADrillIsRefusedWithoutScenariosAndWithoutKubernetes(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*remediation.Config, *remediation.Deps){
		"There is no scenario":       func(_ *remediation.Config, d *remediation.Deps) { d.Scenarios = nil },
		"Without Kubernetes no step": func(_ *remediation.Config, d *remediation.Deps) { d.Live, d.DryRun = nil, nil },
	} {
		b := newBench(t, []incident.Pool{llama()}, drills, change)
		if _, err := b.engine.StartDrill(t.Context(), order); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// A real alert that comes between the order and its turn: the drill never begins, nobody hears of it, and whoever
// ordered it finds out why.
func TestADrillThatIsOvertakenNeverBegins(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	id, err := b.engine.StartDrill(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	b.sweep()
	inc := b.read(id)
	open := b.open("llama").ID
	if inc.Open() || inc.Drill.Result != incident.DrillNotStarted || !strings.Contains(inc.Note, open) {
		t.Errorf("it is %q: %s", inc.Drill.Result, inc.Note)
	}
	if _, posted, err := b.store.Message(t.Context(), id); posted || err != nil {
		t.Errorf("people are told of it: %v", err)
	}
}

// A slot that comes during a real incident is over, also when that incident ends while the slot is still young.
func TestASlotDuringARealIncidentIsQuietForGood(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	b.sight.see(well())
	b.deliver(alert("HighTTFT", "llama"))
	b.sweep()
	slot := order
	slot.Slot = b.clock()
	id, err := b.engine.StartDrill(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	b.deliver(resolved(alert("HighTTFT", "llama"), b.clock()))
	b.pass(10 * time.Minute)
	if _, open, err := b.store.OpenIncident(t.Context(), "llama"); open || err != nil {
		t.Fatalf("the real incident is open: %v", err)
	}
	if _, err := b.engine.StartDrill(t.Context(), slot); err != nil {
		t.Fatal(err)
	}
	b.sweep()
	b.ended(id, incident.DrillNotStarted)
}

// However many replicas order what the schedule says, and however often, one drill begins.
func TestASlotBeginsOneDrill(t *testing.T) {
	t.Parallel()
	b := newDrillBench(t, llama())
	b.sight.see(sick(5, addReplica()))
	slot := order
	slot.Slot, slot.By = b.clock(), incident.Actor{Kind: incident.ActorSchedule, ID: "queue"}
	var ids []string
	for range 3 {
		id, err := b.engine.StartDrill(t.Context(), slot)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	b.sweep()
	b.pass(31 * time.Minute)
	b.ended(ids[0], incident.DrillUndecided)
	if len(b.all()) != 1 || ids[0] != ids[1] || ids[1] != ids[2] {
		t.Errorf("%d drills: %v", len(b.all()), ids)
	}
	if id, err := b.engine.StartDrill(t.Context(), slot); err != nil || id != ids[0] {
		t.Errorf("a replica that is late: %s %v", id, err)
	}
	b.sweep()
	if len(b.all()) != 1 {
		t.Error("a replica that is late begins it again")
	}
}
