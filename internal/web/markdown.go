package web

import (
	"bytes"
	"fmt"
	"html/template"
	"net/url"
	"path"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// markdown renders our own documents. HTML in them is left out, as goldmark does unless it is told otherwise.
var markdown = goldmark.New(
	goldmark.WithExtensions(extension.Table), goldmark.WithParserOptions(parser.WithAutoHeadingID()))

// rendered is a document of the folder docs/playbooks as HTML. An image is its text, because no page loads one. known
// says whether a runbook has a page here; other documents are below the address docs, and without one they lead to the
// list of playbooks.
func rendered(source []byte, known func(name string) bool, docs string) (template.HTML, error) {
	doc := markdown.Parser().Parse(text.NewReader(source))
	var images []ast.Node
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = []byte(destination(string(n.Destination), known, docs))
			}
		case *ast.Image:
			if !entering { // the inner ones first
				images = append(images, n)
			}
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return "", fmt.Errorf("the document could not be read: %w", err)
	}
	for _, image := range images {
		for child := image.FirstChild(); child != nil; child = image.FirstChild() {
			image.Parent().InsertBefore(image.Parent(), image, child)
		}
		image.Parent().RemoveChild(image.Parent(), image)
	}
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, source, doc); err != nil {
		return "", fmt.Errorf("the document could not be rendered: %w", err)
	}
	return template.HTML(b.String()), nil //nolint:gosec // our own document, with foreign HTML left out
}

// destination is where a link of a document leads on these pages.
func destination(to string, known func(name string) bool, docs string) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Path == "" { // another site, or a place on the same page
		return to
	}
	fragment := ""
	if u.Fragment != "" {
		fragment = "#" + u.Fragment
	}
	if name, ok := strings.CutSuffix(u.Path, ".md"); ok && known(name) {
		return "/playbooks/" + url.PathEscape(name) + fragment
	}
	if docs == "" {
		return "/playbooks"
	}
	return strings.TrimRight(docs, "/") + "/" + path.Join("docs/playbooks", u.Path) + fragment
}
