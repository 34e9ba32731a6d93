package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the tables of troubleshooting quote in their first column is what people search for: it has to be what a message
// says. The words are compared without case, in the messages that tests have rendered and in the sentences themselves.
func TestQuotedMessagesAreWhatMessagesSay(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	for _, dir := range []string{"test/messages/testdata", "notify/slack", "internal/present", "internal/policy"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(path, ".png") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			said.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	all := strings.ToLower(said.String())
	quoted := regexp.MustCompile(`(?m)^\| "([^"]+)"`)
	for _, page := range []string{"docs/faq.md", "docs/operations.md"} {
		found := quoted.FindAllStringSubmatch(read(t, page), -1)
		if len(found) < 4 {
			t.Errorf("%s quotes %d messages only", page, len(found))
		}
		for _, m := range found {
			if !strings.Contains(all, strings.ToLower(m[1])) {
				t.Errorf("%s quotes %q, which nothing says", page, m[1])
			}
		}
	}
}
