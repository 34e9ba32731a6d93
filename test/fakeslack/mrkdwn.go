package fakeslack

import (
	"fmt"
	"html/template"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// renderer turns what apps write into HTML. Everything that came from outside is
// escaped before any tag is put around it, so no text can become markup.
type renderer struct {
	// names gives the readable name of a user, channel or usergroup id.
	names map[string]string
}

// mark brackets the number of a finished piece of HTML inside text that is still being formatted: a character of the
// private use area, which is removed from all that comes from outside.
const mark = "\uE000"

var (
	fence      = regexp.MustCompile("(?s)```\n?(.*?)```")
	inlineCode = regexp.MustCompile("`([^`\n]+)`")
	marked     = regexp.MustCompile(mark + `[0-9]+` + mark)
)

// rendering is one text while it is being rendered.
type rendering struct {
	renderer
	done []string // finished HTML
}

func (r *rendering) keep(html string) string {
	r.done = append(r.done, html)
	return mark + strconv.Itoa(len(r.done)-1) + mark
}

// mrkdwn renders Slack's own markup.
func (r renderer) mrkdwn(s string) template.HTML {
	p := rendering{renderer: r}
	s = p.takeCode(strings.ReplaceAll(s, mark, ""))
	s = token.ReplaceAllStringFunc(s, func(hit string) string { return p.keep(p.token(hit[1 : len(hit)-1])) })
	s = bareLink.ReplaceAllStringFunc(s, func(hit string) string {
		return p.keep(anchor(unescaper.Replace(hit), unescaper.Replace(hit)))
	})
	return p.finish(s)
}

// plain renders text in which nothing is markup.
func (r renderer) plain(s string) template.HTML {
	p := rendering{renderer: r}
	return p.restore(lineBreaks(escape(strings.ReplaceAll(s, mark, ""))))
}

func (r *rendering) takeCode(s string) string {
	s = fence.ReplaceAllStringFunc(s, func(hit string) string {
		return r.keep("<pre>" + escape(readable(fence.FindStringSubmatch(hit)[1])) + "</pre>")
	})
	return inlineCode.ReplaceAllStringFunc(s, func(hit string) string {
		return r.keep("<code>" + escape(readable(strings.Trim(hit, "`"))) + "</code>")
	})
}

// finish escapes what is still text, formats it and puts the kept pieces back.
func (r *rendering) finish(s string) template.HTML {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		quoted := false
		for _, prefix := range []string{"&gt;", ">"} {
			if rest, ok := strings.CutPrefix(line, prefix); ok {
				line, quoted = strings.TrimPrefix(rest, " "), true
				break
			}
		}
		line = escape(unescaper.Replace(line))
		for _, f := range []struct{ marker, tag string }{{"*", "strong"}, {"_", "em"}, {"~", "s"}} {
			line = format(line, f.marker, f.tag)
		}
		if quoted {
			line = r.keep("<blockquote>") + line + r.keep("</blockquote>")
		}
		lines[i] = line
	}
	return r.restore(lineBreaks(strings.Join(lines, "\n")))
}

func (r *rendering) restore(s string) template.HTML {
	out := marked.ReplaceAllStringFunc(s, func(hit string) string {
		n, err := strconv.Atoi(strings.Trim(hit, mark))
		if err != nil || n >= len(r.done) {
			return ""
		}
		return r.done[n]
	})
	return template.HTML(out) //nolint:gosec // built above from escaped text and own tags only
}

func lineBreaks(s string) string { return strings.ReplaceAll(s, "\n", "<br>") }

func escape(s string) string { return template.HTMLEscapeString(s) }

// token renders the inside of <...>.
func (r *rendering) token(inner string) string {
	target, label, labelled := strings.Cut(inner, "|")
	if !labelled {
		label = ""
	}
	label = unescaper.Replace(label)
	switch {
	case strings.HasPrefix(target, "!date^"):
		return escape(label)
	case strings.HasPrefix(target, "!subteam^"):
		return mention("@", r.name(strings.TrimPrefix(target, "!subteam^"), label))
	case strings.HasPrefix(target, "!"):
		return mention("@", r.name(strings.TrimPrefix(target, "!"), label))
	case strings.HasPrefix(target, "@"):
		return mention("@", r.name(target[1:], label))
	case strings.HasPrefix(target, "#"):
		return mention("#", r.name(target[1:], label))
	}
	target = unescaper.Replace(target)
	if label == "" {
		label = target
	}
	return anchor(target, label)
}

func (r *rendering) name(id, label string) string {
	if label != "" {
		return strings.TrimLeft(label, "@#")
	}
	if name, ok := r.names[id]; ok {
		return name
	}
	return id
}

func mention(sigil, name string) string {
	return `<span class="mention">` + sigil + escape(name) + `</span>`
}

// anchor makes a link only of schemes that cannot run anything.
func anchor(target, label string) string {
	u, err := url.Parse(target)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto") {
		return escape(label)
	}
	return fmt.Sprintf(`<a href="%s" target="_blank" rel="noopener noreferrer">%s</a>`, escape(u.String()), escape(label))
}

// format puts a tag around text between two markers that stand at word borders,
// as Slack does: snake_case stays as it is.
func format(s, marker, tag string) string {
	var b strings.Builder
	for {
		open, end := findSpan(s, marker)
		if open < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:open])
		b.WriteString("<" + tag + ">" + s[open+1:end] + "</" + tag + ">")
		s = s[end+1:]
	}
}

// findSpan returns the first pair of markers. What can close a span does not depend on what opened it, so when
// nothing closes the first opening one, nothing closes a later one, and the search stays linear.
func findSpan(s, marker string) (int, int) {
	open := strings.Index(s, marker)
	for open >= 0 && !opens(s, open) {
		open = nextIndex(s, marker, open+1)
	}
	if open < 0 {
		return -1, -1
	}
	for end := nextIndex(s, marker, open+2); end >= 0; end = nextIndex(s, marker, end+1) {
		if closes(s, end) {
			return open, end
		}
	}
	return -1, -1
}

func opens(s string, at int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:at])
	after, n := utf8.DecodeRuneInString(s[at+1:])
	return (at == 0 || !wordRune(before)) && n > 0 && !unicode.IsSpace(after)
}

func closes(s string, at int) bool {
	last, _ := utf8.DecodeLastRuneInString(s[:at])
	next, n := utf8.DecodeRuneInString(s[at+1:])
	return !unicode.IsSpace(last) && (n == 0 || !wordRune(next))
}

func nextIndex(s, marker string, from int) int {
	if from >= len(s) {
		return -1
	}
	i := strings.Index(s[from:], marker)
	if i < 0 {
		return -1
	}
	return from + i
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
