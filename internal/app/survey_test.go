package app_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

var surveyAt = time.Date(2025, time.November, 19, 10, 30, 0, 0, time.UTC)

// examine looks at a Prometheus in memory that has these series for an hour. What is broken is answered with 403.
func examine(
	t *testing.T, s app.SurveyOptions, broken func(*http.Request) bool, series ...promembed.Series,
) (app.Survey, error) {
	t.Helper()
	prom, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := prom.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := prom.Load(surveyAt.Add(-time.Hour), 15*time.Second, series); err != nil {
		t.Fatal(err)
	}
	cat, err := catalog.Load(playbooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.SLO, _ = cat.Profile("chat")
	return app.Examine(t.Context(), app.Options{
		Config: config.Config{Prometheus: config.Prometheus{URL: "http://prometheus.invalid"}}, Catalog: cat,
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return surveyAt },
		Transport: func(string, http.RoundTripper) http.RoundTripper { return forbidding{prom, broken} },
	}, s)
}

type forbidding struct {
	http.RoundTripper

	broken func(*http.Request) bool
}

func (f forbidding) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.broken != nil && f.broken(r) {
		return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	return f.RoundTripper.RoundTrip(r)
}

// gauges are the series of an idle engine.
func gauges(labels, values string) []promembed.Series {
	var out []promembed.Series
	for _, name := range []string{"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"} {
		out = append(out, promembed.Series{Series: "vllm:" + name + "{" + labels + "}", Values: values})
	}
	return out
}

func healths(s app.Survey) map[string]incident.Health {
	out := map[string]incident.Health{}
	for _, m := range s.Models {
		out[m.Name] = m.Health
	}
	return out
}

func TestEveryModelOfAPrometheusIsAssessed(t *testing.T) {
	t.Parallel()
	series := append(gauges(`namespace="llm",model_name="idle",pod="a"`, "0x240"),
		gauges(`namespace="llm",model_name="gone",pod="b"`, "0x200 stale")...)
	series = append(series, gauges(`model_name="idle",job="static"`, "0x240")...)
	got, err := examine(t, app.SurveyOptions{}, nil, series...)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]incident.Health{
		"llm/idle": incident.HealthNoTraffic, "llm/gone": incident.HealthNoData, "idle": incident.HealthUnread,
	}
	if d := cmp.Diff(want, healths(got)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got.Models[0].Name != "llm/gone" || got.Models[2].Name != "llm/idle" || !got.Wrong() {
		t.Errorf("not the worst first: %v", healths(got))
	}
	if m := got.Models[1]; !strings.Contains(m.Why, "llm/idle") {
		t.Errorf("whose series they may be is not said: %q", m.Why)
	}
	if !got.Rules.Unasked || got.Rules.Error {
		t.Errorf("an address that lists no rules: %+v", got.Rules)
	}
	if got, err = examine(t, app.SurveyOptions{Names: []string{"llm/idle"}}, nil, series...); err != nil || got.Wrong() {
		t.Errorf("without traffic nothing is wrong: %v, %v", healths(got), err)
	}
}

func TestAModelThatDoesNotExistIsAnError(t *testing.T) {
	t.Parallel()
	series := gauges(`namespace="llm",model_name="llama",pod="a"`, "0x240")
	for _, tc := range []struct {
		s    app.SurveyOptions
		want string
	}{
		{app.SurveyOptions{Names: []string{"llama", "qwen"}}, "qwen"},
		{app.SurveyOptions{Match: map[string]string{"namespace": "web"}}, ""},
	} {
		_, err := examine(t, tc.s, nil, series...)
		if missing := new(app.NoModelError); !errors.As(err, &missing) || missing.Asked != tc.want {
			t.Errorf("%+v: %v", tc.s, err)
		}
	}
}

func TestWhatCannotBeReadIsNotHealthy(t *testing.T) {
	t.Parallel()
	series := gauges(`namespace="llm",model_name="llama",pod="a"`, "0x240")
	signals := func(r *http.Request) bool {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		q := r.Form.Get("query")
		return q != "" && !strings.Contains(q, "count by (__name__")
	}
	got, err := examine(t, app.SurveyOptions{}, signals, series...)
	if err != nil || got.Models[0].Health != incident.HealthUnread || !strings.Contains(got.Models[0].Why, "403") {
		t.Errorf("%v, %v", healths(got), err)
	}
	everything := func(*http.Request) bool { return true }
	_, err = examine(t, app.SurveyOptions{}, everything, series...)
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("nothing could be read: %v", err)
	}
}

func TestAnInterruptedSurveyIsNoAnswer(t *testing.T) {
	t.Parallel()
	prom, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer prom.Close() //nolint:errcheck // nothing was put in
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = app.Examine(ctx, app.Options{
		Config: config.Config{Prometheus: config.Prometheus{URL: "http://prometheus.invalid"}},
		Logger: slog.New(slog.DiscardHandler), Transport: func(string, http.RoundTripper) http.RoundTripper { return prom },
	}, app.SurveyOptions{})
	if err == nil {
		t.Error("it answers")
	}
}
