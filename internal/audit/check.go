package audit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Finding is something that speaks against a journal.
type Finding struct {
	Incident string `json:"incident"`
	// What is one sentence.
	What string `json:"what"`
}

// Check says what of a chain is not as the bot wrote it, in the order of the entries; nothing when all of it is. The
// heads are those that were seen outside of the store, whole or at least ShortLength digits of them: each must be one
// that the chain had.
func Check(c Chain, heads ...string) []Finding {
	k := checker{chain: c}
	switch {
	case c.Removed != nil:
		k.removed(heads)
	case !c.Noted && len(c.Rows) == 0 && !c.Known:
		k.add("It is neither in the store nor among what was removed after its time.")
	case !c.Noted && len(c.Rows) == 0:
		k.add("It has no journal, and there is no note of one.")
	default:
		k.rows()
		k.end()
		k.heads(heads)
	}
	return k.found
}

type checker struct {
	chain Chain
	found []Finding
	// had are the hashes that the chain had.
	had []string
	// last is the hash of the last row, and lastSeq its number; rows that are no part of the chain apart. cut says that it
	// cannot be compared with the noted head, because entries before it are missing.
	last    string
	lastSeq int64
	cut     bool
}

func (k *checker) add(format string, args ...any) {
	k.found = append(k.found, Finding{Incident: k.chain.Incident, What: fmt.Sprintf(format, args...)})
}

// rows follows the chain from the first entry. After a break it goes on from the hash that is stored, so that one
// change is one finding.
func (k *checker) rows() {
	c := k.chain
	next, broken := int64(1), false
	for _, r := range c.Rows {
		if r.Seq > next {
			k.add("%s missing.", entries(next, r.Seq-1))
			broken = true
		}
		next = r.Seq + 1
		want := Link(k.last, c.Incident, r)
		switch {
		case r.Hash == "" && r.Seq > c.Unhashed:
			k.add("Entry %d has no hash: an older version wrote it while it was being replaced, or someone else did.", r.Seq)
			continue // it is no part of the chain
		case r.Hash == "":
			k.last = want
		case r.Hash != want && !broken:
			k.add("%s", k.changed(r.Seq))
			k.last = r.Hash
		default:
			k.last, broken = r.Hash, false
		}
		k.lastSeq = r.Seq
		if r.Seq >= c.Unhashed {
			k.had = append(k.had, k.last)
		}
	}
	k.cut = broken
	if c.Noted && next <= c.Entries {
		k.add("%s missing at the end.", entries(next, c.Entries))
		k.cut = true
	}
}

// changed says which entry a hash that does not fit speaks of: with rows that have none before it, any of them.
func (k *checker) changed(seq int64) string {
	if seq == k.chain.Unhashed+1 && seq > 1 {
		return fmt.Sprintf("One of the entries 1 to %d was changed, added or moved.", seq)
	}
	return fmt.Sprintf("Entry %d was changed, added or moved.", seq)
}

// end compares the end of the chain with what is noted of it.
func (k *checker) end() {
	c := k.chain
	switch {
	case !c.Noted:
		k.add("The note of how many entries it has is missing.")
	case !c.Known:
		k.add("The incident is not in the store, and no note says that it was removed after its time.")
	case k.lastSeq > c.Entries:
		k.add("%s added that the bot has no note of.", was(c.Entries+1, k.lastSeq))
	case !k.cut && k.last != c.Head && c.Entries <= c.Unhashed:
		k.add("One of the %d entries from before journals were chained was changed, added or moved.", c.Entries)
	case !k.cut && k.last != c.Head:
		k.add("The noted head %s is not the hash of the last entry, %s.", orNone(Short(c.Head)), orNone(Short(k.last)))
	}
}

// heads looks for those that were seen outside. A chain with a break has the hashes that are stored after it, so a head
// from there proves nothing about what is before the break, which is a finding already.
func (k *checker) heads(heads []string) {
	for _, head := range heads {
		if !slices.ContainsFunc(k.had, func(h string) bool { return strings.HasPrefix(h, head) }) {
			k.add("The head %s is not in its journal: entries up to it were changed or removed.", Short(head))
		}
	}
}

// removed is the check of a journal that is gone: of it only the last head is left.
func (k *checker) removed(heads []string) {
	c := k.chain
	switch {
	case len(c.Rows) > 0:
		k.add("It is noted as removed, and the store has %d of its entries.", len(c.Rows))
	case c.Known:
		k.add("It is noted as removed, and the store has the incident.")
	}
	for _, head := range heads {
		if !strings.HasPrefix(c.Head, head) {
			k.add("The head %s cannot be checked: the journal was removed at %s (%s), and its last head was %s.", Short(head),
				c.Removed.At.UTC().Format("2006-01-02 15:04 UTC"), c.Removed.Reason, orNone(Short(c.Head)))
		}
	}
}

func entries(from, to int64) string {
	if from == to {
		return fmt.Sprintf("Entry %d is", from)
	}
	return fmt.Sprintf("Entries %d to %d are", from, to)
}

func was(from, to int64) string {
	if from == to {
		return fmt.Sprintf("Entry %d was", from)
	}
	return fmt.Sprintf("Entries %d to %d were", from, to)
}

func orNone(s string) string { return cmp.Or(s, "(none)") }
