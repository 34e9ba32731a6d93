package main

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/web"
)

// reportFile is the file of --report. It is begun before anything is asked, so that nobody waits for a look and then
// learns that there is no place for it, and takes its name only when it is whole.
type reportFile struct {
	path string
	part *os.File
}

// newReportFile begins the file.
func newReportFile(path string) (*reportFile, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, usageError{fmt.Sprintf("diagnose: --report %s is a directory; name a file in it, such as %s", path,
			filepath.Join(path, "health.html"))}
	}
	part, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("--report %s: %w", path, withoutPath(err))
	}
	return &reportFile{path: path, part: part}, nil
}

// withoutPath is an error without the name of the file, which is not the one that was given.
func withoutPath(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// abandon takes away a file that was not completed.
func (f *reportFile) abandon() {
	_ = f.part.Close()           // it is thrown away, and closed already after write
	_ = os.Remove(f.part.Name()) // not there any more after write
}

// write completes the file.
func (f *reportFile) write(r web.HealthReport) error {
	err := errors.Join(r.Write(f.part), f.part.Close())
	if err == nil {
		err = os.Rename(f.part.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("--report %s: %w", f.path, err)
	}
	return nil
}

// report is what was found, as a page.
func (f *surveyFlags) report(s app.Survey) web.HealthReport {
	r := web.HealthReport{
		At: s.At, Source: f.shownURL(), Summary: healthCounts(s.Models), Rules: s.Rules.Text, Secrets: f.secrets(),
		Targets: profileText(s.SLO),
	}
	targets := targetsOf(s.Models)
	for _, c := range targets {
		r.Columns = append(r.Columns, c.Label)
	}
	r.Columns = append(r.Columns, "Waiting", "KV cache")
	for _, m := range s.Models {
		one := web.HealthReportModel{Name: m.Name, Assessment: m.Assessment, Why: whyCell(m), Incident: m.Incident}
		if m.Health == incident.HealthNoData {
			one.Gone = present.Gone(m.LastSeen, s.At)
		}
		for _, c := range targets {
			one.Cells = append(one.Cells, web.HealthReportCell{Text: readingCell(m, c.Signal), Bad: missed(m, c.Signal)})
		}
		for _, signal := range []string{incident.SignalWaiting, incident.SignalKVUsage} {
			one.Cells = append(one.Cells, web.HealthReportCell{Text: readingCell(m, signal)})
		}
		r.Models = append(r.Models, one)
	}
	for _, rule := range s.Rules.Rules {
		r.RuleNotes = append(r.RuleNotes, web.HealthReportRule{
			Name: rule.Name, Group: rule.Group, Never: rule.Never, Why: strings.Join(rule.Why, "; "),
			Instead: rule.Instead, About: strings.Join(rule.About, "; "), Notes: rule.Notes,
		})
	}
	return r
}

// secrets are what was sent to Prometheus and belongs on no page: credentials, and whatever may be one.
func (f *surveyFlags) secrets() []string {
	var out []string
	for _, path := range []string{f.access.TokenFile, f.access.PasswordFile} {
		if b, err := boundedfile.ReadRegular(path, boundedfile.MaxSecret); path != "" && err == nil {
			out = append(out, strings.TrimSpace(string(b)))
		}
	}
	if u, err := url.Parse(f.access.URL); err == nil && u.User != nil {
		password, _ := u.User.Password()
		out = append(out, u.User.Username(), password)
	}
	for _, values := range []map[string]string{f.access.Headers, f.access.Params} {
		for name, value := range values {
			if redact.Suspicious(name) || strings.EqualFold(name, "cookie") {
				out = append(out, value)
			}
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}
