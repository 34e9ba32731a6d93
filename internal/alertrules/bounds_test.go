package alertrules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/alertrules"
)

func TestAnExpressionThatIsTooLongIsSaid(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("(", 500_000) + "vllm:num_requests_waiting > 5" + strings.Repeat(")", 500_000)
	const want = "the expression is too long to analyze: "
	if !alertrules.Concerns(deep, nil) {
		t.Error("a long expression that names a metric of vLLM's does not concern it")
	}
	if alertrules.Concerns(strings.Repeat("(", 500_000)+"up", nil) {
		t.Error("a long expression without such a name concerns vLLM")
	}
	if _, err := alertrules.Examine(deep, alertrules.Known{}); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Examine: %v", err)
	}
	if _, err := alertrules.Selectors(deep); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Selectors: %v", err)
	}
	if _, err := alertrules.Metrics(deep); err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("Metrics: %v", err)
	}
	if got := alertrules.Pretty(deep); got != deep {
		t.Error("Pretty changes what it cannot read")
	}
	v, err := alertrules.Examine("job:waiting > 5", alertrules.Known{
		Complete: true, Recorded: map[string][]string{"job:waiting": {deep}},
		Selectors: map[string]alertrules.Presence{"job:waiting": alertrules.Absent},
	})
	if err != nil || v.State != alertrules.Undecided ||
		!slices.ContainsFunc(v.Why, func(w string) bool {
			return strings.Contains(w, "job:waiting is too long to analyze")
		}) {
		t.Errorf("a recording rule that is too long: %+v, %v", v, err)
	}
}

// Recording rules that each rest on two others double with every level; forty levels would never end.
func TestRecordingRulesThatDoubleAreNotFollowedForever(t *testing.T) {
	t.Parallel()
	absent := map[string]alertrules.Presence{"r:40": alertrules.Absent}
	recorded := map[string][]string{"r:40": {"vllm:gpu_cache_usage_perc"}}
	for n := range 40 {
		absent[fmt.Sprintf("r:%d", n)] = alertrules.Absent
		recorded[fmt.Sprintf("r:%d", n)] = []string{
			fmt.Sprintf("r:%d + r:%d", n+1, n+1),
			fmt.Sprintf("r:%d * r:%d", n+1, n+1),
		}
	}
	if !alertrules.Concerns("r:0 > 1", recorded) || alertrules.Concerns("r:41 > 1", recorded) {
		t.Error("whether it rests on vLLM is not found out")
	}
	known := alertrules.Known{
		Complete: true,
		Metrics:  map[string]alertrules.Presence{"vllm:kv_cache_usage_perc": alertrules.Present}, Recorded: recorded,
		Selectors: absent,
	}
	for expr, want := range map[string]alertrules.State{"r:0 > 1": alertrules.Undecided, "r:38 > 1": alertrules.Never} {
		if v, err := alertrules.Examine(expr, known); err != nil || v.State != want {
			t.Errorf("%s: %+v, %v", expr, v, err)
		}
	}
}
