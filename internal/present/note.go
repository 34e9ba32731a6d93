package present

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Span is a piece of a sentence: text, or a person or a time, which each surface shows in its own way.
type Span struct {
	Text   string
	Person incident.Actor
	// At is a time of day.
	At time.Time
	// Strong marks what is read first.
	Strong bool
}

// The places of people in a sentence, before it is cut into spans. No text of a note keeps these characters.
const (
	markBy    = "\x00"
	markOther = "\x01"
)

var unmark = strings.NewReplacer(markBy, "", markOther, "")

// Spans are the sentences of a note. Text that comes from elsewhere is in them as it is.
func Spans(n incident.Note) []Span {
	for _, text := range []*string{
		&n.Step, &n.Names, &n.Again, &n.Ended, &n.Flapped, &n.Pool, &n.Why, &n.Hint, &n.Config,
	} {
		*text = unmark.Replace(*text)
	}
	text, _ := words(n)
	return withPeople(text, n)
}

// withPeople cuts a text where the people of a note are.
func withPeople(text string, n incident.Note) (out []Span) {
	for text != "" {
		at := strings.IndexAny(text, markBy+markOther)
		if at < 0 {
			return append(out, Span{Text: text})
		}
		if at > 0 {
			out = append(out, Span{Text: text[:at]})
		}
		who := n.By
		if text[at] == markOther[0] {
			who = n.Other
		}
		out, text = append(out, Span{Person: who}), text[at+1:]
	}
	return out
}

// Said is a note in plain words, with the example for the configuration below it.
func Said(n incident.Note) string {
	return withExample(Plain(Spans(n)), n)
}

// withExample puts a note's example for the configuration below the text; withoutExample takes it away again.
func withExample(text string, n incident.Note) string {
	if n.Config == "" {
		return text
	}
	return text + "\n" + n.Config
}

func withoutExample(text string, n incident.Note) string {
	if n.Config == "" {
		return text
	}
	return strings.TrimSuffix(text, "\n"+n.Config)
}

// Plain is a sentence in plain words.
func Plain(spans []Span) string {
	var b strings.Builder
	for _, s := range spans {
		switch {
		case s.Text != "":
			b.WriteString(s.Text)
		case !s.At.IsZero():
			b.WriteString(clock(s.At))
		default:
			b.WriteString(Person(s.Person))
		}
	}
	return b.String()
}

// Note says why an incident is where it is.
func Note(inc incident.Incident) []Span { return spansOr(inc.Said, inc.Note) }

// Why is the reason of the undo that is being run: "requested by ada: too early".
func Why(a incident.Active) []Span {
	if a.Said.Kind != incident.NoteUndoing {
		return spansOr(a.Said, a.Why)
	}
	return undoReason(a.Said)
}

// Entry is a line of the journal.
func Entry(e incident.Entry) []Span {
	if _, known := words(e.Said); e.Said.Kind == "" || !known && e.Text != "" {
		return []Span{{Text: withoutExample(e.Text, e.Said)}}
	}
	out := Spans(e.Said)
	if e.Kind == incident.KindClosed && e.Said.Kind != incident.NoteClosedBy {
		out = append([]Span{{Text: "Closed: "}}, uncapital(out)...)
	}
	if e.Line > 0 {
		out = append(out,
			Span{Text: fmt.Sprintf(" (Line %d of this kind; most of the others are omitted from the journal.)", e.Line)})
	}
	return out
}

// uncapital continues a sentence with one that begins with a word of ours, as in "Closed: healthy for 10 min".
func uncapital(spans []Span) []Span {
	if len(spans) == 0 || spans[0].Text == "" || strings.HasPrefix(spans[0].Text, "Alertmanager") {
		return spans
	}
	spans[0].Text = strings.ToLower(spans[0].Text[:1]) + spans[0].Text[1:]
	return spans
}

// Refusal is what a person reads whose action was refused.
func Refusal(e *incident.RefusedError) []Span { return spansOr(e.Said, e.Reason) }

// spansOr is a note in words; stored is the same as text. An older version stored nothing else, and of a kind that only
// a newer version knows nothing else can be said.
func spansOr(n incident.Note, stored string) []Span {
	if _, known := words(n); !known && stored != "" {
		return []Span{{Text: withoutExample(stored, n)}}
	}
	return Spans(n)
}

// Fill puts into words what Apply made, for the API, for logs and for older versions, which read only these. The words
// of a newer version stay where this one has none.
func Fill(res incident.Result) incident.Result {
	inc := &res.Incident
	if inc.Said.Kind != "" {
		inc.Said = worded(inc.Said)
		inc.Note = withExample(Plain(Note(*inc)), inc.Said)
	}
	if inc.Active != nil {
		inc.Active.Why = Plain(Why(*inc.Active))
	}
	if inc.LastLeftOut != nil {
		inc.LastLeftOut.Said = worded(inc.LastLeftOut.Said)
		inc.LastLeftOut.Text = entryText(*inc.LastLeftOut)
	}
	for n := range inc.Attempts {
		inc.Attempts[n].Why = attemptWhy(inc.Attempts[n])
	}
	fillSteps(inc.AppliedEarlier)
	if inc.Plan != nil {
		fillSteps(inc.Plan.Steps)
	}
	for n := range res.Entries {
		res.Entries[n].Said = worded(res.Entries[n].Said)
		res.Entries[n].Text = entryText(res.Entries[n])
	}
	return res
}

// worded is a note whose reason is there in words, too. A replica of an older version knows the kind and not the facts.
func worded(n incident.Note) incident.Note {
	switch _, known := words(n); {
	case !known:
	case n.Cause.Kind != "":
		n.Why = why(n)
	case n.Check != nil:
		n.Why = judged(n.Check, n.Why)
	case n.Routing != nil:
		n.Why = routing(n.Routing, n.Why)
	}
	return n
}

func fillSteps(steps []incident.Step) {
	for n := range steps {
		s := &steps[n]
		s.Reason = Reason(*s)
		s.Guardrails = wordedGuardrails(s.Guardrails)
		if s.Attempt != nil {
			s.Tried = Plain(Tried(*s))
		}
	}
}

// wordedGuardrails copies what it changes: the event that brought the checks has them, too.
func wordedGuardrails(gs []incident.Guardrail) []incident.Guardrail {
	if !slices.ContainsFunc(gs, func(g incident.Guardrail) bool { return g.Cause.Kind != "" }) {
		return gs
	}
	gs = slices.Clone(gs)
	for n := range gs {
		gs[n].Reason = Guardrail(gs[n])
	}
	return gs
}

func entryText(e incident.Entry) string {
	return withExample(Plain(Entry(e)), e.Said)
}

// FillRefusal is Fill for a refusal; any other error stays as it is.
func FillRefusal(err error) error {
	if no, ok := err.(*incident.RefusedError); ok && no.Reason == "" { //nolint:errorlint // Apply wraps nothing
		filled := *no
		filled.Reason = Said(no.Said)
		return &filled
	}
	return err
}

// Tried says what came of the same change earlier in the incident: "tried at 03:12 UTC: worse, rolled back by ada".
// Empty when it is new.
func Tried(s incident.Step) []Span {
	t := s.Attempt
	if t == nil {
		return spansOr(incident.Note{}, s.Tried)
	}
	text := "tried at " + t.At.UTC().Format("15:04 UTC")
	if t.Verdict != "" {
		text += ": " + string(t.Verdict)
	}
	out := []Span{{Text: text}}
	if t.UndoneBy != nil {
		out = append(out, Span{Text: ", rolled back by "}, Span{Person: *t.UndoneBy})
	}
	if why := attemptWhy(*t); why != "" {
		out = append(out, Span{Text: ": " + why})
	}
	return out
}

// undoReason is a clause: "requested by ada: too early", "it didn't help: worse".
func undoReason(n incident.Note) []Span {
	switch {
	case n.Verdict != "":
		return []Span{{Text: "it " + failed(n.Verdict)}}
	case n.For > 0:
		return []Span{{Text: "healthy for " + incident.FormatDuration(n.For)}}
	}
	out := []Span{{Text: "requested by "}, {Person: n.By}}
	if n.Why != "" {
		out = append(out, Span{Text: ": " + n.Why})
	}
	return out
}
