package audit_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/audit"
)

// chain is a journal of so many entries as the bot writes it; the first old ones are from before there were hashes.
func chain(n, old int64) audit.Chain {
	c := audit.Chain{Incident: "inc-a", Known: true, Noted: true, Entries: n, Unhashed: old}
	for seq := int64(1); seq <= n; seq++ {
		r := audit.Row{Seq: seq, Thread: seq%2 == 0, Body: `{"text":"entry ` + strconv.FormatInt(seq, 10) + `"}`}
		c.Head = audit.Link(c.Head, c.Incident, r)
		if seq > old {
			r.Hash = c.Head
		}
		c.Rows = append(c.Rows, r)
	}
	return c
}

// rechained gives every row the hash that fits, as somebody would who knows how.
func rechained(c audit.Chain) audit.Chain {
	c.Head = ""
	for n := range c.Rows {
		c.Head = audit.Link(c.Head, c.Incident, c.Rows[n])
		c.Rows[n].Hash, c.Entries = c.Head, c.Rows[n].Seq
	}
	return c
}

func TestAChainIsAsItWasWritten(t *testing.T) {
	t.Parallel()
	head := chain(5, 0).Head
	third := chain(3, 0).Head
	for name, tt := range map[string]struct {
		chain audit.Chain
		heads []string
		// want is how each finding begins.
		want []string
	}{
		"untouched":              {chain: chain(5, 0)},
		"one entry":              {chain: chain(1, 0)},
		"untouched, older start": {chain: chain(5, 2)},
		"only older entries":     {chain: chain(5, 5)},
		"its head":               {chain: chain(5, 0), heads: []string{head, audit.Short(head)}},
		"an earlier head":        {chain: chain(5, 0), heads: []string{audit.Short(third)}},
		"the head of the older":  {chain: chain(5, 3), heads: []string{audit.Short(third)}},
		"removed after its time": {chain: removed(chain(5, 0)), heads: []string{audit.Short(head)}},

		"a changed body": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows[2].Body = `{"text":"never"}` }),
			want:  []string{"Entry 3 was changed, added or moved."},
		},
		"a changed flag": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows[2].Thread = true }),
			want:  []string{"Entry 3 was changed"},
		},
		"two changed bodies": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows[1].Body, c.Rows[3].Body = "{}", "{}" }),
			want:  []string{"Entry 2 was changed", "Entry 4 was changed"},
		},
		"a changed entry with a hash that fits": {
			chain: with(chain(5, 0), func(c *audit.Chain) {
				c.Rows[2].Body = "{}"
				c.Rows[2].Hash = audit.Link(c.Rows[1].Hash, c.Incident, c.Rows[2])
			}),
			want: []string{"Entry 4 was changed"},
		},
		"the last entry, changed with a hash that fits": {
			chain: with(chain(5, 0), func(c *audit.Chain) {
				c.Rows[4].Body = "{}"
				c.Rows[4].Hash = audit.Link(c.Rows[3].Hash, c.Incident, c.Rows[4])
			}),
			want: []string{"The noted head " + audit.Short(head) + " is not"},
		},
		"an entry removed": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows = slices.Delete(c.Rows, 1, 2) }),
			want:  []string{"Entry 2 is missing."},
		},
		"the first entries removed": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows = c.Rows[2:] }),
			want:  []string{"Entries 1 to 2 are missing."},
		},
		"an entry removed and the rest renumbered": {
			chain: with(chain(5, 0), func(c *audit.Chain) {
				c.Rows = slices.Delete(c.Rows, 1, 2)
				for n := range c.Rows {
					c.Rows[n].Seq = int64(n + 1)
				}
			}),
			want: []string{
				"Entry 2 was changed", "Entry 3 was changed", "Entry 4 was changed", "Entry 5 is missing at the end.",
			},
		},
		"the end removed": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows = c.Rows[:3] }),
			want:  []string{"Entries 4 to 5 are missing at the end."},
		},
		"all removed": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows = nil }),
			want:  []string{"Entries 1 to 5 are missing at the end."},
		},
		"the end removed and the note changed": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows, c.Entries, c.Head = c.Rows[:3], 3, c.Rows[2].Hash }),
			heads: []string{audit.Short(head)},
			want:  []string{"The head " + audit.Short(head) + " is not in its journal"},
		},
		"two entries swapped": {
			chain: with(chain(5, 0), func(c *audit.Chain) {
				c.Rows[1].Body, c.Rows[2].Body = c.Rows[2].Body, c.Rows[1].Body
			}),
			want: []string{"Entry 2 was changed", "Entry 3 was changed"},
		},
		"an entry added at the end": {
			chain: with(chain(5, 0), func(c *audit.Chain) {
				r := audit.Row{Seq: 6, Body: "{}"}
				r.Hash = audit.Link(c.Head, c.Incident, r)
				c.Rows = append(c.Rows, r)
			}),
			want: []string{"Entry 6 was added that the bot has no note of."},
		},
		"an entry without a hash at the end": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Rows = append(c.Rows, audit.Row{Seq: 6, Body: "{}"}) }),
			want:  []string{"Entry 6 has no hash"},
		},
		"hashes taken away": {
			chain: with(chain(2, 0), func(c *audit.Chain) { c.Rows[0].Hash, c.Rows[1].Hash = "", "" }),
			want:  []string{"Entry 1 has no hash", "Entry 2 has no hash", "The noted head "},
		},
		"an older entry changed": {
			chain: with(chain(5, 2), func(c *audit.Chain) { c.Rows[0].Body = "{}" }),
			want:  []string{"One of the entries 1 to 3 was changed"},
		},
		"an entry changed of a journal that is older": {
			chain: with(chain(5, 5), func(c *audit.Chain) { c.Rows[0].Body = "{}" }),
			want:  []string{"One of the 5 entries from before journals were chained was changed"},
		},
		"an entry removed of a journal that is older": {
			chain: with(chain(5, 5), func(c *audit.Chain) { c.Rows = slices.Delete(c.Rows, 1, 2) }),
			want:  []string{"Entry 2 is missing."},
		},
		"the chain of another incident": {
			chain: with(chain(2, 0), func(c *audit.Chain) { c.Incident = "inc-b" }),
			want:  []string{"Entry 1 was changed", "Entry 2 was changed"},
		},
		"all hashes new": {
			chain: rechained(with(chain(5, 0), func(c *audit.Chain) { c.Rows[2].Body = "{}" })),
			heads: []string{audit.Short(third)},
			want:  []string{"The head " + audit.Short(third) + " is not in its journal"},
		},
		"the note is gone": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Noted, c.Entries, c.Head = false, 0, "" }),
			want:  []string{"The note of how many entries it has is missing."},
		},
		"the incident is gone": {
			chain: with(chain(5, 0), func(c *audit.Chain) { c.Known = false }),
			want:  []string{"The incident is not in the store"},
		},
		"journal and note are gone": {
			chain: audit.Chain{Incident: "inc-a", Known: true},
			want:  []string{"It has no journal, and there is no note of one."},
		},
		"everything is gone": {
			chain: audit.Chain{Incident: "inc-a"}, heads: []string{audit.Short(head)},
			want: []string{"It is neither in the store nor among"},
		},
		"removed after its time, with another head": {
			chain: removed(chain(5, 0)), heads: []string{audit.Short(third)},
			want: []string{"The head " + audit.Short(third) + " cannot be checked: the journal was removed at 2026-11-23"},
		},
		"noted as removed, and still there": {
			chain: with(removed(chain(5, 0)), func(c *audit.Chain) { c.Rows = chain(2, 0).Rows }),
			want:  []string{"It is noted as removed, and the store has 2 of its entries."},
		},
		"noted as removed, and the incident is there": {
			chain: with(removed(chain(5, 0)), func(c *audit.Chain) { c.Known = true }),
			want:  []string{"It is noted as removed, and the store has the incident."},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := audit.Check(tt.chain, tt.heads...)
			if len(got) != len(tt.want) {
				t.Fatalf("findings %q, want %q", got, tt.want)
			}
			for n, f := range got {
				if f.Incident != tt.chain.Incident || !strings.HasPrefix(f.What, tt.want[n]) {
					t.Errorf("finding %d is %q, want %q", n, f, tt.want[n])
				}
			}
		})
	}
}

func with(c audit.Chain, change func(*audit.Chain)) audit.Chain {
	c.Rows = slices.Clone(c.Rows)
	change(&c)
	return c
}

func removed(c audit.Chain) audit.Chain {
	c.Known, c.Rows = false, nil
	c.Removed = &audit.Removed{At: time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC), Reason: "retention"}
	return c
}

// What docs/audit.md tells others to compute: printf '\ninc-a\n1\n0\n{}' | sha256sum.
func TestTheHashIsTheOneThatTheDocumentDescribes(t *testing.T) {
	t.Parallel()
	const want = "71f3b4ff18187c659f31d907841cf9e1ab9fb448801c53018f5460504ae83399"
	if got := audit.Link("", "inc-a", audit.Row{Seq: 1, Body: "{}"}); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
