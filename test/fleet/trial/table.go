package trial

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"sync"
	"text/tabwriter"
)

// NamedHand is a hand with the name that tables show.
type NamedHand struct {
	Name string
	New  NewHand
}

// Hands are those that need nothing but this package.
func Hands() []NamedHand { return []NamedHand{{"nobody", Nobody}, {"HPA", HPA}} }

// Row is what came of a script under one hand, over all seeds.
type Row struct {
	Script, Hand string
	Plays        []Measure // by seed
}

// Run plays every script under every hand with the seeds 1 to seeds, as many at a time as there are processors. The
// result is in the order of the scripts, and of the hands within each.
func Run(scripts []Script, hands []NamedHand, seeds int, slo SLO) ([]Row, error) {
	rows := make([]Row, 0, len(scripts)*len(hands))
	for _, s := range scripts {
		for _, h := range hands {
			rows = append(rows, Row{Script: s.Name, Hand: h.Name, Plays: make([]Measure, seeds)})
		}
	}
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		first error
		slots = make(chan struct{}, runtime.GOMAXPROCS(0))
	)
	for i := range rows {
		for seed := range seeds {
			slots <- struct{}{}
			wg.Go(func() {
				defer func() { <-slots }()
				m, err := Play(scripts[i/len(hands)], uint64(seed+1), hands[i%len(hands)].New, slo)
				rows[i].Plays[seed] = m
				if err != nil {
					mu.Lock()
					defer mu.Unlock()
					if first == nil {
						first = fmt.Errorf("%s: %w", rows[i].Hand, err)
					}
				}
			})
		}
	}
	wg.Wait()
	return rows, first
}

// Mean is the mean of a part of the measures and the half width of its 95% confidence interval; the latter is NaN for
// one play.
func (r Row) Mean(of func(Measure) float64) (mean, half float64) {
	values := make([]float64, len(r.Plays))
	for i, m := range r.Plays {
		values[i] = of(m)
	}
	return Interval(values)
}

// Interval is the mean of some values and the half width of its 95% confidence interval; the latter is NaN for one
// value, and both are for none.
func Interval(values []float64) (mean, half float64) {
	n := float64(len(values))
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	for _, v := range values {
		mean += v / n
	}
	squares := 0.
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	if n < 2 {
		return mean, math.NaN()
	}
	return mean, student(len(values)-1) * math.Sqrt(squares/(n-1)/n)
}

// student is the 97.5th percentile of Student's t distribution.
func student(degrees int) float64 {
	table := []float64{
		12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13, 2.12, 2.11, 2.10,
		2.09, 2.09, 2.08, 2.07, 2.07, 2.06, 2.06, 2.06, 2.05, 2.05, 2.05, 2.04,
	}
	if degrees <= len(table) {
		return table[degrees-1]
	}
	return 1.96
}

// Write prints the rows as a table.
func Write(w io.Writer, rows []Row) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, err := fmt.Fprintln(t, "script\thand\tSLO violated, min\tlost calls\tof calls\tGPU-minutes\tchanges")
	if err != nil {
		return err
	}
	last := ""
	for _, r := range rows {
		name := r.Script
		if name == last {
			name = ""
		}
		last = r.Script
		calls, _ := r.Mean(func(m Measure) float64 { return m.Calls })
		changes, _ := r.Mean(func(m Measure) float64 { return m.Changes })
		if _, err := fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%.0f\t%s\t%.1f\n", name, r.Hand,
			r.cell(func(m Measure) float64 { return m.Violation }, 1), r.cell(func(m Measure) float64 { return m.Lost }, 0),
			calls, r.cell(func(m Measure) float64 { return m.GPU }, 0), changes); err != nil {
			return err
		}
	}
	return t.Flush()
}

func (r Row) cell(of func(Measure) float64, digits int) string {
	mean, half := r.Mean(of)
	if math.IsNaN(half) || half == 0 {
		return fmt.Sprintf("%.*f", digits, mean)
	}
	return fmt.Sprintf("%.*f ± %.*f", digits, mean, digits, half)
}
