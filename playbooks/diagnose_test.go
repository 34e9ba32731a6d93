package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// thrash are the readings of a pool that preempts; everything else suffers with it.
func thrash() map[string]float64 {
	return with(map[string]float64{
		"kv_usage": 0.98, "kv_usage_max": 0.98, "kv_usage_held": 0.97, "kv_usage_peak": 0.99, "kv_second_pod": 0.98,
		"waiting_worst_pod": 32, "waiting_second_pod": 28, "preemption_rate": 3, "waiting": 60, "waiting_per_engine": 30,
		"waiting_per_engine_mean": 30, "ttft_p95": 9, "tpot_p95": 0.4, "tpot_p50": 0.2,
		"queue_time_p95": 6, "unfinished_ratio": 0.6,
	})
}

func TestTheCauseIsChosenBeforeItsSymptoms(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMHighTTFT", "vLLMHighAbortRate"), Pool: chat(),
		Evidence: readings(thrash()),
	})
	if nameOf(got.Diagnosis) != "kv-thrash" {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	for _, name := range []string{"queueing", "client-timeouts"} {
		o := verdictOf(t, got, name)
		if o.Verdict != incident.True || !strings.HasPrefix(o.Why, "symptom of kv thrash (") {
			t.Errorf("%s: %s %q", name, o.Verdict, o.Why)
		}
	}
	want := []incident.Condition{
		{
			Text: "kv_usage_peak > 95%", Truth: incident.True, Signal: "kv_usage_peak", Label: "KV cache peak", Seen: "99%",
			Relation: incident.RelationAbove, Threshold: "95%",
			SeenValue:      incident.Amount{Value: 0.99, Unit: incident.UnitRatio},
			ThresholdValue: incident.Amount{Value: 0.95, Unit: incident.UnitRatio},
		},
		{
			Text: "preemption_rate > 0", Truth: incident.True, Signal: "preemption_rate", Label: "Preemptions", Seen: "3/s",
			Relation: incident.RelationAbove, Threshold: "0/s",
			SeenValue:      incident.Amount{Value: 3, Unit: incident.UnitPerSecond},
			ThresholdValue: incident.Amount{Value: 0, Unit: incident.UnitPerSecond},
		},
		{
			Text: "preemption_rate > 0.1 * finished_rate", Truth: incident.True, Signal: "preemption_rate",
			Label: "Preemptions", Seen: "3/s", Relation: incident.RelationAbove, Threshold: "0.6/s (10% of Finished requests)",
			ThresholdFrom:  incident.OriginReading,
			SeenValue:      incident.Amount{Value: 3, Unit: incident.UnitPerSecond},
			ThresholdValue: incident.Amount{Value: 0.6, Unit: incident.UnitPerSecond},
		},
		{
			Text: "preemption_rate_lately <= 0", Truth: incident.False, Signal: "preemption_rate_lately",
			Label: "Preemptions (2 min)", Seen: "3/s", Relation: incident.RelationAtMost, Threshold: "0/s",
			SeenValue:      incident.Amount{Value: 3, Unit: incident.UnitPerSecond},
			ThresholdValue: incident.Amount{Value: 0, Unit: incident.UnitPerSecond},
		},
		{
			Text: "absent(finished_rate)", Truth: incident.False, Signal: "finished_rate", Label: "Finished requests",
			Seen: "6/s", Relation: incident.RelationAbsent,
			SeenValue: incident.Amount{Value: 6, Unit: incident.UnitPerSecond},
		},
		{
			Text: "kv_usage_max <= 95%", Truth: incident.False, Signal: "kv_usage_max", Label: "KV cache max", Seen: "98%",
			Relation: incident.RelationAtMost, Threshold: "95%",
			SeenValue:      incident.Amount{Value: 0.98, Unit: incident.UnitRatio},
			ThresholdValue: incident.Amount{Value: 0.95, Unit: incident.UnitRatio},
		},
	}
	if diff := cmp.Diff(want, got.Diagnosis.Evidence, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
		t.Error(diff)
	}
	if got.Diagnosis.Doc != "docs/playbooks/preemption.md" || got.Diagnosis.Playbook != "preemption" {
		t.Errorf("the diagnosis points to %s, %s", got.Diagnosis.Playbook, got.Diagnosis.Doc)
	}
}

func TestWithoutTheCauseTheSymptomIsChosen(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	values := thrash()
	values["preemption_rate"] = 0
	values["kv_usage"], values["kv_usage_held"], values["kv_usage_peak"] = 0.6, 0.6, 0.7
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: readings(values)})
	if nameOf(got.Diagnosis) != "queueing" {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	if o := verdictOf(t, got, "kv-thrash"); o.Verdict != incident.False ||
		o.Why != "KV cache peak 70%, not above 95%" {
		t.Errorf("kv-thrash: %+v", o)
	}
	if got.Note != "" {
		t.Errorf("there is nothing to note, and the note is %q", got.Note)
	}
}

func TestADeeperCauseThatCannotBeRuledOutIsSaid(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	values := thrash()
	delete(values, "preemption_rate")
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: readings(values)})
	if nameOf(got.Diagnosis) != "queueing" {
		t.Fatalf("got %s", nameOf(got.Diagnosis))
	}
	if !strings.Contains(got.Note, "Can't rule out a deeper cause: kv thrash (Preemptions not read).") {
		t.Errorf("the note is %q", got.Note)
	}
}

func TestNothingHolds(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	tests := []struct {
		name string
		ev   incident.Evidence
		want []string
	}{
		{"everything is known", readings(calm()), []string{"No known cause: no diagnosis matches."}},
		{"nothing was read", incident.Evidence{}, []string{
			"Cannot determine the cause. Missing readings: ", "Missing readings: Failed KV transfers, ", " more (not read)",
			"Could be nixl transfer failing, nixl lease expiring,",
			"Cannot confirm recovery: TTFT p95 not read.",
		}},
		{"a reading failed", func() incident.Evidence {
			ev := readings(calm())
			for _, name := range []string{"ttft_p95", "ttft_p95_lately"} {
				ev.Readings[name] = incident.Reading{Error: "context deadline exceeded"}
			}
			return ev
		}(), []string{"Missing readings: TTFT p95", " (error: context deadline exceeded).", "Could be long prefill."}},
		{"a bound settles nothing", func() incident.Evidence {
			ev := readings(with(map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "queue_time_p95": 0.3}))
			for name, v := range map[string]float64{"ttft_p95": 6, "prefill_p95": 2} {
				ev.Readings[name] = incident.Reading{Value: &v, Bound: incident.AtLeast}
			}
			return ev
		}(), []string{"Cannot determine the cause: long prefill undecided because a reading is only a bound or a target " +
			"is missing."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: tt.ev})
			if got.Diagnosis != nil || len(got.Steps) != 0 {
				t.Fatalf("got %s with %d steps", nameOf(got.Diagnosis), len(got.Steps))
			}
			for _, w := range tt.want {
				if !strings.Contains(got.Note, w) {
					t.Errorf("the note %q does not contain %q", got.Note, w)
				}
			}
		})
	}
}

func TestAnAlertThatNobodyKnowsAsksEveryPlaybook(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	got := c.Diagnose(playbooks.Input{Alerts: alerts("MyOwnAlert"), Pool: chat(), Evidence: readings(thrash())})
	if nameOf(got.Diagnosis) != "kv-thrash" || !slices.Equal(got.Diagnosis.Unmatched, []string{"MyOwnAlert"}) {
		t.Errorf("got %s, %+v", nameOf(got.Diagnosis), got.Diagnosis)
	}
	all := 0
	seen := map[string]bool{}
	for _, p := range c.Playbooks() {
		for _, d := range p.Diagnoses {
			if !seen[d] && d != "gpu-underutilised" && d != "gpu-memory-by-design" { // they answer their own alerts only
				seen[d] = true
				all++
			}
		}
	}
	if len(got.Others) != all-1 {
		t.Errorf("%d others, want %d", len(got.Others), all-1)
	}
	if none := c.Diagnose(playbooks.Input{
		Pool:     chat(),
		Evidence: readings(thrash()),
	}); nameOf(none.Diagnosis) != "kv-thrash" || len(none.Others) != all-1 {
		t.Errorf("without an alert: %s with %d others", nameOf(none.Diagnosis), len(none.Others))
	}
}

// That the pool is idle says nothing about an alert whose subject nobody here knows.
func TestAnAlertThatNobodyKnowsIsNotWavedAway(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	quiet := with(map[string]float64{
		"running": 0, "requests_held": 0, "generation_tokens_rate": 0,
		"prompt_tokens_rate": 0,
	})
	got := c.Diagnose(playbooks.Input{Alerts: alerts("GPUTooHot", ""), Pool: chat(), Evidence: readings(quiet)})
	if nameOf(got.Diagnosis) != "idle" ||
		!strings.Contains(got.Note, "No action needed, as far as vLLM's metrics show: ") ||
		!slices.Equal(got.Diagnosis.Unmatched, []string{"GPUTooHot", "(without a name)"}) {
		t.Errorf("%s: %q", nameOf(got.Diagnosis), got.Note)
	}
}

func TestSignalsAreWhatDiagnoseNeeds(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, p := range c.Playbooks() {
		if len(p.Alerts) == 0 {
			continue
		}
		ev := incident.Evidence{Readings: map[string]incident.Reading{}}
		all := calm()
		for _, s := range c.Signals(p.Alerts[:1]) {
			v := all[s.Name]
			ev.Readings[s.Name] = incident.Reading{Signal: s.Name, Value: &v}
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts(p.Alerts[0]), Pool: chat(), Evidence: ev})
		for _, o := range got.Others {
			if o.Verdict == incident.Undecided {
				t.Errorf("%s: %s is undecided (%s)", p.Name, o.Name, o.Why)
			}
		}
		if got.Healthy != incident.True {
			t.Errorf("%s: healthy is %s (%s)", p.Name, got.Healthy, got.Note)
		}
	}
}

func TestSignalsAreFewForAKnownAlertAndAllForAnother(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	names := func(list []incident.Signal) []string {
		var out []string
		for _, s := range list {
			out = append(out, s.Name)
		}
		return out
	}
	queue := names(c.Signals([]string{"vLLMQueueBacklog"}))
	if !slices.Contains(queue, "queue_time_p95") || slices.Contains(queue, "gpu_memory_used") {
		t.Errorf("vLLMQueueBacklog reads %v", queue)
	}
	both := names(c.Signals([]string{"vLLMQueueBacklog", "GPUMemoryHigh"}))
	if !slices.Contains(both, "gpu_memory_used") {
		t.Errorf("both alerts read %v", both)
	}
	everything := names(c.Signals(nil))
	if unknown := names(c.Signals([]string{"MyOwnAlert", "vLLMQueueBacklog"})); !slices.Equal(unknown, everything) {
		t.Errorf("an unknown alert reads %v, not %v", unknown, everything)
	}
	for _, name := range slices.Concat(queue, both) {
		if !slices.Contains(everything, name) {
			t.Errorf("%s is not among all signals", name)
		}
	}
}

func TestThresholdsComeFromTheTargetTheRuleAndTheRecovery(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(thrash())
	before := maps.Clone(ev.Readings)
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: ev})
	want := map[string]float64{
		"preemption_rate":        0, // the recovery rule of the playbook behind the diagnosis
		"preemption_rate_lately": 0, "kv_usage_max": 0.95,
		"kv_usage_peak": 0.95, // the chosen rule
		"ttft_p95":      0.5,  // the pool's target, from which the recovery rule is, too
		"tpot_p95":      0.05, // the pool's target
		"e2e_p95":       10,   // the pool's target
	}
	have := map[string]float64{}
	var targets []string
	for name, r := range got.Readings {
		if r.Threshold != nil {
			have[name] = *r.Threshold
		}
		if r.ThresholdFrom == incident.OriginSLO {
			targets = append(targets, name)
		}
	}
	slices.Sort(targets)
	if diff := cmp.Diff([]string{"e2e_p95", "tpot_p95", "ttft_p95"}, targets); diff != "" {
		t.Errorf("what the pool's SLO sets: %s", diff)
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, ev.Readings); diff != "" {
		t.Errorf("the evidence was changed: %s", diff)
	}
	// A threshold of an earlier investigation is not carried on.
	stale := 99.0
	r := ev.Readings["running"]
	r.Threshold, r.ThresholdFrom = &stale, incident.OriginSLO
	ev.Readings["running"] = r
	if got := c.Diagnose(playbooks.Input{
		Alerts: alerts("vLLMHighTTFT"), Pool: chat(),
		Evidence: ev,
	}).Readings["running"]; got.Threshold != nil || got.ThresholdFrom != incident.OriginRule {
		t.Error("running has kept a threshold that nothing gives it")
	}
}

// A rule may compare with a number of its own; the pool is kept to its target all the same.
func TestATargetStandsWhateverNumberARuleComparesWith(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(with(map[string]float64{
		"ttft_p95": 8, "waiting": 60, "waiting_per_engine": 30, "waiting_per_engine_mean": 30, "queue_time_p95": 7,
		"running_per_engine": 300,
	}))
	ev.Cluster = incident.Cluster{Args: map[string]float64{"max_num_batched_tokens": 512}}
	for want, pool := range map[incident.Origin]incident.Pool{
		incident.OriginSLO: chat(), incident.OriginRule: {Name: "p"},
	} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: pool, Evidence: ev})
		r := got.Readings["ttft_p95"]
		if got.Diagnosis == nil || got.Diagnosis.Name != "prefill-starvation" || r.Threshold == nil {
			t.Fatalf("%+v", got.Diagnosis)
		}
		limit := map[incident.Origin]float64{incident.OriginSLO: 0.5, incident.OriginRule: 5}[want]
		if r.ThresholdFrom != want || *r.Threshold != limit {
			t.Errorf("TTFT is measured against %v of %q, want %v of %q", *r.Threshold, r.ThresholdFrom, limit, want)
		}
	}
}

func TestAPoolWithoutTargetsIsMeasuredAgainstThePublishedThresholds(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for ttft, want := range map[float64]incident.Truth{2.4: incident.True, 2.6: incident.False} {
		got := c.Diagnose(playbooks.Input{
			Alerts:   alerts("vLLMHighTTFT"),
			Evidence: readings(with(map[string]float64{"ttft_p95": ttft})),
		})
		if got.Healthy != want {
			t.Errorf("%g s is healthy: %s, want %s", ttft, got.Healthy, want)
		}
		r := got.Readings["ttft_p95"]
		if r.Threshold == nil || *r.Threshold != 2.5 || r.ThresholdFrom != incident.OriginRule {
			t.Errorf("the threshold is %v from %q, want 2.5 from a rule", r.Threshold, r.ThresholdFrom)
		}
	}
}
