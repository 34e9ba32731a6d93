package diagnosis

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Aligned lays rows out in columns; right aligns them to the right.
func Aligned(rows [][]string, right bool) (string, error) {
	var out strings.Builder
	flags := uint(0)
	if right {
		flags = tabwriter.AlignRight
	}
	tw := tabwriter.NewWriter(&out, 0, 0, 2, ' ', flags)
	for _, row := range rows {
		if _, err := tw.Write([]byte(strings.Join(row, "\t") + "\t\n")); err != nil {
			return "", fmt.Errorf("lay out a table: %w", err)
		}
	}
	if err := tw.Flush(); err != nil {
		return "", fmt.Errorf("lay out a table: %w", err)
	}
	// The last column has nothing to its right.
	lines := strings.Split(out.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
	}
	return strings.Join(lines, "\n"), nil
}
