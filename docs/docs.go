// Package docs holds the runbook pages, so that the bot serves them itself.
package docs

import (
	"embed"
	"path"
	"strings"
)

//go:embed playbooks/*.md
var files embed.FS

// folder is where the runbooks are in the repository.
const folder = "docs/playbooks/"

// Runbook is the page of a playbook as Markdown, by the name of its file without .md; false when there is none.
func Runbook(name string) ([]byte, bool) {
	if strings.ContainsAny(name, "/\\") {
		return nil, false
	}
	text, err := files.ReadFile(path.Join("playbooks", name+".md"))
	return text, err == nil
}

// RunbookName is the name of the page that a playbook names as its document ("docs/playbooks/high-ttft.md"); empty when
// that is not one of these pages.
func RunbookName(doc string) string {
	name, ok := strings.CutSuffix(strings.TrimPrefix(doc, folder), ".md")
	if _, found := Runbook(name); !ok || !found || !strings.HasPrefix(doc, folder) {
		return ""
	}
	return name
}
