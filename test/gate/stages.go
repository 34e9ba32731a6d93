package gate

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Stage is a part of a run.
type Stage struct {
	Name string
	Took time.Duration
	// Tests ran in it, subtests included, Larger of them were left out for their size, and Again ran once more; all are
	// zero in a stage that has no tests.
	Tests, Larger, Again int
}

// Table shows where the time of a run went, a stage on a line.
func Table(stages []Stage) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	number := func(n int) string {
		if n == 0 {
			return "-"
		}
		return fmt.Sprint(n)
	}
	_, _ = fmt.Fprintln(w, "stage\tseconds\ttests\tskipped by size\trun again\t") // a Builder takes everything
	for _, s := range stages {
		_, _ = fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t\n", s.Name, int(s.Took.Seconds()), number(s.Tests), number(s.Larger),
			number(s.Again))
	}
	_ = w.Flush()
	return out.String()
}
