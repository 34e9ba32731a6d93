package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// listed runs "incidents list" against a bot that has n incidents.
func listed(t *testing.T, n int, args ...string) (out, errs string) {
	t.Helper()
	var all []incident.Incident
	for i := range n {
		all = append(all,
			incident.New(fmt.Sprintf("inc-%03d", i), "llama", incident.ModeApprove, false, time.Unix(int64(-i), 0)))
	}
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		rest := all
		if after := q.Get("after"); after != "" {
			rest = all[slices.IndexFunc(all, func(i incident.Incident) bool { return i.ID == after })+1:]
		}
		limit, err := strconv.Atoi(q.Get("limit"))
		if err != nil || q.Get("state") != "open" {
			t.Errorf("asked for %s", r.URL)
		}
		if err := json.NewEncoder(w).Encode(map[string]any{
			"incidents": rest[:min(limit, len(rest))], "pauses": []incident.Pause{
				{Pool: "mixtral", Reason: "a load\ntest", By: incident.Actor{Kind: "kubernetes", ID: "ada"}, At: time.Unix(60, 0)},
			},
		}); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(bot.Close)
	c := call{args: append([]string{"incidents", "list", "--state", "open", "--server", bot.URL}, args...), env: holder()}
	code, out, errs := c.run(t)
	if code != exitDone {
		t.Fatalf("exit code %d: %s%s", code, out, errs)
	}
	return out, errs
}

// Whoever counts the lines must know that there are more: 50 open incidents may be 66.
func TestAListingSaysThatItStops(t *testing.T) {
	t.Parallel()
	const says = "only the newest %d are shown; there are more: --limit (up to 200), --state and --pool choose others"
	for _, tt := range []struct {
		n     int
		args  []string
		lines int
		stops bool
	}{
		{66, nil, 50, true},
		{50, nil, 50, false},
		{3, nil, 3, false},
		{3, []string{"--limit", "2"}, 2, true},
		{250, []string{"--limit", "200"}, 200, true},
	} {
		out, errs := listed(t, tt.n, tt.args...)
		if got := strings.Count(out, "inc-"); got != tt.lines {
			t.Errorf("%d incidents, %v: %d lines", tt.n, tt.args, got)
		}
		if strings.Contains(errs, fmt.Sprintf(says, tt.lines)) != tt.stops || !tt.stops && errs != "" {
			t.Errorf("%d incidents, %v: %q", tt.n, tt.args, errs)
		}
	}
}

// Whoever lists incidents at night must not wonder why nothing is done about them.
func TestAListingSaysWhatIsPaused(t *testing.T) {
	t.Parallel()
	const says = "Writes are paused for pool mixtral since 1970-01-01 00:01:00 UTC by ada: a load test\n"
	for _, c := range []struct {
		n    int
		args []string
		want bool
	}{
		{3, nil, true},
		{0, nil, true},
		{3, []string{"--pool", "mixtral"}, true},
		{3, []string{"--pool", "llama"}, false},
		{3, []string{"-o", "json"}, false},
	} {
		out, _ := listed(t, c.n, c.args...)
		if strings.HasPrefix(out, says) != c.want || strings.Contains(out, says) != c.want {
			t.Errorf("%d incidents, %v:\n%s", c.n, c.args, out)
		}
	}
}

// A program that reads the JSON is told the same, and its input stays JSON.
func TestAListingForAProgramSaysThatItStopsBesideIt(t *testing.T) {
	t.Parallel()
	out, errs := listed(t, 3, "--limit", "2", "-o", "json")
	var got []incident.Incident
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != 2 || !strings.Contains(errs, "there are more") {
		t.Errorf("%v, %d incidents, %q", err, len(got), errs)
	}
}
