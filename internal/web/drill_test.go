package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestADrillIsOrderedByWhoeverMayDecide(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.pools = []incident.Pool{{Name: "llama"}}
	for _, body := range []string{`{"scenario":"queue","pool":"llama"}`, `{"scenario":"queue"}`} {
		s.expect("drill", incident.DrillOrder{Pool: "llama", Scenario: "queue", By: ada}, "drill-1", nil)
		rec := s.ask(post, "/api/v1/drills", "ada-token", body)
		if rec.Code != http.StatusOK || !strings.Contains(rec.Body.String(), `"id":"drill-1"`) {
			t.Errorf("%s: %d %s", body, rec.Code, rec.Body)
		}
	}
}

func TestADrillThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.pools = []incident.Pool{{Name: "llama"}, {Name: "qwen"}}
	for body, want := range map[string]string{
		`{}`:                              "scenario is required",
		`{"scenario":"queue"}`:            "pool is required; the pools are llama, qwen",
		`{"scenario":"queue","id":"x"}`:   "the body must be",
		`{"scenario":"queue","by":"ada"}`: "the body must be",
	} {
		got := s.refused(s.ask(post, "/api/v1/drills", "ada-token", body), http.StatusBadRequest)
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q", body, got)
		}
	}
	s.expect("drill", incident.DrillOrder{Pool: "qwen", Scenario: "queue", By: ada}, nil,
		&incident.RefusedError{Reason: "Pool qwen has a real incident."})
	got := s.refused(s.ask(post, "/api/v1/drills", "ada-token", `{"scenario":"queue","pool":"qwen"}`), http.StatusConflict)
	if got != "Pool qwen has a real incident." {
		t.Errorf("said %q", got)
	}
}
