package prometheus

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/test/promtest"
)

// newClient makes a client with short waits for tests.
func newClient(t *testing.T, cfg Config) *Client {
	t.Helper()
	if cfg.RetryBase == 0 {
		cfg.RetryBase = time.Millisecond
	}
	c, err := New(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// outcome is the value of an answer, or the error in its place.
type outcome struct{ value, err string }

// askOnce asks one query whose answers are given.
func askOnce(t *testing.T, cfg Config, answers ...promtest.Reply) (outcome, *promtest.Fake) {
	t.Helper()
	f := promtest.NewFake(t, answers...)
	cfg.URL = f.Serve()
	return ask(t, newClient(t, cfg)), f
}

func ask(t *testing.T, c *Client) outcome {
	t.Helper()
	got, err := c.Instant(t.Context(), "up", time.Now())
	if err != nil {
		return outcome{err: err.Error()}
	}
	v, ok := got.Value.(model.Vector)
	if !ok || len(v) != 1 {
		t.Fatalf("answer = %v", got.Value)
	}
	return outcome{value: v[0].Value.String()}
}
