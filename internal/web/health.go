package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// HealthReport is what one look at every model of a Prometheus found. As a page it is one file that needs nothing else:
// somebody sends it to a colleague.
type HealthReport struct {
	At time.Time
	// Source is where it was looked, without credentials; Summary and Targets are sentences for the head.
	Source, Summary, Targets string
	// Columns are the titles of the targets; each model has as many cells.
	Columns []string
	// Models are the worst first.
	Models []HealthReportModel
	// Rules says in a line what was found of the alert rules.
	Rules     string
	RuleNotes []HealthReportRule
	// Secrets are what was sent along with the queries. They are hidden wherever they would show, also in what Prometheus
	// answered.
	Secrets []string
}

// HealthReportModel is one model.
type HealthReportModel struct {
	Name string
	incident.Assessment
	// Why is the reason in short, Gone what a model without metrics may mean.
	Why, Gone string
	Cells     []HealthReportCell
	Incident  incident.Incident
}

// HealthReportCell is one value of the table.
type HealthReportCell struct {
	Text string
	Bad  bool
}

// HealthReportRule is an alert rule with something to tell.
type HealthReportRule struct {
	Name, Group string
	Never       bool
	// Why is one sentence, Instead the corrected expression, About and Notes what to know of it.
	Why, Instead, About string
	Notes               []string
}

// filePolicy is the policy of a page in a file: it loads nothing, runs nothing and sends nothing to anybody.
var filePolicy = func() string {
	sum := sha256.Sum256([]byte("\n" + style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
}()

// healthPage is a health report with what its template asks for.
type healthPage struct {
	frame
	HealthReport
	Policy string
	Rows   []healthRow
}

// healthRow is a model on the page.
type healthRow struct {
	HealthReportModel
	Anchor, Word, Level, Cause, More string
	Because                          []string
	Numbers                          []number
	Doubts                           []doubtRow
	Rule                             []conditionRow
	Steps                            []healthStep
	Groups                           []readingGroup
	NotChecked                       []incident.NotEvaluated
	Wrong                            bool
}

// healthStep is something to do by hand.
type healthStep struct {
	Title, Why string
	Commands   []string
}

// Write writes the page.
func (r HealthReport) Write(w io.Writer) error {
	f := frame{Title: "Health of vLLM", Now: r.At, nameOf: present.Person}
	p := healthPage{frame: f, HealthReport: r, Policy: filePolicy}
	for _, m := range r.Models {
		p.Rows = append(p.Rows, f.healthRow(m))
	}
	var b bytes.Buffer
	if err := pages.ExecuteTemplate(&b, "health.html", p); err != nil {
		return err
	}
	_, err := io.WriteString(w, hidden(redact.Visible(b.String()), r.Secrets))
	return err
}

// between is the text between two tags, where all that others wrote is.
var between = regexp.MustCompile(`>[^<]+<`)

// hidden is a page without secrets. Its tags and its style stay: a password may be a word of those.
func hidden(page string, secrets []string) string {
	const end = "</style>"
	at := strings.Index(page, end) + len(end)
	all := slices.Clone(secrets)
	for _, s := range secrets {
		all = append(all, template.HTMLEscapeString(s))
	}
	return page[:at] + between.ReplaceAllStringFunc(page[at:], func(text string) string {
		return ">" + redact.Without(text[1:len(text)-1], all...) + "<"
	})
}

func (f frame) healthRow(m HealthReportModel) healthRow {
	inc := m.Incident
	row := healthRow{
		HealthReportModel: m, Word: present.HealthWord(m.Health), Level: string(present.LevelOfHealth(m.Health)),
		Because: present.Because(m.Assessment, inc), Groups: f.groups(inc.Readings), Wrong: m.Health.Wrong(),
	}
	if d := inc.Diagnosis; d != nil {
		row.Cause = present.Cause(d.Summary)
		row.More = strings.TrimSpace(strings.TrimPrefix(present.Line(d.Summary), row.Cause))
		row.Rule, row.Doubts = conditions(inc), doubts(inc)
		for _, r := range present.Decisive(inc) {
			row.Numbers = append(row.Numbers, number{Label: r.Subject, Seen: r.Seen, Expected: r.Expected, Bad: r.Bad})
		}
	}
	if inc.Plan != nil {
		for _, s := range inc.Plan.Steps {
			row.Steps = append(row.Steps, healthStep{present.Line(s.Title), present.Line(s.Why), present.Commands(s)})
		}
	}
	_, row.NotChecked = incident.SplitNotEvaluated(inc.Others)
	return row
}

// CauseWords are the names of causes in words.
func (r healthRow) CauseWords(names []string) string {
	return incident.CauseWords(strings.Join(names, ", "))
}
