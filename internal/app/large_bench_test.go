package app_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/webhook"
)

// BenchmarkLargeBodies shows the memory that large bodies take at most, and what they do to small ones beside them: the
// peak of the resident memory, above what it was, of the bot and of the client, which has one copy of the body.
func BenchmarkLargeBodies(b *testing.B) {
	if _, err := os.Stat("/proc/self/clear_refs"); err != nil {
		b.Skip("the peak of the resident memory cannot be read here")
	}
	empty := []byte(`{"version":"4","status":"firing","alerts":[` + strings.Repeat("{},", 3_495_000) + `{}]}`)
	b.Run("one-of-empty-alerts", func(b *testing.B) { large(b, empty, 1) })
	b.Run("50-valid-at-once", func(b *testing.B) { large(b, full(), 50) })
}

// full is a valid body of nearly 10 MiB.
func full() []byte {
	one := groupBody(7)
	head, tail := one[:bytes.Index(one, []byte(`"alerts":[`))+len(`"alerts":[`)], []byte(`]}`)
	alerts := one[len(head) : len(one)-len(tail)]
	var out bytes.Buffer
	out.Write(head)
	for n := 0; out.Len()+len(alerts)+len(tail)+1 < webhook.BodyLimit; n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		out.Write(regexp.MustCompile(`"fingerprint":"[0-9a-f]{8}`).ReplaceAll(alerts,
			fmt.Appendf(nil, `"fingerprint":"%08x`, n)))
	}
	out.Write(tail)
	return out.Bytes()
}

func large(b *testing.B, body []byte, at int) {
	b.Helper()
	a := start(b)
	url := "http://" + a.Addr("api") + webhook.Path
	codes := map[int]int{}
	var slow []time.Duration
	var peak int64
	for b.Loop() {
		before := resident(b, "VmRSS")
		if err := os.WriteFile("/proc/self/clear_refs", []byte("5"), 0); err != nil {
			b.Fatal(err)
		}
		ctx, stop := context.WithCancel(b.Context())
		beside := make(chan []time.Duration)
		go func() { beside <- smallOnes(ctx, b, url) }()
		var mu sync.Mutex
		var wg sync.WaitGroup
		for range at {
			wg.Go(func() {
				code := deliverBody(b.Context(), b, url, body)
				mu.Lock()
				defer mu.Unlock()
				codes[code]++
			})
		}
		wg.Wait()
		stop()
		slow = append(slow, <-beside...)
		peak = max(peak, resident(b, "VmHWM")-before)
	}
	b.ReportMetric(float64(peak>>10), "peak-MiB")
	b.ReportMetric(float64(codes[http.StatusOK])/float64(b.N), "stored")
	b.ReportMetric(float64(codes[http.StatusServiceUnavailable])/float64(b.N), "told-later")
	if len(slow) > 0 {
		b.ReportMetric(slices.Max(slow).Seconds(), "slowest-small-s")
	}
}

// smallOnes delivers small bodies one after the other and says how long each took.
func smallOnes(ctx context.Context, b *testing.B, url string) []time.Duration {
	var out []time.Duration
	for n := 0; ctx.Err() == nil; n++ {
		begun := time.Now()
		if code := deliverBody(ctx, b, url, groupBody(n%storm)); code == http.StatusOK {
			out = append(out, time.Since(begun))
		}
	}
	return out
}

func deliverBody(ctx context.Context, b *testing.B, url string, body []byte) int {
	b.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		b.Error(err)
		return 0
	}
	req.Header.Set("Authorization", "Bearer hook-secret-of-tests")
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0 // the connection was closed on it: an answer came before the body was read
	}
	if err := resp.Body.Close(); err != nil {
		b.Error(err)
	}
	return resp.StatusCode
}

// resident is a line of the process's memory, in KiB.
func resident(b *testing.B, name string) int64 {
	b.Helper()
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	found := regexp.MustCompile(name + `:\s+(\d+) kB`).FindSubmatch(raw)
	if found == nil {
		b.Fatal("the status has no " + name)
	}
	n, err := strconv.ParseInt(string(found[1]), 10, 64)
	if err != nil {
		b.Fatal(err)
	}
	return n
}
