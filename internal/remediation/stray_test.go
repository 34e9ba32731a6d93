package remediation_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// counted counts what is asked about each instance. Those that end with ":1" lead to llama, the others nowhere.
type counted struct {
	*sight

	mu    sync.Mutex
	asked map[string]int
	all   int
}

func (c *counted) FindOwners(
	_ context.Context, labels map[string]string,
) ([]incident.WorkloadRef, incident.Trail, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[labels["instance"]]++
	c.all++
	if strings.HasSuffix(labels["instance"], ":1") {
		return []incident.WorkloadRef{llama().Workload}, incident.Trail{}, nil
	}
	return nil, incident.Trail{}, incident.ErrNoWorkload
}

func (c *counted) total() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

func counting(t *testing.T) (*bench, *counted) {
	t.Helper()
	b := newBench(t, []incident.Pool{llama()})
	c := &counted{sight: b.sight, asked: map[string]int{}}
	b.deps.Collector = c
	b.restart(llama())
	return b, c
}

// manyStrangers are alerts of that many unknown instances.
func manyStrangers(many int) []incident.Alert {
	out := make([]incident.Alert, many)
	for n := range out {
		out[n] = from("Strange", fmt.Sprintf("10.%d.%d.%d:8000", n>>16, n>>8&255, n&255))
		out[n].Fingerprint = fmt.Sprintf("%016x", n)
	}
	return out
}

// A delivery waits for no look-up: not for those of its own alerts, nor for those of 20,000 alerts ahead of it.
func TestTheInboxAsksNobody(t *testing.T) {
	t.Parallel()
	b, c := counting(t)
	b.deliverAll(incident.Delivery{ReceivedAt: start, GroupKey: "strange", Alerts: manyStrangers(20_000)})
	b.deliver(alert("HighTTFT", "llama"))
	folded := -1
	b.store.onCommit(func(changes []incident.Change) error {
		for _, ch := range changes {
			if folded < 0 && ch.Incident.Pool == "llama" {
				folded = c.total()
			}
		}
		return nil
	})
	b.sweep()
	if folded != 0 {
		t.Errorf("%d questions were asked before the alert of a known pool was folded in", folded)
	}
	if got := b.open("llama"); len(got.Alerts) != 1 {
		t.Errorf("llama has %d alerts", len(got.Alerts))
	}
	if got := b.open(""); got.FiringCount() != 20_000 || len(got.Alerts) >= 20_000 {
		t.Errorf("without a pool %d fire, %d of them are kept", got.FiringCount(), len(got.Alerts))
	}
}

// One turn asks about a bounded number of places, each place once, and every place comes to its turn.
func TestATurnAsksAboutSomePlacesAndEveryPlaceHasItsTurn(t *testing.T) {
	t.Parallel()
	b, c := counting(t)
	alerts := manyStrangers(170)
	twice := manyStrangers(170) // other alerts of the same places
	for n := range twice {
		twice[n].Labels["alertname"], twice[n].Labels["le"] = "Other", fmt.Sprint(n)
		twice[n].Fingerprint = fmt.Sprintf("%016x", 1000+n)
	}
	last := from("Real", "10.9.9.9:1")
	last.Fingerprint = "ffffffffffffffff"
	b.deliver(slices.Concat(alerts, twice, []incident.Alert{last})...)
	b.sight.pools["llama"] = &shownFinding{finding: blind(), used: 1}
	for turn, want := range []int{50, 100, 150, 171, 171, 171} {
		b.sweep()
		if got := c.total(); got != want {
			t.Fatalf("%d questions after turn %d, want %d", got, turn+1, want)
		}
		shown := slices.ContainsFunc(b.all(), func(i incident.Incident) bool { return i.Pool == "" })
		if shown != (turn >= 3) {
			t.Errorf("people are shown the alerts without a pool after turn %d: %t", turn+1, shown)
		}
		b.skip(time.Second)
	}
	for place, n := range c.asked {
		if n != 1 {
			t.Errorf("asked %d times about %s", n, place)
		}
	}
	if got := b.open("llama").AlertNames(); !slices.Equal(got, []string{"Real"}) {
		t.Errorf("the last one did not find its pool: %v", got)
	}
	// An answer that leads nowhere holds for a minute.
	b.skip(time.Minute)
	b.sweep()
	if got := c.total(); got != 171+50 {
		t.Errorf("%d questions a minute later", got)
	}
}

// As long as its pool is looked for, people are not shown an alert without one: when it is found they read of its pool
// alone.
func TestAnAlertThatFindsItsPoolIsShownThereOnly(t *testing.T) {
	t.Parallel()
	b, _ := counting(t)
	b.sight.see(sick(5, addReplica()))
	b.deliver(from("HighTTFT", "10.0.0.1:1"))
	b.sweep()
	b.pass(10 * time.Second)
	if got := b.all(); len(got) != 1 || got[0].Pool != "llama" || got[0].State != incident.StateDeciding {
		t.Errorf("the incidents: %+v", got)
	}
	messages, err := b.store.ClaimMessages(t.Context(), incident.SinkSlack, "", b.clock().Add(time.Hour), time.Minute, 10)
	if err != nil || len(messages) != 1 || messages[0].Incident != b.open("llama").ID {
		t.Errorf("the messages: %+v, %v", messages, err)
	}
	stats, err := b.store.Stats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range stats.Tallies {
		if (x.Family == incident.TallyOpened || x.Family == incident.TallyClosed) && x.Labels[0] == incident.TallyNone {
			t.Errorf("it counts as an incident without a pool: %+v", x)
		}
	}
}

// While nobody can be asked, and no place is left unasked for long, the alerts are shown after a while all the same.
func TestAlertsWithoutAPoolAreShownInTime(t *testing.T) {
	t.Parallel()
	b, c := counting(t)
	b.deliver(manyStrangers(1000)...)
	shown := time.Duration(-1)
	for at := time.Duration(0); at < time.Minute; at += 5 * time.Second {
		b.sweep()
		if len(b.all()) > 0 && shown < 0 {
			shown = at
		}
		b.skip(5 * time.Second)
	}
	if shown != 30*time.Second {
		t.Errorf("shown after %s, with %d questions", shown, c.total())
	}
}

// An alert may leave the incident without a pool while a word about it is folded in.
func TestTheEndOfAnAlertThatIsMovedMeanwhileReachesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("nowhere", ownersAnswer{err: incident.ErrNoWorkload})
	strays(b, "HighTTFT")
	moved := false
	other, err := remediation.New(b.cfg, b.deps)
	if err != nil {
		t.Fatal(err)
	}
	b.skip(time.Minute)
	b.deliver(resolved(from("HighTTFT", "10.0.0.1:8000"), b.clock()))
	b.store.onCommit(func([]incident.Change) error {
		if moved {
			return nil
		}
		moved = true // the first commit is the one of the inbox; another replica is quicker
		claimed, err := b.store.ClaimDue(t.Context(), "bot-2", b.clock(), time.Minute, 1)
		if err != nil || len(claimed) != 1 {
			t.Errorf("claimed %v, %v", claimed, err)
			return err
		}
		return other.Advance(t.Context(), claimed[0])
	})
	b.sweep()
	if got := b.open("llama"); len(got.Alerts) != 1 || len(got.Firing()) != 0 {
		t.Errorf("in its pool: %+v", got.Alerts)
	}
	if got := b.open("").AlertNames(); !slices.Equal(got, []string{"PodRestarts"}) {
		t.Errorf("left without a pool: %v", got)
	}
}
