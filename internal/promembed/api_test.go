package promembed_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

func loaded(t testing.TB, series ...promembed.Series) *promembed.Prometheus {
	t.Helper()
	p, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := p.Load(start, interval, series); err != nil {
		t.Fatal(err)
	}
	return p
}

// get asks over RoundTrip.
func get(t testing.TB, p http.RoundTripper, path string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://prometheus.invalid"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	err = errors.Join(err, resp.Body.Close())
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// vector is an instant query's answer: labels without the name, and the value as text. No series is nil.
func vector(t testing.TB, p http.RoundTripper, query string, at time.Time) map[string]string {
	t.Helper()
	form := url.Values{"query": {query}, "time": {strconv.FormatFloat(float64(at.UnixMilli())/1000, 'f', 3, 64)}}
	status, body := get(t, p, "/api/v1/query?"+form.Encode())
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d %s (%v)", query, status, body, err)
	}
	var out map[string]string
	for _, s := range answer.Data.Result {
		delete(s.Metric, "__name__")
		if out == nil {
			out = map[string]string{}
		}
		out[labels.FromMap(s.Metric).String()] = fmt.Sprint(s.Value[1])
	}
	return out
}

func TestAQueryEndsWithItsOwnTimeout(t *testing.T) {
	t.Parallel()
	status, body := get(t, loaded(t, promembed.Series{Series: "x", Values: "1"}), "/api/v1/query?query=x&timeout=1e-9")
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"errorType":"timeout"`) {
		t.Errorf("got %d %s", status, body)
	}
}

func TestASeriesWithoutASampleInTheTimeIsNotListed(t *testing.T) {
	t.Parallel()
	p := loaded(t, promembed.Series{Series: "x", Values: "_x3 1 _x4"})
	for times, want := range map[string]bool{
		"start=1767322800&end=1767322844": false,
		"start=1767322845&end=1767322845": true, "start=1767322846": false,
	} {
		_, body := get(t, p, "/api/v1/series?match[]=x&"+times)
		if got := body == `{"status":"success","data":[{"__name__":"x"}]}`; got != want {
			t.Errorf("%s: %s", times, body)
		}
	}
}

func TestItAnswersAsAServerToo(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(loaded(t, promembed.Series{Series: "x", Values: "7"}))
	t.Cleanup(srv.Close)
	if got := vector(t, redirected{srv.URL}, "x", start); got["{}"] != "7" {
		t.Errorf("got %v", got)
	}
}

// redirected sends requests to a server.
type redirected struct{ to string }

func (r redirected) RoundTrip(req *http.Request) (*http.Response, error) {
	u, err := url.Parse(r.to)
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host = u.Scheme, u.Host
	return http.DefaultTransport.RoundTrip(req)
}

func TestARequestEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	why := errors.New("the reader left")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	body := &closed{Reader: strings.NewReader("query=1")}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://p/api/v1/query", body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.RoundTrip(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	if !errors.Is(err, why) || !body.closed {
		t.Errorf("got %v, body closed: %v", err, body.closed)
	}
}

type closed struct {
	io.Reader
	closed bool
}

func (c *closed) Close() error { c.closed = true; return nil }

func TestSamplesMayComeWhileItIsAsked(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			ls := labels.FromStrings("__name__", "x", "writer", strconv.Itoa(w))
			for i := range 200 {
				if err := p.Append(ls, []promembed.Sample{{T: start.Add(time.Duration(i) * time.Second), V: 1}}); err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			for range 20 {
				vector(t, p, "sum(rate(x[5m]))", start.Add(time.Minute))
			}
		})
	}
	wg.Wait()
	if got := vector(t, p, "sum(count_over_time(x[1h]))", start.Add(time.Hour-time.Second)); got["{}"] != "800" {
		t.Errorf("got %v", got)
	}
}

func TestOptionsBoundAQuery(t *testing.T) {
	t.Parallel()
	if _, err := promembed.New(promembed.Options{Lookback: -1}); err == nil {
		t.Error("want an error")
	}
	p, err := promembed.New(promembed.Options{Lookback: 20 * time.Second, MaxSamples: 2})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Load(start, interval,
		[]promembed.Series{{Series: "x", Values: "1x9"}, {Series: "y", Values: "1"}}); err != nil {
		t.Fatal(err)
	}
	if got := vector(t, p, "y", start.Add(21*time.Second)); len(got) > 0 {
		t.Errorf("beyond the lookback: %v", got)
	}
	if status, body := get(t, p, "/api/v1/query?query=x[1d]&time=1767322900"); status != 422 ||
		!strings.Contains(body, "too many samples") {
		t.Errorf("got %d %s", status, body)
	}
}
