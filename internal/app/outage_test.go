package app_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// A database that hangs is seen from outside: not ready, not up, each delivery answered 503. It is no reason for a
// restart, and over by itself.
func TestADatabaseThatHangsIsSeenFromOutside(t *testing.T) {
	t.Parallel()
	proxy, through := storetest.Through(t, storetest.PostgreSQL(t))
	opts := options(t)
	opts.Config.StoreURL = config.Fixed(through)
	a := run(t, opts)
	api, ops := "http://"+a.Addr("api"), "http://"+a.Addr("ops")
	deliver := func() int {
		code, _ := ask(t, http.MethodPost, api+"/api/v1/alertmanager", "hook-secret-of-tests", payload)
		return code
	}
	shows := func(path, text string, code int) func() bool {
		return func() bool {
			got, body := ask(t, http.MethodGet, ops+path, "", "")
			return got == code && strings.Contains(body, text)
		}
	}
	until(t, "ready", shows("/readyz", "ready", 200))
	if code := deliver(); code != 200 {
		t.Fatalf("a delivery is answered %d", code)
	}
	proxy.Hang()
	until(t, "not ready", shows("/readyz", "the database does not answer", 503))
	until(t, "not up", shows("/metrics", "\nvllm_medic_store_up 0\n", 200))
	if code := deliver(); code != 503 {
		t.Errorf("while the database hangs a delivery is answered %d", code)
	}
	if !shows("/healthz", "ok", 200)() {
		t.Error("a restart is asked for, which does not help")
	}
	proxy.Resume()
	until(t, "ready again", shows("/readyz", "ready", 200))
	until(t, "up again", shows("/metrics", "\nvllm_medic_store_up 1\n", 200))
	if code := deliver(); code != 200 {
		t.Errorf("afterwards a delivery is answered %d", code)
	}
}

// run runs a bot, and stops it after the test.
func run(t testing.TB, opts app.Options) *app.App {
	t.Helper()
	a, err := app.New(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	a.Start(t.Context())
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), process.Patience)
		defer cancel()
		if err := a.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return a
}

// until waits until a condition holds.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(process.Patience); !holds(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never: %s", what)
		}
	}
}
