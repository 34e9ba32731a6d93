package incident

import (
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

// reason says what became of a change that was made at a time, from a value to another.
func (r Reversal) reason(from, to Value, made time.Time) Reason {
	if r.Gone != "" {
		return Reason{Kind: ReasonGone, Text: r.Gone, Hint: r.Hint}
	}
	out := Reason{Kind: ReasonSet, By: r.By, Value: r.Value, Hint: r.Hint}
	switch {
	case r.Value == from && !from.Present:
		out.Kind = ReasonRemovedAgain
	case r.Value == from:
		out.Kind = ReasonSetBack
	case !r.Value.Present:
		out.Kind = ReasonRemoved
	case further(from, to, r.Value):
		out.Kind = ReasonMovedFurther
	}
	// The clocks of the API server and of the bot differ: what seems to come before the change has no "after".
	if after := r.At.Sub(made).Round(time.Second); !r.At.IsZero() && !made.IsZero() && after > 0 {
		out.After = after
	}
	return out
}

// withoutHint is what became of a change without what to do about it.
func (r Reason) withoutHint() Reason {
	r.Hint = ""
	return r
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
