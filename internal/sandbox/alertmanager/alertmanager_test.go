package alertmanager_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/alertmanager"
)

// receiver takes deliveries without a network, so that time in a test can be virtual.
type receiver struct {
	mu     sync.Mutex
	start  time.Time
	fail   []int // answers to give first; 0 is no answer
	got    []string
	tokens []string
}

// RoundTrip implements http.RoundTripper.
func (r *receiver) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tokens = append(r.tokens, req.Header.Get("Authorization"))
	status := http.StatusOK
	if len(r.fail) > 0 {
		status, r.fail = r.fail[0], r.fail[1:]
	}
	w := httptest.NewRecorder()
	w.WriteHeader(max(status, http.StatusContinue))
	r.got = append(r.got, fmt.Sprintf("%v %d %s", time.Since(r.start).Round(time.Second), status, summary(body)))
	if status == 0 {
		return nil, errors.New("connection refused")
	}
	return w.Result(), nil
}

// summary is a body in a line: the group, why, and its alerts.
func summary(body []byte) string {
	var m struct {
		GroupKey string `json:"groupKey"`
		Status   string `json:"status"`
		Reason   string `json:"notification_reason"`
		Alerts   []struct {
			Status string            `json:"status"`
			Labels map[string]string `json:"labels"`
		} `json:"alerts"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return err.Error()
	}
	out := m.GroupKey + " " + m.Status + ", " + m.Reason + ":"
	for _, a := range m.Alerts {
		out += " " + a.Labels["alertname"] + "=" + a.Status
	}
	return out
}

func (r *receiver) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string{}, r.got...)
}

func config(rt http.RoundTripper) alertmanager.Config {
	return alertmanager.Config{
		Receiver: "vllm-medic", URL: "http://medic.example.com/api/v1/alertmanager", Token: "secret-token",
		GroupBy: []model.LabelName{"namespace", "model_name"}, GroupWait: 10 * time.Second, GroupInterval: time.Minute,
		RepeatInterval: time.Hour, ExternalURL: "http://alertmanager.example.com",
		Client: &http.Client{Transport: rt}, Logger: slog.New(slog.DiscardHandler),
	}
}

// fires is an alert that fires for an hour unless something more is heard.
func fires(name, pool string) model.Alert {
	now := time.Now()
	labels := model.LabelSet{"namespace": "llm"}
	labels["alertname"], labels["model_name"] = model.LabelValue(name), model.LabelValue(pool)
	return model.Alert{
		Labels: labels, StartsAt: now, EndsAt: now.Add(24 * time.Hour),
	}
}

func resolved(a model.Alert) model.Alert {
	a.EndsAt = time.Now()
	return a
}

// running is an Alertmanager until the test ends.
func running(t *testing.T, cfg alertmanager.Config) *alertmanager.Alertmanager {
	t.Helper()
	am, err := alertmanager.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { am.Run(t.Context()) })
	t.Cleanup(wg.Wait)
	return am
}

func put(t *testing.T, am *alertmanager.Alertmanager, alerts ...model.Alert) {
	t.Helper()
	if err := am.Put(alerts...); err != nil {
		t.Fatal(err)
	}
}

func wantDeliveries(t *testing.T, r *receiver, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, r.all()); diff != "" {
		t.Errorf("deliveries (-want +got):\n%s", diff)
	}
}

const one = `{}:{model_name="one", namespace="llm"} `

func TestAGroupIsToldOnceWithAllThatCameTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{start: time.Now()}
		am := running(t, config(r))
		put(t, am, fires("TTFT", "one"))
		time.Sleep(5 * time.Second)
		put(t, am, fires("Queue", "one"), fires("TTFT", "two"))
		time.Sleep(30 * time.Minute)
		wantDeliveries(t, r,
			"10s 200 "+one+"firing, first notification: Queue=firing TTFT=firing",
			`15s 200 {}:{model_name="two", namespace="llm"} firing, first notification: TTFT=firing`)
		if r.tokens[0] != "Bearer secret-token" {
			t.Errorf("the token was %q", r.tokens[0])
		}
	})
}

func TestNewsIsToldAtTheNextInterval(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{start: time.Now()}
		am := running(t, config(r))
		ttft, queue := fires("TTFT", "one"), fires("Queue", "one")
		put(t, am, ttft)
		time.Sleep(20 * time.Second)
		put(t, am, queue)
		time.Sleep(100 * time.Second)
		put(t, am, resolved(ttft))
		time.Sleep(time.Minute)
		put(t, am, resolved(queue))
		time.Sleep(2 * time.Hour)
		put(t, am, fires("TTFT", "one"))
		time.Sleep(time.Minute)
		wantDeliveries(t, r,
			"10s 200 "+one+"firing, first notification: TTFT=firing",
			"1m10s 200 "+one+"firing, new alerts added: Queue=firing TTFT=firing",
			"2m10s 200 "+one+"firing, some alerts resolved: Queue=firing TTFT=resolved",
			"3m10s 200 "+one+"resolved, all alerts resolved: Queue=resolved",
			"2h3m10s 200 "+one+"firing, first notification: TTFT=firing")
	})
}

func TestAnAlertThatPrometheusNoLongerSendsIsResolved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{start: time.Now()}
		am := running(t, config(r))
		a := fires("TTFT", "one")
		a.EndsAt = a.StartsAt.Add(4 * time.Minute)
		put(t, am, a)
		time.Sleep(time.Hour)
		wantDeliveries(t, r,
			"10s 200 "+one+"firing, first notification: TTFT=firing",
			"4m10s 200 "+one+"resolved, all alerts resolved: TTFT=resolved")
	})
}

func TestAFiringGroupIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{start: time.Now()}
		am := running(t, config(r))
		put(t, am, fires("TTFT", "one"))
		time.Sleep(130 * time.Minute)
		wantDeliveries(t, r,
			"10s 200 "+one+"firing, first notification: TTFT=firing",
			"1h1m10s 200 "+one+"firing, repeat interval elapsed: TTFT=firing",
			"2h2m10s 200 "+one+"firing, repeat interval elapsed: TTFT=firing")
	})
}

func TestWhatWasNotAcceptedIsDeliveredAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{start: time.Now(), fail: []int{0, 503, 429, 400}}
		cfg := config(r)
		var told []alertmanager.Delivery
		cfg.Delivered = func(d alertmanager.Delivery) { told = append(told, d) }
		am := running(t, cfg)
		put(t, am, fires("TTFT", "one"))
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		got := r.all()
		// Without an answer and after the receiver's failure at once; after a refusal only at the next turn of the group.
		if len(got) != 5 || len(told) != 1 {
			t.Fatalf("deliveries %v, told of %v", got, told)
		}
		for i, want := range []string{" 0 ", " 503 ", " 429 ", "1m10s 400 ", "2m10s 200 "} {
			if !strings.Contains(got[i], want) {
				t.Errorf("delivery %d is %s, want %s", i, got[i], want)
			}
		}
		if strings.HasPrefix(got[2], "1m") {
			t.Errorf("it was not tried again within the turn: %v", got)
		}
	})
}

func TestAlertsThatAreNotValidAreRefusedAndTheOthersTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := &receiver{start: time.Now()}
		am := running(t, config(r))
		backwards, endless := fires("Backwards", "one"), fires("Endless", "one")
		backwards.EndsAt = backwards.StartsAt.Add(-time.Second)
		endless.EndsAt = time.Time{}
		err := am.Put(model.Alert{StartsAt: time.Now(), EndsAt: time.Now()}, backwards, endless, fires("TTFT", "one"))
		if err == nil || !strings.Contains(err.Error(), "Backwards") || !strings.Contains(err.Error(), "Endless") {
			t.Errorf("%v", err)
		}
		time.Sleep(time.Minute)
		wantDeliveries(t, r, "10s 200 "+one+"firing, first notification: TTFT=firing")
	})
}

func TestWithoutARouteThereIsNone(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*alertmanager.Config){
		"no URL":       func(c *alertmanager.Config) { c.URL = "" },
		"no receiver":  func(c *alertmanager.Config) { c.Receiver = "" },
		"no times":     func(c *alertmanager.Config) { c.GroupInterval = 0 },
		"no client":    func(c *alertmanager.Config) { c.Client = nil },
		"external URL": func(c *alertmanager.Config) { c.ExternalURL = "://" },
	} {
		cfg := config(&receiver{})
		spoil(&cfg)
		if _, err := alertmanager.New(cfg); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// A secret is in no log, whatever goes wrong.
func TestTheTokenIsNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		cfg := config(&receiver{start: time.Now(), fail: []int{401}})
		cfg.Logger = slog.New(slog.NewTextHandler(&log, nil))
		am := running(t, cfg)
		put(t, am, fires("TTFT", "one"))
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if !strings.Contains(log.String(), "401") || strings.Contains(log.String(), "secret-token") {
			t.Errorf("%s", log.String())
		}
	})
}
