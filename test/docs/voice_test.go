package docs

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/voice"
)

// The documents keep to the words that messages, pages and the terminal keep to.
func TestDocumentsKeepToTheVoice(t *testing.T) {
	t.Parallel()
	documents := pages(t)
	delete(documents, "CHANGELOG.md") // it quotes the words of earlier versions
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		voice.Check(t, name, voice.Prose(documents[name]))
	}
}

// So does what people deploy, what playbooks say, and what an editor shows while someone writes a configuration.
func TestWhatIsShippedKeepsToTheVoice(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"deploy/*/*.y*ml", "deploy/prometheus/rules/*.yaml", "playbooks/catalog/*.yaml", "playbooks/catalog/tests/*.yaml",
		"docs/*.schema.json", "test/diagnosis/README.md", "test/fleet/README.md",
	} {
		found, err := filepath.Glob(filepath.Join("..", "..", pattern))
		if err != nil || len(found) == 0 {
			t.Fatalf("%s matches %d files, %v", pattern, len(found), err)
		}
		for _, path := range found {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			voice.Check(t, path, voice.Prose(string(b)))
		}
	}
}
