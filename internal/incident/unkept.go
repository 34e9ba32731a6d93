package incident

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"slices"
	"sort"
	"strings"
	"time"
)

// What an incident keeps of the alerts that fire. It is copied with each turn, written with each commit and drawn with
// each message, and whoever can post to the webhook can bring any number of alerts of any size. More than a thousand
// rows help nobody, and half a MiB has room for about as many of the usual size, and for some copies of many incidents
// in the memory of a small pod.
const (
	firingKept  = 1000
	firingBytes = 512 << 10
)

// unkeptKnown is of how many alerts that are not kept an incident remembers the fingerprints: 160 KB. Beyond that they
// are counted without being told from one another, and their ends are not noticed.
const unkeptKnown = 20_000

// Unkept are alerts that fire, as far as is known, and for which the incident has no room. They hold it open as those
// that are kept do: until they end, which is noticed of those in Known, or until nothing has been heard of the
// incident's alerts for Timing.Stale.
type Unkept struct {
	// Firing is how many there are; at least so many when Beyond is not 0.
	Firing int `json:"firing"`
	// Beyond is how many of them are not in Known, as far as one delivery has shown it.
	Beyond int `json:"beyond,omitempty"`
	// HeardAt is when the newest delivery with one of them was stored.
	HeardAt time.Time `json:"heardAt,omitzero"`
	// Known are their fingerprints, eight bytes each, in ascending order.
	Known []byte `json:"known,omitempty"`
}

// IsZero says that every alert that fires is kept.
func (u Unkept) IsZero() bool {
	return u.Firing == 0 && u.Beyond == 0 && u.HeardAt.IsZero() && len(u.Known) == 0
}

// Has says whether an alert is among those that are known.
func (u Unkept) Has(fingerprint string) bool {
	want := binary.BigEndian.AppendUint64(nil, numbered(fingerprint))
	_, found := sort.Find(len(u.Known)/8, func(n int) int { return bytes.Compare(want, u.Known[8*n:8*n+8]) })
	return found
}

// numbered is the number that a fingerprint of Alertmanager stands for. Others, of drills, have one of their own.
func numbered(fingerprint string) uint64 {
	if b, err := hex.DecodeString(fingerprint); err == nil && len(b) == 8 {
		return binary.BigEndian.Uint64(b)
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(fingerprint)) // a hash.Hash never fails
	return h.Sum64()
}

// unkept is an Unkept that is being changed.
type unkept struct {
	known   map[uint64]bool
	beyond  int
	heardAt time.Time
}

func (u Unkept) open() *unkept {
	out := &unkept{known: make(map[uint64]bool, len(u.Known)/8), beyond: u.Beyond, heardAt: u.HeardAt}
	for n := 0; n+8 <= len(u.Known); n += 8 {
		out.known[binary.BigEndian.Uint64(u.Known[n:])] = true
	}
	return out
}

func (u *unkept) firing() int { return len(u.known) + u.beyond }

// take remembers alerts for which there is no room, those of one delivery.
func (u *unkept) take(alerts []Alert) {
	beyond := 0
	for _, x := range alerts {
		u.heardAt = later(u.heardAt, x.SeenAt)
		switch n := numbered(x.Fingerprint); {
		case u.known[n]:
		case len(u.known) < unkeptKnown:
			u.known[n] = true
		default:
			beyond++
		}
	}
	u.beyond = max(u.beyond, beyond)
}

// giveBack forgets an alert, and says whether it was known.
func (u *unkept) giveBack(fingerprint string) bool {
	n := numbered(fingerprint)
	known := u.known[n]
	delete(u.known, n)
	return known
}

func (u *unkept) closed() Unkept {
	if u.firing() == 0 {
		return Unkept{}
	}
	numbers := make([]uint64, 0, len(u.known))
	for n := range u.known {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	out := Unkept{Firing: u.firing(), Beyond: u.beyond, HeardAt: u.heardAt}
	for _, n := range numbers {
		out.Known = binary.BigEndian.AppendUint64(out.Known, n)
	}
	return out
}

// FiringCount is how many alerts fire, as far as is known, with those that are not kept.
func (i Incident) FiringCount() int { return len(i.Firing()) + i.AlertsNotKept.Firing }

// byWorth orders the alerts of an incident by what is lost with them, the worst first: those that fire before those
// that have ended; without a pool those whose pool has not been looked for yet; then by severity, as Severity orders
// it; then the newest start; then by fingerprint, so that every replica keeps the same ones.
func byWorth(a, b Alert) int {
	yes := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(yes(b.Firing), yes(a.Firing)),
		cmp.Compare(yes(a.Sought), yes(b.Sought)),
		cmp.Compare(rank(b.Labels["severity"]), rank(a.Labels["severity"])),
		b.StartsAt.Compare(a.StartsAt),
		strings.Compare(a.Fingerprint, b.Fingerprint),
	)
}

// worstOf splits alerts that fire into those that are kept, in their order, and those for which there is no room. One
// is always kept.
func worstOf(alerts []Alert) (kept, over []Alert) {
	total := 0
	for _, x := range alerts {
		total += x.size()
	}
	if len(alerts) <= firingKept && total <= firingBytes {
		return alerts, nil
	}
	order := make([]int, len(alerts))
	for n := range order {
		order[n] = n
	}
	slices.SortFunc(order, func(a, b int) int { return byWorth(alerts[a], alerts[b]) })
	keep, taken := map[int]bool{}, 0
	for _, n := range order {
		taken += alerts[n].size()
		if len(keep) == firingKept || taken > firingBytes && len(keep) > 0 {
			break
		}
		keep[n] = true
	}
	for n, x := range alerts {
		if keep[n] {
			kept = append(kept, x)
		} else {
			over = append(over, x)
		}
	}
	return kept, over
}

// alertOverhead is what an alert takes beside its texts: its times, and the names of its fields; endSize what an
// AlertEnd does.
const (
	alertOverhead = 256
	endSize       = 160
)

// size is about how many bytes an alert takes when it is stored.
func (a Alert) size() int {
	n := alertOverhead + len(a.Fingerprint) + len(a.GeneratorURL) + endSize*len(a.Ends)
	for _, texts := range []map[string]string{a.Labels, a.Annotations} {
		for k, v := range texts {
			n += len(k) + len(v) + 6
		}
	}
	return n
}
