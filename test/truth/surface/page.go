package surface

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/net/html"

	"github.com/vllm-medic/vllm-medic/test/truth"
)

// errNoIncident says that a page is about no incident.
var errNoIncident = errors.New("the page has no summary of an incident")

// Page is what somebody reads on the page of an incident. It fails for a page that is about something else.
func Page(text string) (truth.Version, error) {
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return truth.Version{}, fmt.Errorf("read a page: %w", err)
	}
	r := &reader{}
	r.walk(root)
	r.flush()
	if r.level == "" || r.head == "" {
		return truth.Version{}, errNoIncident
	}
	lines := append([]string{signOf(r.level) + " " + r.head}, r.lines...)
	return truth.Version{
		Text: strings.Join(lines, "\n"), Past: strings.Join(r.past, "\n"), Buttons: r.buttons,
	}, nil
}

// signOf is the sign that a message has for how bad it is, which a page says by color.
func signOf(level string) string {
	return map[string]string{
		"critical": "🔴", "warning": "🟠", "healthy": "🟢", "resolved": "✅", "ended": "⚪",
	}[level]
}

// reader collects the lines of a page.
type reader struct {
	head, level string
	lines, past []string
	buttons     []truth.Button
	// title is the heading above what is read; cause says that the next paragraph is the cause.
	title string
	cause string
	// asked is the question, and what the last paragraph of the question: the words before a command.
	asked, what string
	line        strings.Builder
}

// The parts of a page that nobody reads as what it says now.
var unread = map[string]bool{
	"head": true, "script": true, "style": true, "svg": true, "header": true, "footer": true, "form": true,
}

// blocks are the elements that begin a line.
var blocks = map[string]bool{
	"p": true, "li": true, "h2": true, "h3": true, "figcaption": true, "summary": true, "pre": true,
	"section": true, "details": true, "div": true, "dl": true, "ul": true, "ol": true,
}

func (r *reader) walk(n *html.Node) {
	if n.Type == html.TextNode {
		r.line.WriteString(n.Data)
		return
	}
	switch class := attribute(n, "class"); {
	case unread[n.Data]:
		return
	case n.Data == "h1":
		r.head = text(n)
		return
	case n.Data == "table":
		r.flush()
		r.table(n)
		return
	case n.Data == "ol" && class == "timeline":
		for c := range n.ChildNodes() {
			r.past = append(r.past, text(c))
		}
		return
	case n.Data == "section" && attribute(n, "aria-label") == "Decision":
		r.decision(n)
		return
	case n.Data == "section" && r.title == "Changes made":
		r.change(n)
		return
	case n.Data == "section" && attribute(n, "aria-label") == "Summary":
		_, r.level, _ = strings.Cut(class, "level-")
	case n.Data == "h2":
		r.flush()
		r.title = text(n)
		if r.title == "Why" || r.title == "Last diagnosis" {
			r.cause = r.title + ": "
		}
		return
	case n.Data == "dt":
		r.flush()
	case n.Data == "dd" && r.line.Len() > 0: // in the line of its name
		r.line.WriteString(": ")
	}
	if blocks[n.Data] {
		r.flush()
		if n.Data == "p" {
			r.line.WriteString(r.cause)
			r.cause = ""
		}
	}
	for c := range n.ChildNodes() {
		r.walk(c)
	}
	if blocks[n.Data] || n.Data == "dd" {
		r.flush()
	}
}

// table adds the lines of a table. A verdict in the line above is said of each number before and after.
func (r *reader) table(n *html.Node) {
	verdict := ""
	if at := len(r.lines) - 1; at >= 0 && strings.HasPrefix(r.lines[at], "Worse.") {
		verdict = ", worse"
	}
	for _, one := range rows(n) {
		if strings.Contains(one, " → ") {
			one += verdict
		}
		r.lines = append(r.lines, one)
	}
}

// flush ends a line.
func (r *reader) flush() {
	if words := spaced(r.line.String()); words != "" {
		r.lines = append(r.lines, limitsApart(words))
	}
	r.line.Reset()
}

// change is one that was made: what and when are one line. The verdict stands above the numbers, and is said of each.
func (r *reader) change(n *html.Node) {
	var about, numbers []string
	verdict := ""
	for c := range n.ChildNodes() {
		switch c.Data {
		case "p":
			about = append(about, text(c))
		case "table":
			numbers = append(numbers, rows(c)...)
		}
		for d := range c.Descendants() {
			if attribute(d, "class") == "tag" && verdict == "" {
				verdict = text(d)
			}
		}
	}
	r.lines = append(r.lines, strings.Join(about, " · "))
	for _, one := range numbers {
		r.lines = append(r.lines, one+", "+strings.ToLower(verdict))
	}
}

// decision is the question with the commands that answer it, which are the buttons of a page.
func (r *reader) decision(n *html.Node) {
	for c := range n.ChildNodes() {
		switch {
		case c.Data == "p" && attribute(c, "class") == "question":
			r.asked = text(c)
			r.lines = append(r.lines, r.asked)
		case c.Data == "p":
			r.what = strings.TrimSuffix(text(c), ":")
			if attribute(c, "class") != "small" {
				r.lines = append(r.lines, r.what)
			}
		case c.Data == "pre":
			r.buttons = append(r.buttons, button(r.asked, r.what, text(c), len(r.buttons) == 0))
		}
	}
}

var (
	verb = regexp.MustCompile(`\bincidents (\w+) `)
	long = regexp.MustCompile(`^(?:Dry run: |Dry-run )*(\w+)\b.* from ([\d,]+) to ([\d,]+)`)
)

// button is a command as the button that does the same.
func button(question, what, line string, first bool) truth.Button {
	b := truth.Button{Text: strings.TrimPrefix(what, "Instead: ")}
	if m := verb.FindStringSubmatch(line); m != nil {
		b.Action = m[1]
	}
	if b.Action == "approve" && what == "Approve" {
		b.Text = question
		if m := long.FindStringSubmatch(question); m != nil {
			b.Text = m[1] + " " + m[2] + " → " + m[3]
		}
	}
	if b.Action == "approve" && first {
		b.Style = "primary"
	}
	return b
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// text is all that can be read of an element, in one line.
func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && !unreadIn(d, n) {
			b.WriteString(d.Data)
		}
	}
	return spaced(b.String())
}

// unreadIn says that a text is inside of what nobody reads.
func unreadIn(n, within *html.Node) bool {
	for p := n.Parent; p != nil && p != within; p = p.Parent {
		if unread[p.Data] {
			return true
		}
	}
	return false
}

func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

var bareLimit = regexp.MustCompile(`^([A-Z][^()]*? [\d.,]+ ?(?:ms|s|min|h|%|/s)?) ((?:limit|target) [^()]*)$`)

// limitsApart puts brackets around a limit that stands apart by its look only, as below a chart.
func limitsApart(line string) string { return bareLimit.ReplaceAllString(line, "$1 ($2)") }
