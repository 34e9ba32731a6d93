package sandbox

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/deploy/prometheus/rules"
)

// played is the fleet and its Prometheus in fast motion: a round passes in moments.
type played struct {
	*world

	t  *testing.T
	at time.Time
}

// open and throttled are the limits of round 1.
const open, throttled = 184, 129

// play makes a fleet that has just started, and its Prometheus.
func play(t *testing.T) *played {
	t.Helper()
	w := &world{
		log: slog.New(slog.DiscardHandler), say: t.Logf, meter: &meter{epoch: time.Now()},
		traffic: trafficFactor, pulled: pulled{on: map[string]bool{}},
	}
	if err := w.buildFleet(); err != nil {
		t.Fatal(err)
	}
	served := httptest.NewServer(w.fleet)
	t.Cleanup(served.Close)
	text, err := shortened(rules.Current)
	if err != nil {
		t.Fatal(err)
	}
	w.monitor, err = newMonitor(w.fleet, served.Listener.Addr().String(), text, w.log, w.say)
	if err != nil {
		t.Fatal(err)
	}
	p := &played{world: w, t: t}
	p.limit(open)
	p.at = w.meter.epoch
	return p
}

func (p *played) limit(n int) {
	p.t.Helper()
	if err := p.fleet.SetThrottle(n); err != nil {
		p.t.Fatal(err)
	}
}

// second lets a second pass, and returns how the fleet is then.
func (p *played) second() sample {
	p.t.Helper()
	p.fleet.Advance(time.Second)
	p.at = p.at.Add(time.Second)
	p.meter.take(p.at, p.fleet.State(), replicas)
	if err := p.monitor.scrape(p.t.Context(), func() time.Time { return p.at }); err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.monitor.prom.EvaluateRules(p.t.Context(), p.at); err != nil {
		p.t.Fatal(err)
	}
	return p.meter.last(1)[0]
}

// bot is the time to the first token as the bot reads it: the 95th percentile of what Prometheus has scraped.
func (p *played) bot() float64 {
	p.t.Helper()
	query := fmt.Sprintf("histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[%s])))",
		ruleWindow)
	q := url.Values{"query": {query}, "time": {p.at.Format(time.RFC3339Nano)}}
	w := httptest.NewRecorder()
	p.monitor.prom.ServeHTTP(w, httptest.NewRequestWithContext(p.t.Context(), http.MethodGet,
		"/api/v1/query?"+q.Encode(), http.NoBody))
	var got struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || len(got.Data.Result) != 1 {
		p.t.Fatalf("%v in %s", err, w.Body)
	}
	v, err := strconv.ParseFloat(fmt.Sprint(got.Data.Result[0].Value[1]), 64)
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// What the page says of TTFT is not late: during the recovery it is never far above what the bot reads, and where the
// bot finds it within its target, so does the page. It looks back half as far, so it may fall sooner.
func TestTheCardAndTheBotAgreeOnTheRecovery(t *testing.T) {
	t.Parallel()
	p := play(t)
	for range 15 {
		p.second()
	}
	if err := p.pull("traffic", true); err != nil {
		t.Fatal(err)
	}
	for range 25 {
		p.second()
	}
	if card, bot := p.meter.last(1)[0].TTFT, p.bot(); card < target || bot < target {
		t.Fatalf("the burst does no harm: the page says %.2f s, the bot reads %.2f s", card, bot)
	}
	p.limit(throttled)
	healed := 0
	for i := range 30 {
		s := p.second()
		bot := p.bot()
		t.Logf("%2d s: the page says %.2f s, the bot reads %.2f s; %d wait", i, s.TTFT, bot, s.Waiting)
		if bot <= target {
			healed++
		}
		if s.TTFT > bot*1.25+.25 || bot <= target && s.TTFT > target {
			t.Errorf("%d s after the throttle the page says %.2f s, and the bot reads %.2f s", i+1, s.TTFT, bot)
		}
		if i >= 20 && s.TTFT > target {
			t.Errorf("%d s after the throttle TTFT is %.2f s: the throttle alone does not heal the burst", i+1, s.TTFT)
		}
	}
	if healed < 10 {
		t.Errorf("the bot finds it healed in %d of 30 s", healed)
	}
}

// Nothing fires while all is well.
func TestACalmFleetFiresNothing(t *testing.T) {
	t.Parallel()
	p := play(t)
	for range 120 {
		p.second()
		if all := p.monitor.alerts(); strings.Contains(all, firing) {
			t.Fatalf("on a calm fleet: %s", all)
		}
	}
}
