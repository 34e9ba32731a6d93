package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/webhook"
)

// floodBody is a body of nearly 10 MiB: alerts of the pool llama that nobody has seen, each with a text of 2,000 bytes,
// which is not clipped, so that four of them are as many as are told from one another.
func floodBody(number int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"receiver":"r","status":"firing","alerts":[`)
	text := strings.Repeat("x", 2000)
	for n := 0; out.Len() < webhook.BodyLimit-4096; n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, `{"status":"firing","labels":{"alertname":"Flood%d","model_name":"llama","pod":"pod-%d-%d"},`+
			`"annotations":{"summary":"%s"},"startsAt":"2026-11-21T02:55:00Z","fingerprint":"%08x%08x"}`,
			n, number, n, text, number, n)
	}
	out.WriteString(`],"version":"4","groupKey":"g"}`)
	return out.Bytes()
}

// heldAtMost is the most that was on the heap, garbage included, while something ran, above what was there before.
// Garbage is collected as often as in the bot: tests run with another GOGC.
func heldAtMost(run func()) uint64 {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
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

// Whoever has the webhook's token can bring 39 MiB of alerts of one pool in four deliveries that are taken. The bot
// stays below half of the chart's limit of 512 MiB, its sender's body included, and tells how many it does not keep.
// Not parallel: it measures the process.
func TestAFloodOfAlertsTakesBoundedMemory(t *testing.T) { //nolint:paralleltest // it measures the process
	a := start(t)
	url := "http://" + a.Addr("api")
	var inc struct {
		Alerts        []struct{} `json:"alerts"`
		AlertsNotKept struct{ Firing int }
	}
	sent := 0
	peak := heldAtMost(func() {
		for n := range 4 {
			body := floodBody(n)
			sent += bytes.Count(body, []byte(`"startsAt"`))
			if code := floodWith(t, url+webhook.Path, body); code != http.StatusOK {
				t.Fatalf("delivery %d was answered with %d", n, code)
			}
		}
		err := process.Until(t.Context(), func(context.Context) error {
			var list struct{ Incidents []json.RawMessage }
			const path = "/api/v1/incidents?pool=llama"
			_, raw := ask(t, "GET", url+path, "view-secret", "") //nolint:contextcheck // it has that of the test
			if err := json.Unmarshal([]byte(raw), &list); err != nil {
				return err
			}
			if len(list.Incidents) == 1 {
				if err := json.Unmarshal(list.Incidents[0], &inc); err != nil {
					return err
				}
			}
			if told := len(inc.Alerts) + inc.AlertsNotKept.Firing; told < sent {
				return fmt.Errorf("%d alerts of %d are told of", told, sent)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	if len(inc.Alerts)+inc.AlertsNotKept.Firing != sent || len(inc.Alerts) > 1000 {
		t.Errorf("%d are kept and %d are not, of %d", len(inc.Alerts), inc.AlertsNotKept.Firing, sent)
	}
	if peak > 256<<20 {
		t.Errorf("%d MiB were on the heap", peak>>20)
	}
}

func floodWith(t *testing.T, url string, body []byte) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), process.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer hook-secret-of-tests")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := resp.Body.Close(); err != nil {
		t.Error(err)
	}
	return resp.StatusCode
}
