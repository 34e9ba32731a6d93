package present

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Verification says why the verdict of a check after a change is what it is, as sentences such as "All metrics within
// limits. TTFT p95 7.2 s → 300 ms.".
func Verification(v incident.Verification) string { return judged(v.Comparison, v.Why) }

// judged is what a comparison says, as sentences; stored is the same as text. An older version stored nothing else, and
// a newer one may know findings that this one has no words for.
func judged(c *incident.Comparison, stored string) string {
	if text, known := comparison(c); known || stored == "" {
		return Capital(text)
	}
	return stored
}

// verified is judged after the verdict, such as "Fixed: all metrics within limits. TTFT p95 7.2 s → 300 ms".
func verified(verdict incident.Verdict, c *incident.Comparison, stored string) string {
	text, known := comparison(notable(c))
	if !known && stored != "" {
		text = stored
	}
	return strings.TrimSuffix(Verdict(verdict)+": "+text, ": ")
}

// notable leaves out the signals that have nothing to say: those that did not move and are within their limits, and
// those without values, unless these are why the verdict is what it is.
func notable(c *incident.Comparison) *incident.Comparison {
	if c == nil {
		return nil
	}
	unseen := c.Finding == incident.FoundSilent || c.Finding == incident.FoundNoData || c.Finding == incident.FoundUnseen
	out := *c
	out.Moves = slices.DeleteFunc(slices.Clone(c.Moves), func(m incident.Move) bool {
		switch m.Moved {
		case incident.MovedBetter, incident.MovedWorse:
			return false
		case incident.MovedUnknown:
			return !unseen
		case incident.MovedNot:
		}
		return !Beyond(m.After)
	})
	return &out
}

// comparison is the sentences about it, to be put after a colon, and whether they say all of it.
func comparison(c *incident.Comparison) (text string, known bool) {
	if c == nil {
		return "", false
	}
	effect, found := noEffect(c.NoEffect), finding(c.Finding)
	known = found != "" && (effect != "" || c.NoEffect == "")
	var parts []string
	for _, clause := range []string{effect, found} {
		switch {
		case clause == "":
		case len(parts) > 0:
			parts = append(parts, Capital(clause))
		default:
			parts = append(parts, clause)
		}
	}
	if moved := moves(ranked(c.Moves), c.Finding); moved != "" {
		parts = append(parts, moved) // begins with a name, which is as it is
	}
	if rejected := Rejected(c); rejected != "" {
		parts = append(parts, rejected)
	}
	if c.Unconfirmed {
		parts = append(parts, "Could not check whether the change is still in place")
	}
	if len(parts) == 0 {
		return "", known
	}
	return unmark.Replace(strings.Join(parts, ". ")) + ".", known
}

func finding(f incident.Finding) string {
	switch f {
	case incident.FoundHealthy:
		return "all metrics within limits"
	case incident.FoundSilent:
		return "metrics are within limits, but some have no data anymore, so the recovery is not confirmed"
	case incident.FoundNoData:
		return "no data to compare"
	case incident.FoundWorse:
		return "no metric improved"
	case incident.FoundBetter:
		return "better, but not within limits yet"
	case incident.FoundNotEnough:
		return "the new capacity is in use, and the pool still needs more"
	case incident.FoundMixed:
		return "some metrics improved, some got worse"
	case incident.FoundUnchanged:
		return "no metric moved noticeably"
	case incident.FoundUnseen:
		return "no metric moved noticeably, and some have no data"
	}
	return "" // of a newer version
}

func noEffect(n incident.NoEffect) string {
	switch n {
	case incident.NoEffectDryRun:
		return "a dry run changes nothing, so there is no effect to check"
	case incident.NoEffectNoRollout:
		return "the rollout failed"
	case incident.NoEffectNotApplied:
		return "the change did not take effect"
	}
	return ""
}

// ranked puts first what the change was decided by, then what users feel and what the pool has targets for, each in the
// order of felt; the others keep their order, which has what got worse at the front.
func ranked(all []incident.Move) []incident.Move {
	before := make(map[string]incident.Reading, len(all))
	names := make([]string, 0, len(all))
	for _, m := range all {
		before[m.Signal], names = m.Before, append(names, m.Signal)
	}
	lead, led := first(before, names)
	rank := func(m incident.Move) int {
		at := slices.Index(felt(), m.Signal)
		switch {
		case led && m.Signal == lead.Signal:
			return -1
		case at >= 0:
			return at
		case m.Before.ThresholdFrom == incident.OriginSLO || m.After.ThresholdFrom == incident.OriginSLO:
			return len(felt())
		}
		return len(felt()) + 1
	}
	out := slices.Clone(all)
	slices.SortStableFunc(out, func(a, b incident.Move) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// moves are the signals with the values before and after: "TTFT p95 9 s → 1 s; KV cache 97% → 40%". What stayed as it
// was, and is where it should be, is left out: it says nothing.
func moves(all []incident.Move, found incident.Finding) string {
	var texts []string
	for _, m := range all {
		if m.Moved == incident.MovedNot && !Beyond(m.After) {
			continue
		}
		texts = append(texts, Label(m.Signal, m.Before, m.After)+" "+beforeAfter(m.Before, m.After)+Worsened(m, found))
	}
	return strings.Join(texts, "; ")
}

// Worsened says of a signal that it got worse, in brackets with a space before it; empty of all others. Which way is
// worse can't be told from two numbers, and among numbers that got better it would be overlooked. Where what was found
// is that all that moved got worse, the words around it say so.
func Worsened(m incident.Move, found incident.Finding) string {
	if m.Moved == incident.MovedWorse && found != incident.FoundWorse {
		return " (worse)"
	}
	return ""
}

// beforeAfter compares two readings. An arrow is for two values; what is not there is said in words.
func beforeAfter(b, a incident.Reading) string {
	switch {
	case b.HasValue() && a.HasValue():
		return b.Text() + " → " + a.Text()
	case noData(b) && noData(a):
		return "had no data before or after"
	case b.Error != "" && b.Error == a.Error:
		return "could not be read before or after (" + a.Error + ")"
	case b.Error != "" && a.Error != "":
		return fmt.Sprintf("could not be read before (%s) or after (%s)", b.Error, a.Error)
	}
	before, after := "was "+b.Text()+" before", "is "+a.Text()+" after"
	switch {
	case b.Error != "":
		before = "could not be read before (" + b.Error + ")"
	case noData(b):
		before = "had no data before"
	}
	switch {
	case a.Error != "":
		after = "could not be read after (" + a.Error + ")"
	case noData(a):
		after = "has no data after"
	}
	return before + " and " + after
}

// noData says that there was no value and no error.
func noData(r incident.Reading) bool { return r.Value == nil && r.Error == "" }

// Label is what a message calls a signal that was read before and after a change: one of the readings may be empty.
func Label(signal string, before, after incident.Reading) string {
	return cmp.Or(after.Short, before.Short, after.Title, before.Title, signal)
}
