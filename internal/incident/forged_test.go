package incident

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// second is a moment of these tests, in seconds.
func second(seconds float64) time.Time {
	return base.Add(time.Duration(seconds * float64(time.Second)))
}

// says is a word of a source that was received at a time.
func says(source string, received float64, a Alert) word {
	a.Fingerprint, a.Labels, a.SeenAt = "f", map[string]string{"alertname": "A"}, second(received)
	return word{a, source}
}

func fires(starts float64) Alert { return Alert{Firing: true, StartsAt: second(starts)} }

func ended(starts, ends float64) Alert { return Alert{StartsAt: second(starts), EndsAt: second(ends)} }

// Each line is a way in which an alert once went silent although it fires, or fired on although it had ended, and how
// it must be instead.
func TestNoWordSilencesAnAlertAndNoneKeepsItFiring(t *testing.T) {
	t.Parallel()
	const year = 365 * 24 * 3600
	for _, tt := range []struct {
		name  string
		words []word
		want  bool
	}{
		{"an end in the future, before the alert is heard of", []word{
			says("h/x", 0, ended(-60, year)), says("g/a", 30, fires(10)),
		}, true},
		{"an end in the future, by a sender of the same group", []word{
			says("g/x", 0, ended(-60, year)), says("g/a", 30, fires(10)),
		}, true},
		{"an end in the future, during the incident", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, ended(10, year)), says("g/a", 90, fires(10)),
		}, true},
		{"an end just now, before the alert is heard of", []word{
			says("h/x", 20, ended(-60, 20)), says("g/a", 30, fires(10)),
		}, true},
		{"an end just now, during the incident", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, ended(0, 60)), says("g/a", 90, fires(10)),
		}, true},
		{"an end just now, by a sender of the same group that can't know the start", []word{
			says("g/x", 20, ended(-60, 20)), says("g/a", 30, fires(10)),
		}, true},
		{"an end whose start is in the future", []word{
			says("h/x", 20, ended(year, year)), says("g/a", 30, fires(10)),
		}, true},
		{"an end whose start is in the future, during the incident", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, ended(year, 0)), says("g/a", 90, fires(10)),
		}, true},
		{"an end again and again", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, ended(10, 60)), says("g/a", 90, fires(10)),
			says("h/y", 100, ended(10, 100)), says("h/y", 110, ended(10, year)), says("g/a", 120, fires(10)),
		}, true},
		{"a start in the future", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, fires(year)), says("g/a", 90, ended(10, 80)),
		}, false},
		{"a start in the future, just after the end", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, fires(year)), says("g/a", 90, ended(10, 50)),
		}, false},
		{"a start in the future, and an end from before it", []word{
			says("h/x", 60, fires(year)), says("g/a", 90, ended(10, 50)),
		}, false},
		{"a start in the future, and the real alert after it", []word{
			says("h/x", 60, fires(year)), says("g/a", 90, ended(10, 50)), says("g/a", 120, fires(100)),
		}, true},
		{"a start in the future after the end, and the next episode", []word{
			says("g/a", 30, fires(10)), says("g/a", 50, ended(10, 40)), says("h/x", 60, fires(year)),
			says("g/a", 120, fires(100)), says("g/a", 150, ended(100, 140)),
		}, false},
		{"a start in the past and an end in the future, again and again", []word{
			says("g/a", 30, fires(10)), says("h/x", 60, ended(year, 0)), says("h/x", 61, ended(year, -60)),
		}, true},
		{"a clock that is ahead by an hour", []word{
			says("g/a", 30, fires(3610)), says("g/a", 60, ended(3610, 3650)), says("g/a", 90, fires(3680)),
		}, true},
		{"a clock that is ahead by an hour, and it ended", []word{
			says("g/a", 30, fires(3610)), says("g/b", 31, fires(3610)), says("g/a", 60, ended(3610, 3650)),
			says("g/a", 90, fires(3680)), says("g/b", 91, ended(3610, 3650)), says("g/a", 120, ended(3680, 3700)),
			says("g/b", 130, fires(3680)), says("g/b", 140, ended(3680, 3700)),
		}, false},
		{"a start in the future of an alert that isn't known", []word{
			says("h/x", 60, fires(year)), says("g/a", 90, ended(10, 80)),
		}, false},
		{"what was forged while it fired ends with it", []word{
			says("h/x", 20, ended(0, 20)), says("g/a", 30, fires(10)), says("g/a", 90, ended(10, 80)),
		}, false},
		{"and with the same end as before", []word{
			says("g/a", 30, fires(10)), says("h/x", 40, ended(10, 80)), says("g/a", 50, fires(10)),
			says("g/a", 90, ended(10, 80)),
		}, false},
		{"one of two is late by an episode", []word{
			says("g/a", 11, fires(10)), says("g/b", 12, fires(10)),
			says("g/b", 21, ended(10, 20)), says("g/b", 31, fires(30)), says("g/b", 41, ended(30, 40)),
			says("g/a", 50, ended(10, 20)), says("g/a", 51, fires(30)), says("g/a", 52, ended(30, 40)),
		}, false},
		{"one of two is late by an episode and by more than lateNews", []word{
			says("g/a", 11, fires(10)), says("g/b", 12, fires(10)),
			says("g/b", 21, ended(10, 20)), says("g/b", 31, fires(30)), says("g/b", 41, ended(30, 40)),
			says("g/a", 850, ended(10, 20)), says("g/a", 851, fires(30)), says("g/a", 852, ended(30, 40)),
		}, false},
		{"a late repeat, and its end", []word{
			says("g/a", 11, fires(10)), says("g/b", 21, ended(10, 20)), says("g/a", 500, fires(10)),
			says("g/a", 501, ended(10, 20)),
		}, false},
		{"two of one address and one external URL, one of them late", []word{
			says("g/n", 11, fires(10)), says("g/n", 21, ended(10, 20)), says("g/n", 22, fires(10)),
			says("g/n", 23, ended(10, 20)),
		}, false},
		{"a late word of a peer", []word{
			says("g/a", 11, fires(10)), says("g/a", 21, ended(10, 20)), says("g/b", 30, fires(10)),
		}, false},
		{"a late word of a peer that had said it before", []word{
			says("g/a", 11, fires(10)), says("g/b", 12, fires(10)), says("g/a", 21, ended(10, 20)),
			says("g/b", 30, fires(10)),
		}, false},
		{"a late word of a peer, an episode ago", []word{
			says("g/a", 11, fires(10)), says("g/a", 21, ended(10, 20)), says("g/a", 31, fires(30)),
			says("g/a", 41, ended(30, 40)), says("g/b", 42, fires(10)),
		}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := foldAll(t, tt.words); got.Firing != tt.want {
				t.Errorf("firing %v, want %v: %+v", got.Firing, tt.want, got)
			}
		})
	}
}

// spoken is what one Alertmanager says, in its own order.
type spoken []word

// honest are two Alertmanagers, of one group, of two, or behind one address: each tells the episodes in order and more
// than once, some of them late. Some episodes keep the start of the one before, as an HA pair of Prometheus makes them.
// Not every one is told by both.
func honest(r *rand.Rand, episodes int, ends bool) []spoken {
	out := make([]spoken, 2)
	sources := [][]string{{"g/a", "g/b"}, {"g/a", "h/a"}, {"g/a", "h/b"}, {"g/a", "g/a"}}[r.IntN(4)]
	clock, start := 0.0, 0.0
	for n := range episodes {
		clock += 1 + 60*r.Float64()
		if n == 0 || r.IntN(3) > 0 {
			start = clock
		}
		end := clock + 1 + 120*r.Float64()
		for who := range out {
			say := func(a Alert) {
				for range 1 + r.IntN(2) {
					out[who] = append(out[who], word{alert: a, source: sources[who]})
				}
			}
			last := n == episodes-1
			if last || r.IntN(5) > 0 {
				say(fires(start))
				if !last || ends {
					say(ended(start, end))
				}
			}
		}
		clock = end
	}
	return out
}

// interleaved is both as they come in, each in its own order; the receipts follow each other by some seconds, now and
// then by minutes.
func interleaved(r *rand.Rand, both []spoken) []word {
	var out []word
	left := [][]word{both[0], both[1]}
	// no word is received before what it tells of
	received := 0.0
	for len(left[0])+len(left[1]) > 0 {
		who := r.IntN(2)
		if len(left[who]) == 0 {
			who = 1 - who
		}
		w := left[who][0]
		left[who] = left[who][1:]
		received += 30 * r.Float64()
		if r.IntN(6) == 0 {
			received += 500 * r.Float64()
		}
		told := w.alert.StartsAt
		if !w.alert.Firing {
			told = w.alert.EndsAt
		}
		received = max(received, told.Sub(base).Seconds()+1)
		out = append(out, says(w.source, received, w.alert))
	}
	return out
}

// forged is any word about the alert by somebody else, who may know the group but not the start.
func forged(r *rand.Rand, received float64) word {
	when := func() float64 {
		return received + []float64{-3600, -60, -1, 0, 2, 60, 1e6, 1e9}[r.IntN(8)]*r.Float64()
	}
	a := ended(when(), when())
	if r.IntN(3) == 0 {
		a = fires(when())
	}
	return says(fmt.Sprint([]string{"g/", "h/", "x/"}[r.IntN(3)], 10+r.IntN(12)), received, a)
}

// amid puts up to two forged words before each of the words, and at the end.
func amid(r *rand.Rand, words []word) []word {
	var out []word
	for _, w := range append(words, words[len(words)-1]) {
		for range r.IntN(3) {
			out = append(out, forged(r, w.alert.SeenAt.Sub(base).Seconds()))
		}
		out = append(out, w)
	}
	return out[:len(out)-1]
}

// folded is what is known after the words.
func folded(words []word) Alert {
	known := heard(words[0].alert, words[0].source)
	for _, w := range words[1:] {
		known, _ = merge(known, w.alert, w.source)
	}
	return known
}

// checkHonest says what is wrong when the last words of both and what is known differ.
func checkHonest(t *testing.T, seed uint64, episodes int, ends bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 3))
	words := interleaved(r, honest(r, episodes, ends))
	if got := folded(words); got.Firing == ends {
		t.Fatalf("seed %d: firing %v after %v", seed, got.Firing, words)
	}
}

// checkForged puts forged words anywhere into what is said of an alert that fires, and lets one of the two say it once
// more.
func checkForged(t *testing.T, seed uint64, episodes int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 4))
	both := honest(r, episodes, false)
	words := amid(r, interleaved(r, both))
	again := both[r.IntN(2)]
	genuine, last := again[len(again)-1], words[len(words)-1].alert.SeenAt.Sub(base).Seconds()
	words = append(words, says(genuine.source, last+20*r.Float64(), genuine.alert))
	if got := folded(words); !got.Firing {
		t.Fatalf("seed %d: a forged word silences it: %v", seed, words)
	}
}

// checkEnded puts forged ends anywhere into what is said of an alert that has ended.
func checkEnded(t *testing.T, seed uint64, episodes int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 5))
	words := slices.DeleteFunc(amid(r, interleaved(r, honest(r, episodes, true))),
		func(w word) bool { return w.alert.Firing && len(w.source) > len("g/a") })
	if got := folded(words); got.Firing {
		t.Fatalf("seed %d: a forged word keeps it firing: %v", seed, words)
	}
}

func TestTheLastWordsOfTwoAlertmanagersAreTheTruth(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		for _, ends := range []bool{true, false} {
			checkHonest(t, seed, 1+int(seed%5), ends)
		}
		checkEnded(t, seed, 1+int(seed%5))
	}
}

func TestAfterAnyForgedWordsTheNextRealOneFires(t *testing.T) {
	t.Parallel()
	for seed := range uint64(1000) {
		checkForged(t, seed, 1+int(seed%4))
	}
}

func FuzzForgedWords(f *testing.F) {
	f.Add(uint64(1), uint8(1), false)
	f.Add(uint64(7), uint8(3), true)
	f.Fuzz(func(t *testing.T, seed uint64, episodes uint8, ends bool) {
		checkHonest(t, seed, 1+int(episodes%6), ends)
		checkForged(t, seed, 1+int(episodes%6))
		checkEnded(t, seed, 1+int(episodes%6))
	})
}
