package docs_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/docs"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Every built-in playbook's runbook is in the program, where the links to it lead.
func TestEveryBuiltInPlaybookHasItsRunbook(t *testing.T) {
	t.Parallel()
	c, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range c.Playbooks() {
		name := docs.RunbookName(p.Doc)
		if text, ok := docs.Runbook(name); !ok || len(text) == 0 {
			t.Errorf("%s: no page for %q", p.Name, p.Doc)
		}
		if got := present.RunbookPath(incident.Cause{Playbook: p.Name, Doc: p.Doc}); got != "/playbooks/"+name {
			t.Errorf("%s: the link leads to %s", p.Name, got)
		}
	}
}

func TestWhatIsNoRunbookIsNotRead(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		"", "high-ttft.md", "docs/high-ttft.md", "docs/playbooks/nope.md", "docs/playbooks/../config.md",
		"docs/playbooks/high-ttft", "https://example.com/docs/playbooks/high-ttft.md",
	} {
		if got := docs.RunbookName(doc); got != "" {
			t.Errorf("%q is the runbook %q", doc, got)
		}
	}
	for _, name := range []string{"", "..", "../config", "nope", "playbooks/high-ttft", `..\config`} {
		if _, ok := docs.Runbook(name); ok {
			t.Errorf("%q is a runbook", name)
		}
	}
}
