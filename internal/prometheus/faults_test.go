package prometheus

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

func TestTransientFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	fine := promtest.Value("5")
	for _, tt := range []struct {
		name  string
		first promtest.Reply
	}{
		{"503", promtest.Reply{Status: http.StatusServiceUnavailable, Body: "Service Unavailable"}},
		{"502 of a proxy", promtest.Reply{Status: http.StatusBadGateway, Body: "<html>"}},
		{"429", promtest.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "0"}}},
		{"a reset connection", promtest.Reply{Before: reset}},
		{"an answer that ends early", promtest.Reply{Before: halfAnswer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, f := askOnce(t, Config{}, tt.first, fine)
			if got != (outcome{value: "5"}) {
				t.Errorf("got %+v", got)
			}
			if n := len(f.Requests()); n != 2 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// reset ends a connection so that the client sees a reset.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(interface{ SetLinger(int) error }); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}

func halfAnswer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	promtest.Write(w, `{"status":`)
	panic(http.ErrAbortHandler)
}

func TestRetriesEndAndKeepTheRealError(t *testing.T) {
	t.Parallel()
	busy := promtest.Reply{
		Status: http.StatusServiceUnavailable,
		Body:   `{"status":"error","errorType":"unavailable","error":"TSDB not ready"}`,
	}
	got, _ := askOnce(t, Config{}, busy, busy, busy)
	want := "Prometheus answered 503 Service Unavailable: unavailable: TSDB not ready (3 attempts)"
	if got.err != want || got.value != "" {
		t.Errorf("error = %q; want %q", got.err, want)
	}
}

func TestFinalFailuresAreNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		answer promtest.Reply
		want   string
	}{
		{
			"bad_data",
			promtest.Reply{
				Status: http.StatusBadRequest,
				Body:   `{"status":"error","errorType":"bad_data","error":"invalid parameter \"query\""}`,
			},
			`Prometheus answered 400 Bad Request: bad_data: invalid parameter "query"`,
		},
		{
			"execution",
			promtest.Reply{
				Status: http.StatusUnprocessableEntity,
				Body:   `{"status":"error","errorType":"execution","error":"many-to-many matching"}`,
			},
			"Prometheus answered 422 Unprocessable Entity: execution: many-to-many matching",
		},
		{
			"Prometheus' own timeout",
			promtest.Reply{
				Status: http.StatusServiceUnavailable,
				Body:   `{"status":"error","errorType":"timeout","error":"query timed out"}`,
			},
			"Prometheus answered 503 Service Unavailable: timeout: query timed out",
		},
		{
			"401",
			promtest.Reply{Status: http.StatusUnauthorized, Body: "token s3cret is wrong"},
			"Prometheus answered 401 Unauthorized: check the credentials in prometheus.http_config",
		},
		{
			"404",
			promtest.Reply{Status: http.StatusNotFound, Body: "404 page not found"},
			"Prometheus answered 404 Not Found: check the path in prometheus.url",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, f := askOnce(t, Config{}, tt.answer)
			if got.err != tt.want {
				t.Errorf("error = %q; want %q", got.err, tt.want)
			}
			if n := len(f.Requests()); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestForbiddenPostIsAskedAgainByGet(t *testing.T) {
	t.Parallel()
	got, f := askOnce(t, Config{}, promtest.Reply{Status: http.StatusForbidden}, promtest.Value("5"))
	if got != (outcome{value: "5"}) {
		t.Fatalf("got %+v", got)
	}
	var methods []string
	for _, r := range f.Requests() {
		methods = append(methods, r.Method)
		if r.Form.Get("partial_response") != "false" {
			t.Errorf("%s without partial_response: %v", r.Method, r.Form)
		}
	}
	if strings.Join(methods, " ") != "POST GET" {
		t.Errorf("methods = %v", methods)
	}
}

func TestASlowQueryEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	hang := promtest.Reply{Before: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }}
	got, f := askOnce(t, Config{QueryTimeout: time.Second}, hang)
	if got.err != "Prometheus gave no answer within 1s" {
		t.Errorf("error = %q", got.err)
	}
	if n := len(f.Requests()); n != 1 {
		t.Errorf("a query that is too slow was asked %d times", n)
	}
	for _, r := range f.Requests() {
		if r.Form.Get("timeout") != "1s" {
			t.Errorf("Prometheus was not told the timeout: %v", r.Form)
		}
	}
}

func TestALargeAnswerIsRefused(t *testing.T) {
	t.Parallel()
	large := promtest.Success("vector", `[{"metric":{"a":"`+strings.Repeat("x", 40_000)+`"},"value":[1,"12"]}]`)
	for name, r := range map[string]promtest.Reply{
		"announced": {Body: large},
		"streamed": {Before: func(w http.ResponseWriter, _ *http.Request) {
			for chunk := large; chunk != ""; {
				n := min(len(chunk), 4096)
				promtest.Write(w, chunk[:n])
				_ = http.NewResponseController(w).Flush()
				chunk = chunk[n:]
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _ := askOnce(t, Config{ResponseLimit: 16 << 10}, r)
			if !strings.Contains(got.err, "larger than 16384 bytes") || got.value != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestARedirectNamesTheNewAddressAndIsNotFollowedElsewhere(t *testing.T) {
	t.Parallel()
	for _, follow := range []bool{false, true} {
		cfg := Config{}
		cfg.HTTPConfig.FollowRedirects = follow
		got, _ := askOnce(
			t,
			cfg,
			promtest.Reply{
				Status: http.StatusTemporaryRedirect,
				Header: map[string]string{"Location": "https://user:hunter2@login.example.com/oauth?token=hunter2"},
			},
		)
		want := "Prometheus answered 307 Temporary Redirect and leads to https://login.example.com/oauth: set " +
			"prometheus.url to the address that answers itself"
		if got.err != want {
			t.Errorf("follow %v: error = %q", follow, got.err)
		}
	}
}

func TestARedirectOnTheSameHostIsFollowedWhenAsked(t *testing.T) {
	t.Parallel()
	cfg := Config{}
	cfg.HTTPConfig.FollowRedirects = true
	moved := promtest.Reply{
		Status: http.StatusTemporaryRedirect,
		Header: map[string]string{"Location": "/moved/api/v1/query"},
	}
	got, f := askOnce(t, cfg, moved, promtest.Value("5"))
	if got != (outcome{value: "5"}) {
		t.Errorf("got %+v", got)
	}
	if second := f.Requests()[1]; second.Path != "/moved/api/v1/query" || second.Form.Get("query") != "up" {
		t.Errorf("followed to %+v", second)
	}
}

func TestRetryAfterIsObeyedUpToACap(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]time.Duration{"2": 2 * time.Second, "3600": maxBackoff} {
		synctest.Test(t, func(t *testing.T) {
			busy := promtest.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": header}}
			f := promtest.NewFake(t, busy, promtest.Value("1"))
			c := newClient(
				t,
				Config{URL: "http://prometheus", Transport: func(http.RoundTripper) http.RoundTripper { return f }},
			)
			begin := time.Now()
			if got := ask(t, c); got.err != "" {
				t.Fatal(got.err)
			}
			if took := time.Since(begin); took < want || took > want+time.Second {
				t.Errorf("Retry-After %s: waited %v", header, took)
			}
		})
	}
}
