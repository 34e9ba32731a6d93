package scenarios

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

// testscript has commands of its own that end a script early and let it pass; they come before ours of the same name.
// A journey that used one would seem to test what stands below it.
func TestNoJourneyEndsEarly(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d journeys: %v", len(files), err)
	}
	for _, path := range files {
		journey, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(journey.Comment), "\n") {
			for word := range strings.FieldsSeq(line) {
				if strings.HasPrefix(word, "#") {
					break
				}
				if word == "stop" || word == "skip" {
					t.Errorf("%s:%d: %q ends the journey here; sigterm ends the bot", path, n+1, word)
				}
				if !strings.HasPrefix(word, "!") && !strings.HasPrefix(word, "[") {
					break
				}
			}
		}
	}
}
