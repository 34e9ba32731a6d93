package incident

import (
	"fmt"
	"math"
	"strings"
)

// noticeable is the share by which a signal must move before it counts as better or worse. A tenth is above the noise
// of a rate over five minutes of ordinary traffic; the share is taken of the larger of the old value and the threshold,
// so that tiny values do not count.
const noticeable = 0.10

// VerdictOf compares the readings before and after a change. healthy is what the playbook says of the readings after. A
// signal without a value on either side never counts as better or worse.
func VerdictOf(before, after map[string]Reading, signals []string, healthy Truth) (Verdict, string) {
	var better, worse, same, blind, silent []string
	for _, name := range signals {
		b, a := before[name], after[name]
		line := title(a, b, name) + " " + moved(b, a)
		switch direction(b, a) {
		case moveBetter:
			better = append(better, line)
		case moveWorse:
			worse = append(worse, line)
		case moveSame:
			same = append(same, line)
		case moveUnknown:
			blind = append(blind, line)
			if b.HasValue() && !a.HasValue() {
				silent = append(silent, line)
			}
		}
	}
	all := strings.Join(append(append(append(append([]string{}, worse...), better...), same...), blind...), "; ")
	switch {
	case healthy == True && len(silent) > 0:
		return VerdictInconclusive,
			sentence("The signals are within their thresholds, but some went silent: without traffic nothing is proven", all)
	case healthy == True:
		return VerdictRecovered, sentence("All signals are within their thresholds", all)
	case len(better)+len(worse)+len(same) == 0:
		return VerdictInconclusive, sentence("There are no data to compare", all)
	case len(worse) > 0 && len(better) == 0:
		return VerdictWorse, sentence("It got worse", all)
	case len(better) > 0 && len(worse) == 0:
		return VerdictImproved, sentence("It is better, not yet healthy", all)
	case len(better) > 0:
		return VerdictInconclusive, sentence("Some signals are better and some worse", all)
	case len(blind) > 0:
		return VerdictInconclusive, sentence("Nothing moved, and some signals have no data", all)
	default:
		return VerdictUnchanged, sentence("Nothing moved noticeably", all)
	}
}

// moved compares two readings. An arrow is for two values; what is not there is said in words.
func moved(b, a Reading) string {
	switch {
	case b.HasValue() && a.HasValue():
		return b.Text() + " -> " + a.Text()
	case b.missing() && a.missing():
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
	case b.missing():
		before = "had no data before"
	}
	switch {
	case a.Error != "":
		after = "could not be read after (" + a.Error + ")"
	case a.missing():
		after = "has no data after"
	}
	return before + " and " + after
}

// missing says that there was no value and no error.
func (r Reading) missing() bool { return r.Value == nil && r.Error == "" }

func title(a, b Reading, name string) string {
	for _, t := range []string{a.Title, b.Title} {
		if t != "" {
			return t
		}
	}
	return name
}

func sentence(head, all string) string {
	if all == "" {
		return head + "."
	}
	return head + ": " + all + "."
}

type move int

const (
	moveUnknown move = iota
	moveSame
	moveBetter
	moveWorse
)

func direction(b, a Reading) move {
	if !b.HasValue() || !a.HasValue() {
		return moveUnknown
	}
	scale := math.Abs(*b.Value)
	if a.Threshold != nil {
		scale = math.Max(scale, math.Abs(*a.Threshold))
	}
	delta := *a.Value - *b.Value
	if a.Direction == LowerIsWorse {
		delta = -delta
	}
	switch {
	case a.Direction == Neutral || math.Abs(delta) <= noticeable*scale:
		return moveSame
	case delta > 0:
		return moveWorse
	default:
		return moveBetter
	}
}
