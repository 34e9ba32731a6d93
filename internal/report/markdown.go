package report

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Markdown is the report for a wiki, an issue or a canvas: with tables that are aligned, so that it can be read as it
// is, too.
func (r Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s. Made %s.\n", escape(r.Title()), r.Span(), r.At.UTC().Format("2006-01-02 15:04 UTC"))
	for _, s := range r.Sections() {
		if s.ID != "summary" {
			fmt.Fprintf(&b, "\n## %s\n", escape(s.Title))
		}
		for _, text := range s.Text {
			fmt.Fprintf(&b, "\n%s\n", escape(text))
		}
		if len(s.List) > 0 {
			b.WriteString("\n")
		}
		for _, item := range s.List {
			fmt.Fprintf(&b, "- %s\n", escape(item))
		}
		if s.Table != nil {
			s.Table.markdown(&b)
		}
		for _, note := range s.Notes {
			fmt.Fprintf(&b, "\n%s\n", escape(note))
		}
	}
	return b.String()
}

func (t Table) markdown(b *strings.Builder) {
	if len(t.Rows) == 0 {
		return
	}
	head := make([]string, len(t.Columns))
	width := make([]int, len(t.Columns))
	for n, c := range t.Columns {
		head[n] = escape(c.Name)
		width[n] = max(3, utf8.RuneCountInString(head[n]))
	}
	rows := make([][]string, len(t.Rows))
	for i, row := range t.Rows {
		for n, cell := range row {
			text := escape(cell)
			rows[i] = append(rows[i], text)
			width[n] = max(width[n], utf8.RuneCountInString(text))
		}
	}
	line := func(cells []string) {
		for n, cell := range cells {
			b.WriteString("| " + cell + strings.Repeat(" ", width[n]-utf8.RuneCountInString(cell)) + " ")
		}
		b.WriteString("|\n")
	}
	b.WriteString("\n")
	line(head)
	rule := make([]string, len(head))
	for n := range rule {
		rule[n] = strings.Repeat("-", width[n])
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	if t.Left > 0 {
		fmt.Fprintf(b, "\n%s\n", t.More())
	}
}

// More says how many rows were left out; empty when none were.
func (t Table) More() string {
	if t.Left == 0 {
		return ""
	}
	return fmt.Sprintf("%d more in JSON.", t.Left)
}

// special are the characters by which a text from outside could become markup, a link, a mention or a column.
var special = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "[", `\[`, "]", `\]`, "<", "&lt;", "&", "&amp;",
	"@", "&#64;", "#", "&#35;",
)

// escape lets a text stand in Markdown as it is.
func escape(text string) string { return special.Replace(text) }
