package docs

import (
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	block   = regexp.MustCompile("(?sm)^\\s*```.*?^\\s*```\\s*$")
	code    = regexp.MustCompile("`[^`\n]*`")
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// links are the addresses that a page leads to; what is code leads nowhere.
func links(page string) []string {
	var out []string
	for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(block.ReplaceAllString(page, ""), ""), -1) {
		out = append(out, m[1])
	}
	return out
}

// anchors are the names that GitHub gives the headings of a page.
func anchors(page string) []string {
	var out []string
	for _, m := range heading.FindAllStringSubmatch(block.ReplaceAllString(page, ""), -1) {
		name := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, linked.ReplaceAllString(m[1], "$1"))
		same := 0
		for n := name; slices.Contains(out, n); {
			same++
			n = fmt.Sprintf("%s-%d", name, same)
		}
		if same > 0 {
			name = fmt.Sprintf("%s-%d", name, same)
		}
		out = append(out, name)
	}
	return out
}

// lost says where a link of a page leads nowhere; empty when it leads somewhere.
func lost(documents map[string]string, from, to string) string {
	if strings.Contains(to, "://") || strings.HasPrefix(to, "mailto:") {
		return ""
	}
	file, anchor, named := strings.Cut(to, "#")
	target := from
	if file != "" {
		target = path.Join(path.Dir(from), file)
		if _, err := os.Stat(filepath.Join("..", "..", target)); err != nil {
			return "there is no " + target
		}
	}
	if page, document := documents[target]; named && (!document || !slices.Contains(anchors(page), anchor)) {
		return target + " has no heading #" + anchor
	}
	return ""
}

func TestEveryLinkLeadsSomewhere(t *testing.T) {
	t.Parallel()
	documents := pages(t)
	checked := 0
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		for _, to := range links(documents[name]) {
			checked++
			if why := lost(documents, name, to); why != "" {
				t.Errorf("%s: the link to %s leads nowhere: %s", name, to, why)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d links were found", checked)
	}
}

func TestALinkThatLeadsNowhereIsFound(t *testing.T) {
	t.Parallel()
	documents := map[string]string{
		"docs/cli.md": "# The command line\n\n## `check --live`\n\n## Two [words](config.md)\n\n## Again\n\n## Again\n\n" +
			"```sh\n## no heading\n[no](link.md)\n```\n\n`[no](code.md)` [one](config.md) ![two](#again)\n",
	}
	if got, want := strings.Join(anchors(documents["docs/cli.md"]), " "),
		"the-command-line check---live two-words again again-1"; got != want {
		t.Errorf("anchors %s, want %s", got, want)
	}
	if got := strings.Join(links(documents["docs/cli.md"]), " "); got != "config.md config.md #again" {
		t.Errorf("links %s", got)
	}
	for to, found := range map[string]bool{
		"#again-1": true, "#check---live": true, "cli.md#again": true, "../docs/cli.md": true, "../README.md": true,
		"https://example.com/nothing": true, "actions/": true,
		"#no-heading": false, "#Again": false, "nothing.md": false, "cli.md#nothing": false, "../cli.md": false,
		"actions/#again": false,
	} {
		if why := lost(documents, "docs/cli.md", to); (why == "") != found {
			t.Errorf("%s: %q", to, why)
		}
	}
}
