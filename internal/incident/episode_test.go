package incident

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// word is one alert in one notification of one Alertmanager.
type word struct {
	alert  Alert
	source string
}

func (w word) String() string {
	state := "resolved"
	if w.alert.Firing {
		state = "firing"
	}
	return fmt.Sprintf("%s %s of %s", w.source, state, w.alert.StartsAt.Format("15:04:05"))
}

// history is what two Alertmanagers say about an alert with that many episodes; each notices the start of an episode at
// its own time. The last one is over or not.
func history(r *rand.Rand, episodes int, over bool) []word {
	var out []word
	at := base
	some := func(upTo time.Duration) time.Duration { return time.Duration(1 + r.Int64N(int64(upTo))) }
	for n := range episodes {
		at = at.Add(some(2 * time.Minute))
		start, end := at, at.Add(20*time.Second+some(2*time.Minute))
		for _, source := range []string{"am-1", "am-2"} {
			begin := start.Add(time.Duration(r.Int64N(int64(10 * time.Second))))
			fires := Alert{
				Fingerprint: "f", Labels: map[string]string{"alertname": "A"}, Firing: true, StartsAt: begin,
				SeenAt: begin.Add(5 * time.Second),
			}
			out = append(out, word{fires, source})
			if r.IntN(2) == 0 { // sent again: new alerts in the group, a lost answer
				out = append(out, word{fires, source})
			}
			if n == episodes-1 && !over {
				continue
			}
			ends := fires
			ends.Firing, ends.EndsAt, ends.SeenAt = false, end, end.Add(5*time.Second)
			out = append(out, word{ends, source})
		}
		at = end
	}
	return out
}

func foldAll(t *testing.T, words []word) Alert {
	t.Helper()
	inc := New("inc-x", "p", ModeApprove, false, base)
	for _, w := range words {
		res, err := Apply(inc, AlertsReceived{Alerts: []Alert{w.alert}, Source: w.source}, base)
		if err != nil {
			t.Fatal(err)
		}
		inc = res.Incident
	}
	if len(inc.Alerts) != 1 {
		t.Fatalf("%d alerts", len(inc.Alerts))
	}
	return inc.Alerts[0]
}

var base = time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)

// Whatever the order in which the words come in, and however often each comes, the end is the truth.
func TestEveryOrderOfTheNewsLeadsToTheTruth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 1))
		episodes, over := 1+r.IntN(4), r.IntN(2) == 0
		words := history(r, episodes, over)
		for range 25 {
			shuffled := slices.Clone(words)
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			if got := foldAll(t, shuffled); got.Firing == over {
				t.Fatalf("seed %d: firing %v after %v", seed, got.Firing, shuffled)
			}
		}
	}
}

// All orders of two episodes, each word twice.
func TestAllOrdersOfTwoEpisodes(t *testing.T) {
	t.Parallel()
	second := func(n int) time.Time { return base.Add(time.Duration(n) * time.Second) }
	fires := func(start int) Alert {
		return Alert{Fingerprint: "f", Firing: true, StartsAt: second(start), SeenAt: second(start + 1)}
	}
	ends := func(start, end int) Alert {
		return Alert{Fingerprint: "f", StartsAt: second(start), EndsAt: second(end), SeenAt: second(end + 1)}
	}
	for _, over := range []bool{false, true} {
		words := []word{{fires(10), "a"}, {fires(10), "b"}, {ends(10, 20), "a"}, {ends(10, 20), "b"}, {fires(30), "a"}}
		if over {
			words = append(words, word{ends(30, 40), "a"})
		} else {
			words = append(words, word{fires(30), "b"})
		}
		permute(words, func(order []word) {
			got := foldAll(t, order)
			if got.Firing == over {
				t.Fatalf("firing %v after %v", got.Firing, order)
			}
			if !over && !got.StartsAt.Equal(second(30)) || over && !got.EndsAt.Equal(second(40)) {
				t.Fatalf("from %s to %s after %v", got.StartsAt, got.EndsAt, order)
			}
		})
	}
}

func permute(words []word, each func([]word)) {
	var step func(n int)
	step = func(n int) {
		if n == len(words) {
			each(words)
			return
		}
		for k := n; k < len(words); k++ {
			words[n], words[k] = words[k], words[n]
			step(n + 1)
			words[n], words[k] = words[k], words[n]
		}
	}
	step(0)
}

// Alertmanager keeps the earliest start of what an HA pair of Prometheus says, so an alert may fire anew with the start
// that it had before. Who says so tells it from a late word: an Alertmanager speaks about a group in order.
func TestAFireWithTheOldStart(t *testing.T) {
	t.Parallel()
	start, end := base, base.Add(2*time.Minute)
	fires := func(seen time.Time) Alert {
		return Alert{Fingerprint: "f", Firing: true, StartsAt: start, SeenAt: seen}
	}
	ended := Alert{Fingerprint: "f", StartsAt: start, EndsAt: end, SeenAt: end.Add(10 * time.Second)}
	again := end.Add(time.Minute)
	over := Alert{Fingerprint: "f", StartsAt: start, EndsAt: end.Add(3 * time.Minute), SeenAt: end.Add(4 * time.Minute)}
	for _, tt := range []struct {
		name  string
		words []word
		want  bool
	}{
		{"of the same Alertmanager and group", []word{{fires(start), "a"}, {ended, "a"}, {fires(again), "a"}}, true},
		{"and its peer repeats the end", []word{{fires(start), "a"}, {ended, "a"}, {fires(again), "a"}, {ended, "b"}}, true},
		{
			"and its peer has told the end too",
			[]word{{fires(start), "a"}, {ended, "a"}, {ended, "b"}, {fires(again), "a"}},
			true,
		},
		{"and it ends", []word{{fires(start), "a"}, {ended, "a"}, {fires(again), "a"}, {over, "b"}}, false},
		{
			"and it ends, and the peer is late",
			[]word{{fires(start), "a"}, {ended, "a"}, {fires(again), "a"}, {over, "a"}, {fires(again), "b"}},
			false,
		},
		{"of the peer, soon", []word{{fires(start), "a"}, {ended, "a"}, {fires(again), "b"}}, false},
		{
			"of the peer, long after",
			[]word{{fires(start), "a"}, {ended, "a"}, {fires(end.Add(lateNews + time.Second)), "b"}},
			true,
		},
		{"of nobody knows whom, soon", []word{{fires(start), ""}, {ended, ""}, {fires(again), ""}}, false},
		{"of the same one, received before the end but folded after it", []word{{ended, "a"}, {fires(start), "a"}}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := foldAll(t, tt.words); got.Firing != tt.want {
				t.Errorf("firing %v, want %v: %+v", got.Firing, tt.want, got)
			}
		})
	}
}

// What an older version stored has no newest start and no last end.
func TestAnAlertOfAnOlderVersionIsGoneOnWith(t *testing.T) {
	t.Parallel()
	old := Alert{Fingerprint: "f", StartsAt: base, EndsAt: base.Add(time.Minute), SeenAt: base.Add(time.Minute)}
	if got, change := merge(old, Alert{Firing: true, StartsAt: base, SeenAt: base.Add(2 * time.Minute)},
		"a"); got.Firing || change != alertSame {
		t.Errorf("a late word fires it again: %+v", got)
	}
	if got, change := merge(old, Alert{Firing: true, StartsAt: base.Add(2 * time.Minute)}, "a"); !got.Firing ||
		change != alertRefired {
		t.Errorf("a new episode is not seen: %+v", got)
	}
}

func FuzzHistory(f *testing.F) {
	f.Add(uint64(1), uint8(3), true)
	f.Add(uint64(7), uint8(5), false)
	f.Fuzz(func(t *testing.T, seed uint64, episodes uint8, over bool) {
		r := rand.New(rand.NewPCG(seed, 2))
		words := history(r, 1+int(episodes%6), over)
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		if got := foldAll(t, words); got.Firing == over {
			t.Fatalf("firing %v after %v", got.Firing, words)
		}
	})
}
