package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTestAlertPostsOneMarkedAlert(t *testing.T) {
	t.Parallel()
	type alert struct {
		Labels           map[string]string
		StartsAt, EndsAt time.Time
	}
	var got []alert
	answer := http.StatusOK
	am := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/api/v2/alerts" || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		w.WriteHeader(answer)
	}))
	t.Cleanup(am.Close)
	file := filepath.Join(t.TempDir(), "medic.yaml")
	if err := os.WriteFile(file, []byte(`
listen: {api: "127.0.0.1:8080"}
prometheus: {url: "http://prometheus:9090"}
pools:
  - {name: a, match: {model_name: m}, matchers: {model_name: m}}
  - {name: b, match: {model_name: n}, matchers: {model_name: n}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want map[string]string
	}{
		{[]string{"--label", "model_name=x", "--label", "alertname=Other"}, map[string]string{"model_name": "x"}},
		{[]string{"--config", file, "--pool", "b"}, map[string]string{"model_name": "n"}},
	} {
		code, _, errs := call{args: append([]string{"test-alert", "--alertmanager", am.URL + "/"}, tt.args...)}.run(t)
		if code != exitDone || len(got) != 1 {
			t.Fatalf("%v: exit %d, %s, %v", tt.args, code, errs, got)
		}
		tt.want["alertname"], tt.want["severity"] = "vLLMMedicTestAlert", "warning"
		if d := cmp.Diff(tt.want, got[0].Labels); d != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, d)
		}
		if lasts := got[0].EndsAt.Sub(got[0].StartsAt); lasts != testAlertLasts {
			t.Errorf("it lasts %s", lasts)
		}
	}
	answer = http.StatusUnauthorized
	for _, tt := range []struct {
		code  int
		words string
		args  []string
	}{
		{exitUsage, "--alertmanager URL is required", []string{"--label", "a=b"}},
		{exitUsage, "--pool must be a or b", []string{"--alertmanager", am.URL, "--config", file}},
		{exitUsage, "--label LABEL=VALUE, or --config FILE, is required", []string{"--alertmanager", am.URL}},
		{exitFail, "wants other credentials", []string{"--alertmanager", am.URL, "--label", "a=b"}},
		{exitFail, "is it Alertmanager's address?", []string{"--alertmanager", am.URL + "/x", "--label", "a=b"}},
		{exitFail, "does not respond", []string{"--alertmanager", "http://127.0.0.1:1", "--label", "a=b"}},
	} {
		if code, _, errs := (call{args: append([]string{"test-alert"}, tt.args...)}).run(t); code != tt.code ||
			!strings.Contains(errs, tt.words) {
			t.Errorf("%v: exit %d, %q", tt.args, code, errs)
		}
	}
}
