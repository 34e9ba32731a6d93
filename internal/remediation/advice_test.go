package remediation_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// stray is a bench whose alerts for other models than llama lead nowhere.
func stray(t *testing.T) *bench {
	t.Helper()
	b := newBench(t, []incident.Pool{llama()})
	b.sight.owned("", ownersAnswer{err: incident.ErrNoWorkload})
	return b
}

// advises demands an example for each of these models, in this order, and for no other one.
func (b *bench) advises(models ...string) {
	b.t.Helper()
	note := b.open("").Note
	var got []string
	for line := range strings.Lines(note) {
		if name, ok := strings.CutPrefix(line, "  - name: "); ok {
			got = append(got, strings.TrimSpace(name))
		}
	}
	if strings.Join(got, " ") != strings.Join(models, " ") {
		b.t.Errorf("examples for %q, want %q:\n%s", got, models, note)
	}
}

func TestTheAdviceFollowsTheAlertsThatHaveNoPool(t *testing.T) {
	t.Parallel()
	b := stray(t)
	b.deliver(alert("HighTTFT", "mixtral"))
	b.sweep()
	b.advises("mixtral")
	b.deliver(alert("HighTTFT", "qwen"))
	b.sweep()
	b.advises("mixtral", "qwen")
	b.deliver(alert("QueueBuildUp", "qwen")) // nothing new to add
	b.sweep()
	b.advises("mixtral", "qwen")
	inc := b.open("")
	thread, all := 0, 0
	for _, e := range inc.Journal {
		if strings.Contains(e.Text, "No pool") {
			all++
			if e.Thread {
				thread++
			}
		}
	}
	if thread != 1 || all != 2 {
		t.Errorf("the advice is said %d times in the thread and %d times in the journal:\n%s", thread, all, said(inc))
	}
	b.restart(llama(), qwen()) // somebody has added one of them
	b.sight.seeAt("qwen", sick(5, addReplica()))
	b.pass(2 * time.Minute)
	if got := b.open("qwen"); len(got.Alerts) != 2 {
		t.Errorf("alerts of the new pool: %+v", got.Alerts)
	}
	b.advises("mixtral")
}

func TestTheAdviceNamesWhatFiresWhenThereAreManyModels(t *testing.T) {
	t.Parallel()
	b := stray(t)
	b.deliver(alert("HighTTFT", "mixtral"), alert("HighTTFT", "phi"))
	b.sweep()
	b.deliver(alert("HighTTFT", "gemma"), alert("HighTTFT", "olmo"))
	b.sweep()
	b.advises("mixtral", "phi", "gemma")
	if note := b.open("").Note; !strings.Contains(note, "and 1 more") {
		t.Errorf("what was left out is not said:\n%s", note)
	}
	b.deliver(resolved(alert("HighTTFT", "phi"), b.clock()))
	b.sweep()
	b.advises("mixtral", "gemma", "olmo")
}

func TestAReopenedIncidentWithoutAPoolHasItsAdviceAgain(t *testing.T) {
	t.Parallel()
	b := stray(t)
	b.deliver(alert("HighTTFT", "mixtral"))
	b.sweep()
	first := b.open("")
	b.deliver(resolved(alert("HighTTFT", "mixtral"), b.clock()))
	b.sweep()
	if got := b.read(first.ID); got.State != incident.StateClosed {
		t.Fatalf("the incident is %s", got.State)
	}
	b.skip(10 * time.Minute)
	late := alert("HighTTFT", "phi")
	late.StartsAt = b.clock()
	b.deliver(late)
	b.sweep()
	if got := b.open(""); got.ID != first.ID || got.Reopened != 1 {
		t.Errorf("incident %s, reopened %d times, want %s again", got.ID, got.Reopened, first.ID)
	}
	b.advises("mixtral", "phi")
}
