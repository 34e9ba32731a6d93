package notify

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// LogNotifier shows incidents in the log, for a bot without Slack: one line per state, one per journal entry. It
// never fails. It is safe for concurrent use.
type LogNotifier struct {
	logger *slog.Logger
	mu     sync.Mutex
	// shown holds the last line of each open incident, so that nothing is said twice.
	shown map[string]string
}

// NewLogNotifier returns a LogNotifier that writes to logger.
func NewLogNotifier(logger *slog.Logger) (*LogNotifier, error) {
	if logger == nil {
		return nil, errors.New("notify: the logger is nil")
	}
	return &LogNotifier{logger: logger, shown: map[string]string{}}, nil
}

// Post logs the incident as it is. The returned id is made from the incident's.
func (s *LogNotifier) Post(ctx context.Context, _ string, inc incident.Incident) (string, error) {
	s.show(ctx, inc)
	return "log-" + inc.ID, nil
}

// Update logs the incident when something that people decide on has changed since the last line.
func (s *LogNotifier) Update(ctx context.Context, _, _ string, inc incident.Incident) error {
	s.show(ctx, inc)
	return nil
}

// Reply logs a journal entry.
func (s *LogNotifier) Reply(ctx context.Context, _, _ string, inc incident.Incident, e incident.Entry) error {
	s.logger.InfoContext(ctx, "incident journal", "incident", inc.ID, "pool", inc.Pool, "step", e.Step, "reason",
		oneLine(e.Text))
	return nil
}

// FindPosted never finds anything: a log cannot be read back, and a line that is written twice does no harm.
func (s *LogNotifier) FindPosted(context.Context, string, string, string, int64, time.Time) (string, bool, error) {
	return "", false, nil
}

// PostDigest logs what a digest has, which a bot that had Slack before may have made. Its incidents are in the log,
// too: there is nothing to fold in one.
func (s *LogNotifier) PostDigest(ctx context.Context, _ string, d incident.Digest) (string, error) {
	return "log-" + d.ID, s.UpdateDigest(ctx, "", "", d)
}

// UpdateDigest logs each of the digest's incidents that has changed since the last line.
func (s *LogNotifier) UpdateDigest(ctx context.Context, _, _ string, d incident.Digest) error {
	for _, inc := range d.Folded {
		s.show(ctx, inc)
	}
	return nil
}

// Call logs for which incidents people are asked to decide.
func (s *LogNotifier) Call(ctx context.Context, _, _ string, _ incident.Digest, calls []incident.Call, _ int64) error {
	for _, c := range calls {
		s.logger.InfoContext(ctx, "incident journal", "incident", c.Incident, "reason", oneLine(c.Entry.Text))
	}
	return nil
}

func (s *LogNotifier) show(ctx context.Context, inc incident.Incident) {
	attrs := describe(inc)
	var line strings.Builder
	for _, a := range attrs {
		line.WriteString(a.String() + "\n")
	}
	if !s.news(inc, line.String()) {
		return
	}
	s.logger.LogAttrs(ctx, slog.LevelInfo, "incident", attrs...)
}

func (s *LogNotifier) news(inc incident.Incident, line string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shown[inc.ID] == line {
		return false
	}
	s.shown[inc.ID] = line
	if !inc.Open() {
		delete(s.shown, inc.ID)
	}
	return true
}

// describe says what a person needs to know, the empty left out.
func describe(inc incident.Incident) []slog.Attr {
	out := []slog.Attr{
		slog.String("incident", inc.ID), slog.String("pool", inc.Pool),
		slog.String("state", string(inc.State)),
	}
	add := func(key, value string) {
		if value != "" {
			out = append(out, slog.String(key, oneLine(value)))
		}
	}
	if inc.Drill != nil {
		add("drill", "an exercise with recorded readings; nothing is changed")
	} else if inc.DryRun {
		add("dry_run", "every reading is real and nothing is changed")
	}
	add("alerts", strings.Join(inc.AlertNames(), ", "))
	add("severity", inc.Severity())
	if inc.Diagnosis != nil {
		add("playbook", inc.Diagnosis.Playbook)
		add("diagnosis", inc.Diagnosis.Summary)
	}
	add("reason", inc.Note)
	add("steps", stepLines(inc))
	if inc.State == incident.StateDeciding && len(inc.Proposed()) > 0 {
		add("next", "vllm-medic incidents approve "+inc.ID)
	}
	return out
}

func stepLines(inc incident.Incident) string {
	if inc.Plan == nil {
		return ""
	}
	lines := make([]string, len(inc.Plan.Steps))
	for i, s := range inc.Plan.Steps {
		lines[i] = s.ID + " " + s.Title + " (" + string(s.State) + ")"
		if s.Reason != "" {
			lines[i] += ": " + s.Reason
		}
		for _, reason := range s.Cautions() {
			lines[i] += ", caution: " + reason
		}
	}
	return strings.Join(lines, "; ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
