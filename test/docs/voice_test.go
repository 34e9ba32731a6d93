package docs

import (
	"maps"
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
