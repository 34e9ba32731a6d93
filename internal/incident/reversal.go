package incident

import (
	"fmt"
	"math/big"
	"time"
)

// Reversal says that a field which the bot has set no longer holds that value, and who changed it.
type Reversal struct {
	// Value is what the field holds now.
	Value Value `json:"value"`
	// By is the field manager that the API server names as the last one to set the field; empty when it names none.
	By string `json:"by,omitempty"`
	// At is when, by the API server's clock, to the second.
	At time.Time `json:"at,omitzero"`
	// Hint is what to do so that a change lasts: "change it in Git".
	Hint string `json:"hint,omitempty"`
	// Gone says what became of the object when it is not the one that was changed any more; there is no value then.
	Gone string `json:"gone,omitempty"`
}

// Text is the clause about it, for a change that was made at a time: "argocd-controller set it back to 184 after 6 s".
// from is the value before that change, to the one that it set.
func (r Reversal) Text(from, to Value, made time.Time) string {
	who := r.By
	if who == "" {
		who = "another client"
	}
	var text string
	switch {
	case r.Gone != "":
		return r.Gone
	case r.Value == from && !from.Present:
		text = who + " removed it again"
	case r.Value == from:
		text = fmt.Sprintf("%s set it back to %s", who, r.Value)
	case !r.Value.Present:
		text = who + " removed it"
	case further(from, to, r.Value):
		text = fmt.Sprintf("%s moved it further, to %s", who, r.Value)
	default:
		text = fmt.Sprintf("%s set it to %s", who, r.Value)
	}
	// The clocks of the API server and of the bot differ: what seems to come before the change has no "after".
	if after := r.At.Sub(made).Round(time.Second); !r.At.IsZero() && !made.IsZero() && after > 0 {
		text += " after " + FormatDuration(after)
	}
	return text
}

// Advice is Text with what to do about it.
func (r Reversal) Advice(from, to Value, made time.Time) string {
	text := r.Text(from, to, made)
	if r.Hint != "" {
		text += "; " + r.Hint
	}
	return text
}

// further says whether a value lies beyond the wanted one, seen from the value before.
func further(from, to, now Value) bool {
	a, okA := new(big.Rat).SetString(from.Text)
	b, okB := new(big.Rat).SetString(to.Text)
	c, okC := new(big.Rat).SetString(now.Text)
	if !okA || !okB || !okC {
		return false
	}
	return b.Cmp(a) != 0 && b.Cmp(a) == c.Cmp(b)
}
