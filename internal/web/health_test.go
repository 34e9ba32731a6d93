package web_test

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/web"
)

const markup = `"><script>alert(1)</script><img src=x onerror=alert(2)>` + "\u202e"

// hostileReport is a report in which everything that others wrote is markup, and holds what must not be seen.
func hostileReport(secrets ...string) web.HealthReport {
	text := markup + strings.Join(secrets, " ")
	inc := incident.New("", "llm/llama", incident.ModeDryRun, true, time.Unix(0, 0))
	inc.Note = text
	inc.Readings = map[string]incident.Reading{
		"ttft_p95": {Short: "TTFT p95", Error: text}, "other": {Title: text, Value: new(1.0), Threshold: new(0.5)},
	}
	inc.Diagnosis = &incident.Diagnosis{
		Name: "queueing", Summary: "Requests queue. " + text,
		Evidence: []incident.Condition{{Truth: incident.True, Signal: "ttft_p95", Label: text, Seen: text, Threshold: text}},
		Never:    []incident.Never{{Change: "restart", Knob: "pods", Why: text}}, Skipped: []string{text},
	}
	inc.Plan = &incident.Plan{Steps: []incident.Step{{
		Kind: incident.StepManual, Title: text, Why: text,
		Commands: []string{"kubectl -n llm logs llama-0", `echo "><script>alert(1)</script>"`, "kubectl \u202eget pods"},
	}}}
	inc.Others = []incident.Other{{Name: "stalled", Verdict: incident.Undecided, NotEvaluated: text}}
	return web.HealthReport{
		At: time.Unix(1_790_000_000, 0), Source: "http://prometheus:9090" + text, Summary: "1 problem" + text,
		Columns: []string{"TTFT p95"}, Rules: text, Secrets: secrets,
		RuleNotes: []web.HealthReportRule{{
			Name: text, Group: text, Never: true, Why: text, Instead: text, Notes: []string{text},
		}},
		Models: []web.HealthReportModel{{
			Name: text, Assessment: incident.Assessment{Health: incident.HealthProblem, Why: text}, Why: text,
			Cells: []web.HealthReportCell{{Text: "38 s", Bad: true}}, Incident: inc,
		}},
	}
}

func TestAHealthReportHoldsNoSecretAndNoForeignMarkup(t *testing.T) {
	t.Parallel()
	secrets := []string{"s3cr3t-token", `p&ss"<word>`, "body"}
	var b bytes.Buffer
	if err := hostileReport(secrets...).Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, bad := range []string{
		"<script", "<img", "\u202e", "s3cr3t", "p&amp;ss", "p&ss", "http-equiv=\"refresh\"", "<link", "src=\"", "href=",
	} {
		if strings.Contains(page, bad) {
			t.Errorf("the page holds %q: …%.200s", bad, page[max(0, strings.Index(page, bad)-150):])
		}
	}
	for command, shown := range map[string]bool{">llama-0</span></pre>": true, ">pods</span></pre>": false} {
		if strings.Contains(page, command) != shown {
			t.Errorf("%s is shown: %t, want %t", command, !shown, shown)
		}
	}
	if n := strings.Count(page, "alert(1)"); n < 10 {
		t.Errorf("only %d markup texts are shown as text", n)
	}
	if !strings.Contains(page, "</body>") || !strings.Contains(page, "[redacted]") {
		t.Errorf("a secret that is a word of HTML takes the page apart:\n%s", page)
	}
}

// The file may load nothing and run nothing, whatever gets into it.
func TestAHealthReportNeedsNothingElse(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := hostileReport().Write(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	policy := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	if policy == nil || !strings.HasPrefix(policy[1], "default-src &#39;none&#39;; style-src &#39;sha256-") ||
		strings.Contains(policy[1], "unsafe") || strings.Contains(policy[1], "script") {
		t.Errorf("the policy is %q", policy)
	}
	if strings.Count(page, "<style>") != 1 || strings.Contains(page, "@import") || strings.Contains(page, "url(") {
		t.Error("the style is not all in the page")
	}
	for _, want := range []string{
		"<h1>Health of vLLM: 1 problem", `<td class="num fit bad" data-label="TTFT p95">38 s !</td>`,
		"What would make it worse", "What to do", "can never fire", fmt.Sprintf("Rule, %d conditions", 1),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
