package app_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/vllm-medic/vllm-medic/internal/credential"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/webhook"
)

// storm is how many connections post at the same time, and alertsEach how many alerts a body has.
const storm, alertsEach = 64, 5

// groupBody is one group's notification as Alertmanager writes it.
func groupBody(group int) []byte {
	alerts := make([]string, alertsEach)
	for n := range alerts {
		alerts[n] = fmt.Sprintf(`{"status":"firing","labels":{"alertname":"vLLMHighTTFT","cluster":"eu-1",
"container":"vllm","endpoint":"metrics","instance":"10.0.%d.%d:8000","job":"vllm","model_name":"llama",
"namespace":"llm","pod":"llama-%d-%d","severity":"warning"},"annotations":{
"description":"The 95th percentile of the time to first token of llama is 4.2s for five minutes, above 2s.",
"runbook_url":"https://runbooks.example.com/vllm/high-ttft","summary":"llama is slow to answer"},
"startsAt":"2026-11-21T02:55:00.123Z","endsAt":"0001-01-01T00:00:00Z",
"generatorURL":"http://prometheus:9090/graph?g0.expr=histogram_quantile%%280.95%%2C`+
			`+sum+by+%%28le%%29+%%28rate%%28vllm%%3Atime_to_first_token_seconds_bucket%%5B5m%%5D%%29%%29%%29+%%3E+2&g0.tab=1",
"fingerprint":"%08x%08x"}`, group, n, group, n, group, n)
	}
	return fmt.Appendf(nil,
		`{"version":"4","groupKey":"{}/{team=\"inference\"}:{alertname=\"vLLMHighTTFT\", group=\"%d\"}","truncatedAlerts":0,
"status":"firing","receiver":"vllm-medic","notification_reason":"first notification",
"groupLabels":{"alertname":"vLLMHighTTFT"},"commonLabels":{"alertname":"vLLMHighTTFT","cluster":"eu-1","job":"vllm",
"model_name":"llama","namespace":"llm","severity":"warning"},
"commonAnnotations":{"summary":"llama is slow to answer"},"externalURL":"http://alertmanager:9093","alerts":[%s]}`,
		group, strings.Join(alerts, ","))
}

// load posts b.N bodies over storm connections and reports how many a second were answered with 200, and what one took
// of the processors, client and server together; beside is what another process took for it.
func load(b *testing.B, addr, path string, beside func() time.Duration) {
	b.Helper()
	var left, later atomic.Int64
	left.Store(int64(b.N))
	var wg sync.WaitGroup
	before := processor(b)
	b.ResetTimer()
	for n := range storm {
		wg.Go(func() {
			body := groupBody(n)
			request := fmt.Appendf(nil,
				"POST %s HTTP/1.1\r\nHost: medic\r\nAuthorization: Bearer hook-secret-of-tests\r\nContent-Type: "+
					"application/json\r\nContent-Length: %d\r\n\r\n%s",
				path, len(body), body)
			if err := post(b.Context(), addr, request, &left, &later); err != nil {
				b.Error(err)
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "deliveries/s")
	b.ReportMetric(float64((processor(b)-before+beside()).Microseconds())/float64(b.N), "processor-µs/delivery")
	if n := later.Load(); n > 0 { // a disk that stalls for seconds; Alertmanager sends them again, and so does this
		b.ReportMetric(float64(n), "told-later")
	}
	b.ReportMetric(0, "ns/op")
}

func nothing() time.Duration { return 0 }

// processor is the processor time that this process has used.
func processor(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// post sends the request over one connection as long as some are left. It is as lean as it can be, so that what is
// measured is the server.
func post(ctx context.Context, addr string, request []byte, left, later *atomic.Int64) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // every answer has been read
	r := bufio.NewReader(conn)
	for left.Add(-1) >= 0 {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			return err
		}
		if err := resp.Body.Close(); err != nil {
			return err
		}
		switch resp.StatusCode {
		case http.StatusOK:
		case http.StatusServiceUnavailable:
			later.Add(1)
			left.Add(1)
		default:
			return errors.New(resp.Status)
		}
	}
	return nil
}

// BenchmarkIntake measures what a delivery costs until it is answered, over 64 connections with five alerts a body: the
// whole bot, which folds them in beside; its handler and store alone; a handler that only decodes the same body; and
// Debian's webhook, when it is installed, running a command for each body as it is meant to, and refusing each by a
// rule.
func BenchmarkIntake(b *testing.B) {
	b.Run("bot", func(b *testing.B) {
		a := start(b)
		load(b, a.Addr("api"), webhook.Path, nothing)
	})
	b.Run("stored-only", func(b *testing.B) {
		s := storetest.Open(b, "sqlite://"+filepath.Join(b.TempDir(), "medic.db"))
		h, err := webhook.New(credential.Credential{BearerToken: "hook-secret-of-tests"}, s,
			slog.New(slog.DiscardHandler), time.Now,
			prometheus.NewRegistry())
		if err != nil {
			b.Fatal(err)
		}
		e := echo.New()
		e.POST(webhook.Path, h.Handle)
		served(b, e, webhook.Path)
	})
	b.Run("decode-only", func(b *testing.B) {
		served(b, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var p notification
			if err := json.NewDecoder(r.Body).Decode(&p); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		}), "/")
	})
	b.Run("debian-webhook/runs-a-command", func(b *testing.B) { debianWebhook(b, "firing") })
	b.Run("debian-webhook/refuses-by-rule", func(b *testing.B) { debianWebhook(b, "resolved") })
}

// notification is what Alertmanager sends, as it declares it itself.
type notification struct {
	Receiver          string            `json:"receiver"`
	Status            string            `json:"status"`
	GroupLabels       map[string]string `json:"groupLabels"`
	CommonLabels      map[string]string `json:"commonLabels"`
	CommonAnnotations map[string]string `json:"commonAnnotations"`
	ExternalURL       string            `json:"externalURL"`
	Version           string            `json:"version"`
	GroupKey          string            `json:"groupKey"`
	TruncatedAlerts   uint64            `json:"truncatedAlerts"`
	Alerts            []struct {
		Status       string            `json:"status"`
		Labels       map[string]string `json:"labels"`
		Annotations  map[string]string `json:"annotations"`
		StartsAt     time.Time         `json:"startsAt"`
		EndsAt       time.Time         `json:"endsAt"`
		GeneratorURL string            `json:"generatorURL"`
		Fingerprint  string            `json:"fingerprint"`
	} `json:"alerts"`
}

func served(b *testing.B, h http.Handler, path string) {
	b.Helper()
	s := httptest.NewServer(h)
	defer s.Close()
	load(b, s.Listener.Addr().String(), path, nothing)
}

// debianWebhook runs a hook that wants a body of this status.
func debianWebhook(b *testing.B, status string) {
	program, err := exec.LookPath("webhook")
	if err != nil {
		b.Skip("Debian's webhook is not installed (apt-get install webhook)")
	}
	hooks := filepath.Join(b.TempDir(), "hooks.json")
	config := fmt.Sprintf(
		`[{"id":"am","execute-command":"/bin/true","trigger-rule":{"match":{"type":"value","value":%q,`+
			`"parameter":{"source":"payload","name":"status"}}}}]`, status,
	)
	if err := os.WriteFile(hooks, []byte(config), 0o600); err != nil {
		b.Fatal(err)
	}
	host, port, err := net.SplitHostPort(freeAddress(b))
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.CommandContext(b.Context(), program, "-hooks", hooks, "-ip", host, "-port", port)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	addr := net.JoinHostPort(host, port)
	for !answers(b.Context(), addr) {
		if b.Context().Err() != nil {
			b.Fatal("webhook does not listen")
		}
	}
	load(b, addr, "/hooks/am", func() time.Duration {
		_ = cmd.Process.Kill() // it may have ended; Wait says how
		_ = cmd.Wait()         // killed
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	})
}

func freeAddress(b *testing.B) string {
	b.Helper()
	l, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	if err := l.Close(); err != nil {
		b.Fatal(err)
	}
	return l.Addr().String()
}

func answers(ctx context.Context, addr string) bool {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}
