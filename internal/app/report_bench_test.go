package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// quarter is a store with so many incidents in 90 days, each with 40 readings of an hour, as a busy bot leaves them.
func quarter(t testing.TB, incidents int) (url string, p report.Period) {
	t.Helper()
	until := time.Now().UTC()
	p = report.Period{Since: until.AddDate(0, 0, -90), Until: until}
	url = "sqlite://" + filepath.Join(t.TempDir(), "medic.db")
	s := storetest.Open(t, url)
	l := reporttest.Open(t, "inc-first", "llama", incident.ModeApprove, p.Since, "vLLMHighTTFT").Wait(time.Minute).
		Find("queueing", reporttest.Replicas("llama", "2", "3")).Ask().Wait(5*time.Minute).Approve("p1-s1", reporttest.Alice).
		Write().Wait(5 * time.Minute).Judge(incident.VerdictRecovered).Wait(10 * time.Minute).Close()
	l.Incident.Readings = map[string]incident.Reading{}
	for n := range 40 {
		r := incident.Reading{Signal: fmt.Sprintf("signal_%d", n), Value: new(float64(n)), Unit: incident.UnitSeconds}
		for minute := range 60 {
			r.Series = append(r.Series, incident.Point{At: p.Since.Add(time.Duration(minute) * time.Minute), Value: 1.5})
		}
		l.Incident.Readings[r.Signal] = r
	}
	err := s.Commit(t.Context(), incident.Change{Incident: l.Incident, Entries: l.Incident.Journal, Render: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	copies(t, url, incidents, p.Until.Sub(p.Since)/time.Duration(incidents+1))
	return url, p
}

// copies has the one incident of a store happen so many times, one every so often.
func copies(t testing.TB, url string, incidents int, every time.Duration) {
	t.Helper()
	const moved = `SELECT 'inc-' || n, pool, state, version, opened_at + n * %d, closed_at + n * %[1]d, body
		FROM incidents, n`
	numbers := fmt.Sprintf(`WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < %d) `, incidents-1)
	err := storetest.Tamper(t.Context(), url,
		`INSERT INTO incidents (id, pool, state, version, opened_at, closed_at, body) `+numbers+
			fmt.Sprintf(moved, every),
		`INSERT INTO journal (incident, seq, body) `+numbers+`SELECT 'inc-' || n, seq, body FROM journal, n`,
	)
	if err != nil {
		t.Fatal(err)
	}
}

// BenchmarkReport makes the report of a quarter of a year with 3000 incidents. Its baselines are reading the same rows
// and doing nothing with them, and decoding one incident as often.
func BenchmarkReport(b *testing.B) {
	const incidents = 3000
	url, p := quarter(b, incidents)
	r, err := store.OpenReadOnly(b.Context(), url)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := r.Close(); err != nil {
			b.Error(err)
		}
	})
	per := func(b *testing.B) {
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/incidents, "µs/incident")
	}
	b.Run("report", func(b *testing.B) {
		for b.Loop() {
			got, err := app.Report(b.Context(), r, p, p.Until)
			if err != nil || got.Total.Incidents == 0 {
				b.Fatal(got.Total.Incidents, err)
			}
		}
		per(b)
	})
	b.Run("read-only", func(b *testing.B) {
		for b.Loop() {
			nothing := func(incident.Incident, time.Time) error { return nil }
			if _, err := r.EachOpened(b.Context(), p.Opened(), nothing); err != nil {
				b.Fatal(err)
			}
		}
		per(b)
	})
	b.Run("decode-one", func(b *testing.B) {
		one, err := r.IncidentWithJournal(b.Context(), "inc-1")
		if err != nil {
			b.Fatal(err)
		}
		raw, err := json.Marshal(one)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(raw)) * incidents)
		for b.Loop() {
			for range incidents {
				var inc incident.Incident
				if err := json.Unmarshal(raw, &inc); err != nil {
					b.Fatal(err)
				}
			}
		}
		per(b)
	})
}

// watched is a source that knows how many of the incidents that it gave out are still in memory.
type watched struct {
	app.ReportSource

	given []weak.Pointer[incident.Entry]
	most  int // of all times when it looked
}

func (s *watched) EachOpened(ctx context.Context, o incident.Opened,
	visit func(incident.Incident, time.Time) error,
) ([]string, error) {
	return s.ReportSource.EachOpened(ctx, o, func(inc incident.Incident, posted time.Time) error {
		s.given = append(s.given, weak.Make(&inc.Journal[0]))
		if len(s.given)%page == 0 { // the last of a page, when the most is in memory
			runtime.GC()
			s.most = max(s.most, s.alive())
		}
		return visit(inc, posted)
	})
}

func (s *watched) alive() int {
	n := 0
	for _, p := range s.given {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// page is how many incidents the store reads at once.
const page = 50

// A report keeps a few numbers of each incident and lets it go: no more than a page of the store is in memory.
func TestAReportDoesNotHoldItsIncidents(t *testing.T) {
	const incidents = 300
	url, p := quarter(t, incidents)
	r, err := store.OpenReadOnly(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	}()
	from := &watched{ReportSource: r}
	got, err := app.Report(t.Context(), from, p, p.Until)
	if err != nil || got.Total.Incidents != incidents {
		t.Fatalf("%d incidents: %v", got.Total.Incidents, err)
	}
	if from.most == 0 || from.most > page {
		t.Errorf("%d of %d incidents were in memory at once, want at least the one that is read and at most %d",
			from.most, incidents, page)
	}
}
