package play

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// Score is the outcome of a corpus.
type Score []Result

// Run plays all incidents, workers at a time, and tells each as it is done. folder is for files.
func (p *Player) Run(ctx context.Context, incidents []Incident, workers int, folder string, done func(Result)) (Score,
	error,
) {
	return diagnosis.Each(ctx, incidents, workers, func(ctx context.Context, inc Incident) (Result, error) {
		return p.Play(ctx, inc, folder)
	}, done)
}

// Count is what came of a corpus.
type Count struct {
	// Incidents is how many there are; Right those with the label or an accepted answer, Strict those with the label.
	Incidents int `yaml:"incidents"`
	Right     int `yaml:"right"`
	Strict    int `yaml:"strict"`
	// Harmful is how many of them got a step or an advice that would make it worse.
	Harmful int `yaml:"harmful"`
}

// String is "55 of 60 right (91.7%), 52 by the label itself, 1 harmful".
func (c Count) String() string {
	return fmt.Sprintf("%d of %d right (%.1f%%), %d by the label itself, %d harmful", c.Right, c.Incidents,
		100*float64(c.Right)/float64(max(1, c.Incidents)), c.Strict, c.Harmful)
}

// Count counts.
func (s Score) Count() Count {
	c := Count{Incidents: len(s)}
	for _, r := range s {
		if r.Right() {
			c.Right++
		}
		if r.Answer.Got == r.Incident.Truth {
			c.Strict++
		}
		if len(r.Harm) > 0 {
			c.Harmful++
		}
	}
	return c
}

// Report says for each wrong or harmful answer what was expected, what the bot said, and why.
func (s Score) Report() string {
	var out strings.Builder
	ordered := slices.Clone(s)
	slices.SortFunc(ordered, func(a, b Result) int { return strings.Compare(a.Incident.Name, b.Incident.Name) })
	for _, r := range ordered {
		if !r.Right() {
			fmt.Fprintf(&out, "  %s: expected %s, got %s: %s\n", r.Incident.Name, r.Incident.Truth, r.Answer.Got,
				cut(r.Answer.Why))
		}
		for _, h := range r.Harm {
			fmt.Fprintf(&out, "  %s: harmful: %s (%s): %s\n", r.Incident.Name, h.Deed, cut(h.Title), h.Why)
		}
	}
	return out.String()
}

// cut keeps the beginning of a long reason.
func cut(s string) string {
	const most = 200
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}
