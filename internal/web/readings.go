package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// readingGroup are readings about one thing.
type readingGroup struct {
	Title string
	// Open shows it at once.
	Open bool
	Rows []readingRow
}

// readingRow is one reading.
type readingRow struct {
	Title, Full, Value, Limit, Usually, Warning string
	Bad, Strange, Failed                        bool
	Spark                                       *spark
}

// groups are the readings of what the pool uses: those past their limits first, then by what they are about.
func (f frame) groups(readings map[string]incident.Reading) []readingGroup {
	out := []readingGroup{{Title: "Out of limits", Open: true}}
	for _, g := range present.Groups() {
		out = append(out, readingGroup{Title: string(g)})
	}
	for _, r := range measured(readings) {
		at := 0
		if !present.Beyond(r.Reading) {
			at = 1 + slices.Index(present.Groups(), present.GroupOf(r.Signal))
		}
		out[at].Rows = append(out[at].Rows, f.reading(r))
	}
	return slices.DeleteFunc(out, func(g readingGroup) bool { return len(g.Rows) == 0 })
}

func (f frame) reading(r titledReading) readingRow {
	row := readingRow{
		Title: cmp.Or(r.Reading.Short, r.Title), Value: r.Reading.Text(), Limit: present.Limit(r.Reading),
		Usually: present.Usually(r.Reading), Warning: r.Reading.Warning, Bad: present.Beyond(r.Reading),
		Strange: strange(r.Reading), Failed: r.Reading.Error != "", Spark: f.sparkOf(r.Reading),
	}
	if r.Title != row.Title {
		row.Full = r.Title
	}
	return row
}

// titledReading is a reading with the name of its signal and what the page calls it.
type titledReading struct {
	Signal, Title string
	Reading       incident.Reading
}

// titled are the readings by title, those past their target or limit first.
func titled(readings map[string]incident.Reading) []titledReading {
	out := make([]titledReading, 0, len(readings))
	for signal, r := range readings {
		out = append(out, titledReading{Signal: signal, Title: cmp.Or(r.Title, signal), Reading: r})
	}
	place := func(r titledReading) int {
		if present.Beyond(r.Reading) {
			return 0
		}
		return 1
	}
	slices.SortFunc(out, func(a, b titledReading) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title)),
			cmp.Compare(a.Signal, b.Signal))
	})
	return out
}

// measured are the readings of what the pool uses.
func measured(readings map[string]incident.Reading) []titledReading {
	return slices.DeleteFunc(titled(readings), func(r titledReading) bool { return unused(r.Reading) })
}

// unused says that a reading without data tells nothing: the pool does not use what it measures.
func unused(r incident.Reading) bool { return r.Optional && r.Value == nil && r.Error == "" }

// unusedTitles names them.
func unusedTitles(readings map[string]incident.Reading) string {
	var out []string
	for _, r := range titled(readings) {
		if unused(r.Reading) {
			out = append(out, r.Title)
		}
	}
	return strings.Join(out, ", ")
}
