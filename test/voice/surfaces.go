package voice

import (
	"html"
	"regexp"
	"strings"
)

// typed is what a terminal shows because it is what a person types there: the ids of steps, whole commands, and the
// query that an alert's rule should have.
var typed = regexp.MustCompile(`(?m)\bp\d+-s\d+\b|vllm-medic incidents .*$|^ +use instead: .*$`)

// Terminal is Message for what a command prints for people.
func Terminal(text string, internal ...string) []Finding {
	return Message(typed.ReplaceAllString(text, ""), internal...)
}

// Elements of a page that show a query, a diff, a log or an id on purpose. The banner is a sentence, although a <pre>.
var (
	quoted = regexp.MustCompile(`(?s)<style>.*?</style>|<code>.*?</code>|<pre(?: class="copy")?>.*?</pre>|` +
		`<span class="soft id">.*?</span>`)
	tag = regexp.MustCompile(`(?s)<[^>]*>`)
)

// Page is Message for an HTML page, as a person sees it. Lines are those of the page.
func Page(page string, internal ...string) []Finding {
	blank := func(element string) string { return " " + strings.Repeat("\n", strings.Count(element, "\n")) }
	text := tag.ReplaceAllStringFunc(quoted.ReplaceAllStringFunc(page, blank), blank)
	return Message(html.UnescapeString(text), internal...)
}
