package evidence

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// linked is an alert whose generator URL has this expression.
func linked(name, expr string) incident.Alert {
	return incident.Alert{
		Firing: true, Labels: map[string]string{"alertname": name},
		GeneratorURL: "http://p/graph?g0.expr=" + url.QueryEscape(expr),
	}
}

// Whoever may send an alert chooses its expression. One that would keep the parser for hours costs the investigation
// nothing, and is said.
func TestAHostileExpressionDoesNotHoldUpALook(t *testing.T) {
	t.Parallel()
	f := newFakeProm(t)
	f.dialect(llmMatchers, v1Names(), nil)
	c := newCollector(t, asking(f.Serve()), nil)
	hostile := linked("Hostile", strings.Repeat("(", 500_000)+"vllm:num_requests_waiting"+strings.Repeat(")", 500_000))
	ev := c.Collect(t.Context(), llmPool(), nil,
		CollectOptions{Alerts: []incident.Alert{hostile, linked("NotOurs", strings.Repeat("(", 500_000)+"up")}})
	if len(ev.Unexamined) != 1 || ev.Unexamined[0].Alert != "Hostile" ||
		!strings.HasPrefix(ev.Unexamined[0].Why, "too long to analyze: ") {
		t.Errorf("it is not said: %+v", ev.Unexamined)
	}
	if ev.DeadAlerts != nil {
		t.Errorf("no alert is dead although one was not looked at: %+v", ev.DeadAlerts)
	}
}

func TestOnlySoManyExpressionsAreExaminedInOneLook(t *testing.T) {
	t.Parallel()
	exprs := map[string]string{"NotVLLM": "up == 0"}
	for n := range mostExpressions + 7 {
		exprs[fmt.Sprintf("A%03d", n)] = "vllm:num_requests_waiting > 5"
	}
	got, unexamined := examinable(t.Context(), exprs)
	if len(got) != mostExpressions || len(unexamined) != 7 || unexamined[0].Alert != "A050" ||
		!strings.Contains(unexamined[0].Why, "more than 50") {
		t.Errorf("%d are examined, and not %+v", len(got), unexamined)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if got, unexamined = examinable(ended, exprs); len(got) != 0 || unexamined[0].Why != outOfTime {
		t.Errorf("after the deadline %d are examined, and not %+v", len(got), unexamined)
	}
}

func TestALoadedRuleThatIsTooLongIsUndecidedAndSaid(t *testing.T) {
	t.Parallel()
	c := newCollector(t, asking(newFakeProm(t).Serve()), nil)
	v := c.examine(t.Context(), strings.Repeat("-", 1000)+"vllm:num_requests_waiting", alertrules.Known{}, time.Now())
	if v.State != alertrules.Undecided || len(v.Why) != 1 ||
		!strings.HasPrefix(v.Why[0], "the expression is too long to analyze: ") {
		t.Errorf("got %+v", v)
	}
}
