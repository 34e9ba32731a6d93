package app_test

import (
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/openapi"
)

// Each route of each listener is in the document, and the document has no other.
func TestTheDocumentHasEveryRoute(t *testing.T) {
	t.Parallel()
	o := inSlack(options(t), fakeslack.Start(t, fakeslack.Options{}), false)
	o.Config.Listen.Slack = "127.0.0.1:0"
	doc, err := openapi.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parameter := regexp.MustCompile(`\{(\w+)\}`)
	var want []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" "+parameter.ReplaceAllString(path, ":$1"))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, run(t, o).Routes()); diff != "" {
		t.Errorf("docs/openapi.yaml and the listeners differ (-document +listeners):\n%s", diff)
	}
}

// docs/api.md lists the same routes.
func TestThePageOfTheAPIHasEveryRoute(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for path, item := range doc.Paths.Map() {
		for method := range item.Operations() {
			want = append(want, method+" "+path)
		}
	}
	for _, m := range regexp.MustCompile("`((?:GET|POST) /[^`]*)`").FindAllStringSubmatch(string(page), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("docs/api.md and docs/openapi.yaml differ (-openapi.yaml +api.md):\n%s", diff)
	}
}
