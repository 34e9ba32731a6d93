package slack

import (
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// A connection that is cut every two seconds is opened again at once each time. One that is cut more often
// than is bearable is not.
func TestHowSoonTheNextConnectionIsOpened(t *testing.T) {
	t.Parallel()
	cfg := SocketConfig{}.withDefaults()
	begin := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		lived       time.Duration
		cuts, waits int
	}{
		"cut every 2 s for 150 s":     {2 * time.Second, 75, 0},
		"cut five times a second":     {200 * time.Millisecond, 100, 60},
		"ended by Slack once an hour": {time.Hour, 24, 0},
	} {
		p, at, waits := pace{}, begin, 0
		for range tt.cuts {
			at = at.Add(tt.lived)
			if !p.ended(at, tt.lived, cfg) {
				waits++
			}
		}
		if waits != tt.waits {
			t.Errorf("%s: %d waits in %d, want %d", name, waits, tt.cuts, tt.waits)
		}
		if often := p.cuts(at) > 0; often != (tt.lived < time.Minute) {
			t.Errorf("%s: cut often is %v", name, often)
		}
		if p.cuts(at.Add(2*unsteadyFor)) != 0 {
			t.Errorf("%s: it is not over", name)
		}
	}
}

// Each click between two cuts arrives: nothing waits before the next connection, which here would take an hour.
func TestClicksArriveBetweenCuts(t *testing.T) {
	t.Parallel()
	cfg := quick()
	cfg.Settled, cfg.Retry, cfg.RetryMax = time.Hour, time.Hour, time.Hour
	f := newOfficeIn(t, fakeslack.Options{SocketMode: true}, InteractionsConfig{}, asked(t, incident.ModeApprove).inc)
	f.SetInteractivityURL("http://127.0.0.1:1/") // nothing may be sent there
	f.desk.approvers = incident.Approvers{}
	s := f.plug(cfg, f.bot)
	const cuts = 8
	for n := range cuts {
		if got := f.click(f.request("U0ALICE", "approve:p1-s3")); got == "" {
			t.Errorf("click %d was not answered", n)
		}
		f.CutSockets()
		until(t, "the next connection", func() bool { return s.State().Opened == int64(n+2) && s.State().Open == 1 })
	}
	trouble, is := s.Trouble()
	if !is || !strings.Contains(trouble.Text, "was cut 8 times in a minute") || trouble.Next == "" {
		t.Errorf("trouble: %+v", trouble)
	}
	if n := strings.Count(f.logs.String(), "cut again and again"); n != 1 {
		t.Errorf("it was logged %d times", n)
	}
}
