package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// The kinds of marks beside eventAlert; each has a color and a dash of its own, and a number.
const (
	markAsked    = "asked"
	markApproved = "approved"
	markLive     = "change"
	markUndone   = "undone"
	markOther    = "other"
)

// mostMarks bounds the events that charts show; the timeline has all. mostOthers bounds those that the bot did not
// make.
const (
	mostMarks  = 40
	mostOthers = 8
)

// happened is an event that charts show.
type happened struct {
	At   time.Time
	Kind string
	Text string
}

// mark is something that happened while the line was drawn. The same may happen twice.
type mark struct {
	happened

	X float64
}

// markLabel has the number of a mark, or of several that are close together: "2–4". X is its middle, in percent of
// the width.
type markLabel struct{ X, Text string }

// legend is a mark of the charts in words.
type legend struct {
	Kind, Text string
	Number     int
	At         *moment
}

// marks are the events that charts show, the oldest first.
func marks(inc incident.Incident) []happened {
	out := []happened{{inc.OpenedAt, eventAlert, "first alert"}}
	made := slices.DeleteFunc(slices.Clone(present.History(inc)), func(m incident.Made) bool { return m.DryRun })
	add := func(at time.Time, kind, text string) {
		e := happened{at, kind, text}
		if !at.IsZero() && len(out) < mostMarks && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	for _, m := range made {
		change := present.ChangeMade(m)
		add(m.AskedAt, markAsked, "asked: "+change)
		add(m.DecidedAt, markApproved, "approved: "+change)
		if m.LiveAt.IsZero() {
			add(m.AppliedAt, markLive, "applied: "+change)
		}
		add(m.LiveAt, markLive, "live: "+change)
		what := "rolled back to "
		if m.Lifted() {
			what = "reverted as planned to "
		}
		add(m.UndoneAt, markUndone, what+present.ValueText(m.Undo))
	}
	others := 0
	for _, c := range inc.Cluster.Changes {
		if !c.Own && others < mostOthers {
			add(c.At, markOther, changeText(c))
			others++
		}
	}
	slices.SortStableFunc(out, func(a, b happened) int { return a.At.Compare(b.At) })
	return out
}

// numbered gives the marks of the charts their numbers, the same in all of them, and says once what each is. Events are
// in the order of time.
func (f frame) numbered(charts []chart, events []happened) []legend {
	var out []legend
	number := map[happened]int{}
	for _, e := range events {
		is := func(m mark) bool { return m.happened == e }
		if !slices.ContainsFunc(charts, func(c chart) bool { return slices.ContainsFunc(c.Marks, is) }) {
			continue
		}
		number[e] = len(out) + 1
		out = append(out, legend{e.Kind, present.Capital(e.Text), len(out) + 1, f.at(e.At, charts[0].layout)})
	}
	for n := range charts {
		c := &charts[n]
		numbers := make([]int, len(c.Marks))
		for i, m := range c.Marks {
			numbers[i] = number[m.happened]
		}
		c.Labels = labeled(c.Marks, numbers)
	}
	return out
}

// What a label needs, in pixels: of a digit, around the digits, and of the narrowest chart that there is, on a phone.
const (
	labelDigit   = 7.0
	labelAround  = 5.0
	chartOnPhone = 300.0
)

// labeled are the labels of marks in the order of time, none of which covers another one on a phone: those that would
// are one label.
func labeled(marks []mark, numbers []int) []markLabel {
	type group struct {
		from, to    int // numbers
		left, right float64
	}
	text := func(g group) string {
		if g.from == g.to {
			return strconv.Itoa(g.from)
		}
		return fmt.Sprintf("%d–%d", g.from, g.to)
	}
	middle := func(g group) float64 { // the label stays above the chart
		half := (labelAround + labelDigit*float64(len([]rune(text(g))))) / 2
		return min(max((g.left+g.right)/2, half), chartOnPhone-half)
	}
	edges := func(g group) (left, right float64) {
		half := (labelAround + labelDigit*float64(len([]rune(text(g))))) / 2
		return middle(g) - half, middle(g) + half
	}
	var groups []group
	for n, m := range marks {
		x := m.X / chartWidth * chartOnPhone
		groups = append(groups, group{numbers[n], numbers[n], x, x})
		for len(groups) > 1 {
			last, before := groups[len(groups)-1], groups[len(groups)-2]
			left, _ := edges(last)
			if _, right := edges(before); left >= right {
				break
			}
			groups = groups[:len(groups)-1]
			groups[len(groups)-1] = group{before.from, last.to, before.left, last.right}
		}
	}
	out := make([]markLabel, 0, len(groups))
	for _, g := range groups {
		out = append(out, markLabel{strconv.FormatFloat(math.Round(middle(g)/chartOnPhone*1000)/10, 'f', -1, 64), text(g)})
	}
	return out
}

// at is a time on an axis or in its legend.
func (f frame) at(t time.Time, layout string) *moment {
	m := f.When(t)
	if m != nil && layout != "" {
		m.Clock = t.UTC().Format(layout)
	}
	return m
}
