package diagnosis

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Result is one incident with the bot's answer.
type Result struct {
	Incident Incident
	Answer   Answer
}

// Right says whether the answer is the label or one that is accepted for it.
func (r Result) Right() bool {
	_, accepted := r.Incident.Accept[r.Answer.Got]
	return accepted || r.Answer.Got == r.Incident.Truth
}

// Score is the outcome of a whole corpus.
type Score []Result

// Run replays all incidents, workers at a time, and tells each as it is done. folder is for files.
func (r *Replayer) Run(ctx context.Context, incidents []Incident, workers int, folder string, done func(Result)) (Score,
	error,
) {
	return Each(ctx, incidents, workers, func(ctx context.Context, inc Incident) (Result, error) {
		a, err := r.Replay(ctx, inc, folder)
		return Result{inc, a}, err
	}, done)
}

// Each does something for all incidents, workers at a time, and tells each result as it is there. The results are in
// the order of the incidents. The first error ends it.
func Each[I, R any](ctx context.Context, incidents []I, workers int, do func(context.Context, I) (R, error),
	done func(R),
) ([]R, error) {
	type outcome struct {
		i   int
		res R
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, out := make(chan int), make(chan outcome)
	for range max(1, workers) {
		go func() {
			for i := range jobs {
				res, err := do(ctx, incidents[i])
				out <- outcome{i, res, err}
			}
		}()
	}
	go func() {
		defer close(jobs)
		for i := range incidents {
			jobs <- i
		}
	}()
	results := make([]R, len(incidents))
	var first error
	for range incidents {
		o := <-out
		results[o.i] = o.res
		if first == nil {
			first = o.err
		}
		if o.err == nil && done != nil {
			done(o.res)
		}
		if o.err != nil {
			cancel() // the others end soon; their errors say nothing new
		}
	}
	return results, first
}

// Accuracy is the number of right answers and of all.
func (s Score) Accuracy() (right, all int) {
	for _, r := range s {
		if r.Right() {
			right++
		}
	}
	return right, len(s)
}

// Lenient counts the answers that are right only because another one than the label is accepted.
func (s Score) Lenient() int {
	n := 0
	for _, r := range s {
		if r.Right() && r.Answer.Got != r.Incident.Truth {
			n++
		}
	}
	return n
}

// summary is the accuracy in one line, the strict one too.
func (s Score) summary() string {
	right, all := s.Accuracy()
	share := func(n int) float64 { return 100 * float64(n) / float64(max(1, all)) }
	strict := right - s.Lenient()
	return fmt.Sprintf("%d of %d right, %.1f%%; without the accepted other answers %d, %.1f%%", right, all, share(right),
		strict, share(strict))
}

// Misses are the wrong answers, by the incident's name.
func (s Score) Misses() []Result {
	out := slices.DeleteFunc(slices.Clone(s), Result.Right)
	slices.SortFunc(out, func(a, b Result) int { return strings.Compare(a.Incident.Name, b.Incident.Name) })
	return out
}

// Report prints the confusion, the misses, and the accuracy overall and by dialect.
func (s Score) Report(w io.Writer) error {
	confused, err := s.confusion()
	if err != nil {
		return err
	}
	dialects, err := s.byDialect()
	if err != nil {
		return err
	}
	var out strings.Builder
	out.WriteString(confused)
	misses := s.Misses()
	if len(misses) > 0 {
		fmt.Fprintf(&out, "\n%d wrong:\n", len(misses))
	}
	for _, r := range misses {
		fmt.Fprintf(&out, "  %s: expected %s, got %s: %s\n", r.Incident.Name, r.Incident.Truth, r.Answer.Got,
			cut(r.Answer.Why, 160))
	}
	fmt.Fprintf(&out, "\n%s\n", dialects)
	// The incidents that the rules were fitted to say less than those that they were not.
	if held := slices.DeleteFunc(slices.Clone(s), func(r Result) bool { return !r.Incident.heldOut() }); len(held) > 0 &&
		len(held) < len(s) {
		fmt.Fprintf(&out, "held out: %s\n", held.summary())
	}
	fmt.Fprintf(&out, "all:      %s\n", s.summary())
	_, err = io.WriteString(w, out.String())
	return err
}

func cut(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}

// confusion is a table with a row for each truth and a column for each wrong answer; an accepted answer counts as the
// truth.
func (s Score) confusion() (string, error) {
	count, columns, totals := map[string]map[string]int{}, map[string]bool{}, map[string]int{}
	for _, r := range s {
		truth, got := r.Incident.Truth, r.Answer.Got
		if r.Right() {
			got = truth
		}
		if count[truth] == nil {
			count[truth] = map[string]int{}
		}
		count[truth][got]++
		totals[truth]++
		if got != truth {
			columns[got] = true
		}
	}
	heads := slices.Sorted(maps.Keys(columns))
	table := [][]string{slices.Concat([]string{"truth \\ answer", "right"}, heads, []string{"all"})}
	for _, truth := range slices.Sorted(maps.Keys(totals)) {
		row := []string{truth, fmt.Sprint(count[truth][truth])}
		for _, got := range heads {
			cell := "."
			if n := count[truth][got]; n > 0 && got != truth {
				cell = fmt.Sprint(n)
			}
			row = append(row, cell)
		}
		table = append(table, append(row, fmt.Sprint(totals[truth])))
	}
	return Aligned(table, true)
}

// heldOut says that nothing has been changed because of the answer to this incident: corpus/heldout.yaml.
func (inc Incident) heldOut() bool { return strings.HasPrefix(inc.Name, "heldout-") }

func (s Score) byDialect() (string, error) {
	var table [][]string
	for _, d := range Dialects() {
		own := slices.DeleteFunc(slices.Clone(s), func(r Result) bool { return r.Incident.Dialect != d })
		if right, all := own.Accuracy(); all > 0 {
			table = append(table,
				[]string{d, fmt.Sprintf("%d of %d", right, all), fmt.Sprintf("%.0f%%", 100*float64(right)/float64(all))})
		}
	}
	return Aligned(table, false)
}
