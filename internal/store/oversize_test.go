package store_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// unbounded is an incident as a version without bounds stored it: that many alerts of a KiB each.
func unbounded(t *testing.T, alerts int) (incident.Incident, string) {
	t.Helper()
	inc := incident.New("inc-large", "llama", incident.ModeApprove, false, now)
	for n := range alerts {
		inc.Alerts = append(inc.Alerts, incident.Alert{
			Fingerprint: fmt.Sprintf("%016x", n), Firing: true, StartsAt: now, SeenAt: now,
			Labels:      map[string]string{"alertname": "Flood", "pod": fmt.Sprint("pod-", n)},
			Annotations: map[string]string{"summary": strings.Repeat("x", 800)},
		})
	}
	inc.Version = 1
	body, err := json.Marshal(inc)
	if err != nil {
		t.Fatal(err)
	}
	return inc, string(body)
}

// storedUnbounded is a store that holds it, open and due.
func storedUnbounded(t *testing.T, url string, alerts int) {
	t.Helper()
	_, body := unbounded(t, alerts)
	s := storetest.Open(t, url)
	small := incident.New("inc-large", "llama", incident.ModeApprove, false, now)
	ok(t, s.Commit(t.Context(), incident.Change{Incident: small, DueAt: now}))
	ok(t, s.Close())
	db := raw(t, url)
	placeholder := "?"
	if strings.HasPrefix(url, "postgres") {
		placeholder = "$1"
	}
	_, err := db.ExecContext(t.Context(), `UPDATE incidents SET body = `+placeholder+` WHERE id = 'inc-large'`, body)
	ok(t, err)
}

// What a version without bounds has stored is written anew within them at the start, and as it is there read by
// everybody from then on.
func TestAnIncidentWithoutBoundsIsBoundedAtTheStart(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			url := e.URL(t)
			storedUnbounded(t, url, 5000)
			log := &lines{}
			s := storetest.Open(t, url, func(o *store.Options) { o.Logger = log.logger() })
			var size int
			ok(t, raw(t, url).QueryRowContext(t.Context(),
				`SELECT octet_length(body) FROM incidents WHERE id = 'inc-large'`).Scan(&size))
			if size > 1<<20 || log.count("held more alerts than are kept") != 1 {
				t.Errorf("%d bytes are stored; said %d times", size, log.count("held more alerts than are kept"))
			}
			got, err := s.ClaimDue(t.Context(), "me", now, time.Minute, 10)
			ok(t, err)
			if len(got) != 1 || got[0].Incident.FiringCount() != 5000 || got[0].Incident.Version != 1 ||
				len(got[0].Incident.Alerts) >= 5000 {
				t.Errorf("claimed %d incidents", len(got))
			}
			ok(t, s.Close())
			again := &lines{}
			storetest.Open(t, url, func(o *store.Options) { o.Logger = again.logger() })
			if again.count("held more alerts than are kept") != 0 {
				t.Error("it is bounded again at the next start")
			}
		})
	}
}

// heapPeak is the most that lives on the heap, garbage included, while something runs.
func heapPeak(t *testing.T, run func()) uint64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as a user has it, whatever GOGC the tests run with
	runtime.GC()
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() uint64 {
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	before, peak := read(), uint64(0)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				peak = max(peak, read())
			}
		}
	}()
	run()
	close(done)
	<-stopped
	return max(peak, before) - before
}

// A store that today's attack has left: 39 MiB in one incident. Starting on it takes a fraction of the chart's limit of
// 512 MiB. Not parallel: it measures the process.
func TestAStoreWithAHugeIncidentStartsWithinTheLimit(t *testing.T) { //nolint:paralleltest // it measures the process
	url := storetest.SQLite(t)
	storedUnbounded(t, url, 40_000)
	var s *store.Store
	peak := heapPeak(t, func() {
		s = storetest.Open(t, url)
		for range 8 {
			if _, _, err := s.OpenIncident(t.Context(), "llama"); err != nil {
				t.Error(err)
			}
		}
	})
	if peak > 256<<20 {
		t.Errorf("the start took %d MiB", peak>>20)
	}
}
