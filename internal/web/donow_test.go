package web_test

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// The page begins with what a person can run, as text that nothing reads as markup.
func TestThePageBeginsWithWhatToRun(t *testing.T) {
	t.Parallel()
	inc := rich()
	inc.State = incident.StateWatching
	inc.Diagnosis.Affected = []incident.AffectedPod{{Pod: "f", Container: "vllm", Node: "gpu-17"}}
	inc.Diagnosis.Compared = []incident.Compared{{Label: "Waiting", Seen: "235", Others: "0"}}
	inc.Cluster.Crashes = []incident.Crash{{Pod: "f", Container: "vllm", ExitCode: 1, Log: []string{"<b>it broke</b>"}}}
	inc.Plan = &incident.Plan{Steps: []incident.Step{{
		Kind: incident.StepManual, State: incident.StepProposed, Title: "Look at it.",
		Commands: []string{"kubectl -n llm logs f", "kubectl -n llm delete pod '</pre><script>'"},
	}}}
	page := show(t, inc)
	mustHold(t, page, "<strong>Do now</strong>: pod f, node gpu-17", "delete", "&#39;&lt;/pre&gt;&lt;script&gt;&#39;",
		"Why pod f:", "(others 0)", "Last log line of pod f (vllm, exit code 1): <code>&lt;b&gt;it broke&lt;/b&gt;</code>")
	mustLack(t, page, "</pre><script>", "<b>it broke")

	inc.Plan.Steps[0].Commands = nil
	mustLack(t, show(t, inc), "Do now")
}
