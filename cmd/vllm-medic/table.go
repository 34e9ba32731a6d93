package main

import (
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// table is rows of cells, of which the first are titles.
type table struct {
	rows [][]string
	// clip are the columns that are cut when a line would be too wide, the first one first, down to leastCell.
	clip []int
	// own is a column whose cells are never cut: a cell that is too long for it has a line with the last cell of its row,
	// and the rest of the row is below it; -1: there is none.
	own int
	// tones are the colors of the first cell of each row; nil: none.
	tones []tone
}

const (
	leastCell = 12
	cellGap   = 2
)

// print writes the table so that no line is wider than columns.
func (t table) print(w io.Writer) {
	widths := t.widths()
	for n, row := range t.rows {
		line := ""
		for c := range row {
			text := row[c]
			if c == t.own && utf8.RuneCountInString(text) > widths[c] {
				last := len(row) - 1
				t.line(w, n, widths[0], line+text+"  "+row[last])
				row = append(slices.Clone(row[:last]), "")
				line = strings.Repeat(" ", utf8.RuneCountInString(line)+widths[c]+cellGap)
				continue
			}
			text = clipped(text, widths[c])
			line += text + strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text)+cellGap)
		}
		t.line(w, n, widths[0], line)
	}
}

// line writes one line, whose first cell has the color of its row.
func (t table) line(w io.Writer, row, first int, line string) {
	line = strings.TrimRight(line, " ")
	if row >= len(t.tones) || utf8.RuneCountInString(line) <= first || strings.HasPrefix(line, " ") {
		say(w, "%s\n", line)
		return
	}
	cut := len(string([]rune(line)[:first]))
	tint(w, t.tones[row], line[:cut])
	say(w, "%s\n", line[cut:])
}

// widths are those of the columns.
func (t table) widths() []int {
	out := make([]int, len(t.rows[0]))
	total := 0
	for c := range out {
		for _, row := range t.rows {
			out[c] = max(out[c], utf8.RuneCountInString(row[c]))
		}
		total += out[c] + cellGap
	}
	total -= cellGap
	least := func(c int) int { return min(out[c], max(leastCell, utf8.RuneCountInString(t.rows[0][c]))) }
	for _, c := range t.clip {
		if total > columns {
			by := min(total-columns, out[c]-least(c))
			out[c], total = out[c]-by, total-by
		}
	}
	if t.own >= 0 && total > columns {
		out[t.own] = max(least(t.own), out[t.own]-(total-columns))
	}
	return out
}

// clipped cuts a text to a width.
func clipped(text string, width int) string {
	if r := []rune(text); len(r) > width {
		return string(r[:width-1]) + "…"
	}
	return text
}
