package remediation_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
)

// forgery delivers alerts of another group by another sender.
func (b *bench) forgery(alerts ...incident.Alert) {
	b.t.Helper()
	b.deliverAll(incident.Delivery{
		ReceivedAt: b.clock(), Receiver: "medic", GroupKey: "made up", Sender: "stranger", Alerts: alerts,
	})
	b.sweep()
}

// Whoever has the webhook's token, or a clock that is ahead, may say that an alert has ended. Alertmanager's next
// delivery fires all the same.
func TestAMadeUpEndDoesNotSilenceAnAlert(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name        string
		start, ends time.Duration
	}{
		{"it ends in a year", -time.Hour, 365 * 24 * time.Hour},
		{"it ends in a minute", -time.Hour, time.Minute},
		{"it ends now", -time.Hour, 0},
		{"it begins and ends in a year", 365 * 24 * time.Hour, 365 * 24 * time.Hour},
	} {
		for _, during := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, during its incident: %v", tt.name, during), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, []incident.Pool{llama()})
				b.sight.see(finding{healthy: incident.False, note: "Nothing holds."})
				genuine := alert("HighTTFT", "llama")
				if during {
					b.from("am-1", genuine)
					b.sweep()
					b.skip(time.Minute)
				}
				forged := resolved(genuine, b.clock().Add(tt.ends))
				forged.StartsAt = b.clock().Add(tt.start)
				b.forgery(forged)
				b.skip(10 * time.Second)
				b.from("am-1", genuine)
				b.sweep()
				inc, found, err := b.store.OpenIncident(t.Context(), "llama")
				if err != nil || !found || len(inc.Firing()) != 1 {
					t.Fatalf("the alert is silenced: found %v, %v, %+v", found, err, inc.Alerts)
				}
				b.skip(time.Minute)
				b.from("am-1", resolved(genuine, b.clock()))
				b.sweep()
				if inc := b.read(inc.ID); len(inc.Firing()) != 0 {
					t.Errorf("it never ends: %+v", inc.Alerts)
				}
			})
		}
	}
}

// What an accepted delivery says is never passed over without a count and a line, one for each delivery and reason.
func TestWhatChangesNothingIsCountedAndLogged(t *testing.T) {
	t.Parallel()
	a, other := alert("QueueBuildUp", "llama"), alert("HighTTFT", "llama")
	many := func(n int, of func(incident.Alert) incident.Alert) []incident.Alert {
		var out []incident.Alert
		for i := range n {
			x := a
			x.Fingerprint = fmt.Sprint("f", i)
			out = append(out, of(x))
		}
		return out
	}
	for _, tt := range []struct {
		name  string
		steps func(b *bench)
		want  map[incident.Ignored]int
		lines int
	}{
		{"nothing is ignored", func(b *bench) {
			b.from("am-1", a)
			b.from("am-2", a)
			b.from("am-1", resolved(a, b.clock()))
			b.from("am-2", resolved(a, b.clock()))
		}, nil, 0},
		{"ends of what was never heard of", func(b *bench) {
			b.from("am-1", many(7, func(x incident.Alert) incident.Alert { return resolved(x, start) })...)
		}, map[incident.Ignored]int{incident.IgnoredUnknown: 7}, 1},
		{"such an end in an open incident", func(b *bench) {
			b.from("am-1", other)
			b.sweep()
			b.from("am-1", resolved(a, start))
		}, map[incident.Ignored]int{incident.IgnoredUnknown: 1}, 1},
		{"a late word of a peer, without an incident", func(b *bench) {
			b.from("am-1", resolved(a, b.clock()))
			b.sweep()
			b.from("am-2", a)
		}, map[incident.Ignored]int{incident.IgnoredUnknown: 1, incident.IgnoredLate: 1}, 2},
		{"both at once", func(b *bench) {
			b.from("am-1", resolved(a, b.clock()))
			b.from("am-2", a)
		}, map[incident.Ignored]int{incident.IgnoredUnknown: 1, incident.IgnoredLate: 1}, 2},
		{"both at once, and then another alert", func(b *bench) {
			b.from("am-1", resolved(a, b.clock()))
			b.from("am-2", a)
			b.from("am-2", other)
		}, map[incident.Ignored]int{incident.IgnoredUnknown: 1, incident.IgnoredLate: 1}, 2},
		{"a late word in an open incident", func(b *bench) {
			b.from("am-1", other, a)
			b.sweep()
			b.from("am-1", resolved(a, b.clock()))
			b.from("am-2", a)
		}, map[incident.Ignored]int{incident.IgnoredLate: 1}, 1},
		{"the end of the episode before", func(b *bench) {
			b.skip(time.Minute)
			again := a
			again.StartsAt = b.clock()
			b.from("am-1", again)
			b.sweep()
			b.from("am-2", resolved(a, start))
		}, map[incident.Ignored]int{incident.IgnoredEarlier: 1}, 1},
		{"it fires on right after its incident was closed", func(b *bench) {
			b.from("am-1", a)
			b.sweep()
			closeByHand(b)
			b.skip(time.Minute)
			b.from("am-1", a)
		}, map[incident.Ignored]int{incident.IgnoredClosed: 1}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := map[incident.Ignored]int{}
			b := newBench(t, []incident.Pool{llama()}, func(_ *remediation.Config, d *remediation.Deps) {
				d.Ignored = func(why incident.Ignored, n int) { got[why] += n }
			})
			tt.steps(b)
			b.sweep()
			if !maps.Equal(got, tt.want) {
				t.Errorf("counted %v, want %v", got, tt.want)
			}
			log := b.log.String()
			if n := strings.Count(log, "changed nothing"); n != tt.lines {
				t.Errorf("%d lines, want %d:\n%s", n, tt.lines, log)
			}
			for why := range tt.want {
				level := "level=INFO"
				if why.Firing() {
					level = "level=WARN"
				}
				if !strings.Contains(log, level+` msg="alerts of a delivery changed nothing"`) ||
					!strings.Contains(log, "reason="+string(why)) {
					t.Errorf("%s is not said with %s:\n%s", why, level, log)
				}
			}
		})
	}
}

// closeByHand closes the pool's open incident.
func closeByHand(b *bench) {
	b.t.Helper()
	b.sight.see(finding{healthy: incident.False, note: "Nothing holds."})
	b.pass(10 * time.Second)
	by := incident.Closed{By: ada, Reason: "by hand"}
	if _, err := b.engine.Act(b.t.Context(), b.open("llama").ID, by); err != nil {
		b.t.Fatal(err)
	}
}

// A name of any length does not fill the log.
func TestTheLogOfIgnoredAlertsIsBounded(t *testing.T) {
	t.Parallel()
	b := newBench(t, []incident.Pool{llama()})
	a := alert(strings.Repeat("x", 100_000)+"\n", "llama")
	a.Fingerprint = "f"
	b.from("am-1", resolved(a, start))
	b.sweep()
	for line := range strings.Lines(b.log.String()) {
		if len(line) > 1000 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
}
