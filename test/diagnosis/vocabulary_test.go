package diagnosis

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// TestEveryDiagnosisIsInTheVocabulary compares the labels with the playbooks: no name is forgotten, none is made up.
func TestEveryDiagnosisIsInTheVocabulary(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var answers []string
	for _, p := range c.Playbooks() {
		for _, d := range p.Diagnoses {
			answers = append(answers, d)
			if !slices.Contains(Labels(), d) {
				t.Errorf("the playbooks answer %s, and the vocabulary doesn't have it", d)
			}
		}
	}
	for _, label := range Labels() {
		if label != None && !slices.Contains(answers, label) {
			t.Errorf("the vocabulary has %s, which no playbook answers", label)
		}
	}
	for _, truth := range Truths() {
		if !slices.Contains(Labels(), truth) {
			t.Errorf("%s may be a truth of the corpus, and the vocabulary doesn't have it", truth)
		}
	}
}

func TestTheVocabularyNamesEachThingOnce(t *testing.T) {
	t.Parallel()
	if !slices.Contains(Deeds(), "throttle") || slices.Contains(Deeds(), "queueing") ||
		slices.Contains(Labels(), "label") {
		t.Errorf("the tables of vocabulary.md are read as %q and %q", Labels(), Deeds())
	}
	seen := map[string]bool{}
	for _, name := range slices.Concat(Labels(), Deeds()) {
		if seen[name] {
			t.Errorf("%s stands there twice", name)
		}
		seen[name] = true
	}
}
