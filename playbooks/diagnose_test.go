package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
		},
		{
			Text: "preemption_rate > 0", Truth: incident.True, Signal: "preemption_rate", Label: "Preemptions", Seen: "3/s",
			Relation: incident.RelationAbove, Threshold: "0/s",
		},
		{
			Text: "preemption_rate > 0.1 * finished_rate", Truth: incident.True, Signal: "preemption_rate",
			Label: "Preemptions", Seen: "3/s", Relation: incident.RelationAbove, Threshold: "0.6/s (10% of Finished requests)",
		},
		{
			Text: "absent(finished_rate)", Truth: incident.False, Signal: "finished_rate", Label: "Finished requests",
			Seen: "6/s", Relation: incident.RelationAbsent,
		},
	}
	if diff := cmp.Diff(want, got.Diagnosis.Evidence); diff != "" {
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
			ev.Readings["ttft_p95"] = incident.Reading{Error: "context deadline exceeded"}
			return ev
		}(), []string{"Missing readings: TTFT p95 (error: context deadline exceeded).", "Could be long prefill."}},
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
	if nameOf(got.Diagnosis) != "kv-thrash" ||
		!strings.HasPrefix(got.Note, "No playbook matches MyOwnAlert; all playbooks were evaluated.") {
		t.Errorf("got %s, %q", nameOf(got.Diagnosis), got.Note)
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
		!strings.HasPrefix(got.Note, "No playbook matches GPUTooHot, (without a name); all") {
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

func kinds(steps []incident.StepRequest) []incident.StepKind {
	var out []incident.StepKind
	for _, s := range steps {
		out = append(out, s.Kind)
	}
	return out
}

// The runbook's order for swapping: reduce load, then memory pressure, then scale out, then separate the pools.
func TestSwappingStepsComeInTheRunbooksOrder(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	// The alert on a full cache fires with every one on preemptions, and warns of restarts; that cost is weighed by the
	// playbook of the cause.
	for _, names := range [][]string{{"vLLMRequestSwapping"}, {"vLLMRequestSwapping", "vLLMGPUCacheFull"}} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts(names...), Pool: chat(), Evidence: readings(thrash())})
		want := []incident.StepKind{
			incident.StepThrottle, incident.StepMaxNumBatchedTokens, incident.StepReplicas,
			incident.StepManual,
		}
		if diff := cmp.Diff(want, kinds(got.Steps)); diff != "" {
			t.Fatal(diff)
		}
		if s := got.Steps[0]; s.Factor != 0.7 || s.RevertAfter != 30*time.Minute || s.WarmUp != 2*time.Minute || s.Why == "" {
			t.Errorf("throttle: %+v", s)
		}
		if s := got.Steps[1]; s.Factor != 0.5 || s.RevertAfter != 0 || s.WarmUp != 10*time.Minute {
			t.Errorf("max_num_batched_tokens: %+v", s)
		}
		if s := got.Steps[2]; s.Add != 1 || s.Factor != 0 || s.RevertAfter != 0 {
			t.Errorf("replicas: %+v", s)
		}
		if s := got.Steps[3]; !strings.HasPrefix(s.Advice, "Send long prompts") {
			t.Errorf("manual: %+v", s)
		}
		for _, worse := range []string{"raise max_num_seqs", "restart pods"} {
			if !slices.ContainsFunc(got.Diagnosis.Never, func(n incident.Never) bool { return n.What() == worse }) {
				t.Errorf("that %q makes it worse is not said: %q", worse, got.Diagnosis.Never)
			}
		}
	}
}

// What an alert's playbook says never to do to a knob holds whoever owns the diagnosis: slow first tokens and a smaller
// budget do not go together, also when the alert on preemptions fires as well.
func TestWhatOneAlertForbidsAnotherDoesNotAllow(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, other := range []string{"vLLMHighTTFT", "vLLMQueueBacklog"} {
		got := c.Diagnose(playbooks.Input{
			Alerts: alerts("vLLMRequestSwapping", other), Pool: chat(),
			Evidence: readings(thrash()),
		})
		want := []incident.StepKind{incident.StepThrottle, incident.StepReplicas, incident.StepManual}
		if diff := cmp.Diff(want, kinds(got.Steps)); nameOf(got.Diagnosis) != "kv-thrash" || diff != "" {
			t.Errorf("%s: %s %s", other, nameOf(got.Diagnosis), diff)
		}
		if !strings.Contains(got.Note,
			"Skipped lowering max_num_batched_tokens: the alert's playbook says never to lower max_num_batched_tokens: ") {
			t.Errorf("%s: the note does not say what was left out: %q", other, got.Note)
		}
	}
}

// Who is asked only because nothing better is known forbids nothing: what helps against a queue is proposed, although
// the playbook on pods that stand still says never to add replicas.
func TestPlaybooksThatAnswerNoAlertForbidNothing(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, names := range [][]string{nil, {"SomethingOfOurOwn"}} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts(names...), Pool: chat(), Evidence: readings(with(map[string]float64{
			"ttft_p95": 9, "queue_time_p95": 6, "waiting": 60, "waiting_mean": 60, "waiting_per_engine": 30,
			"waiting_per_engine_mean": 30, "waiting_worst_pod": 32, "waiting_second_pod": 28,
		}))})
		want := []incident.StepKind{incident.StepThrottle, incident.StepReplicas, incident.StepManual}
		if diff := cmp.Diff(want, kinds(got.Steps)); nameOf(got.Diagnosis) != "queueing" || diff != "" {
			t.Errorf("%q: %s %s\n%s", names, nameOf(got.Diagnosis), diff, got.Note)
		}
	}
}

// Whatever the readings are, an incident that is about slow first tokens never leads to a smaller token budget.
func TestHighTTFTNeverLowersMaxNumBatchedTokens(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	lowered := func(r playbooks.Result) bool {
		return slices.ContainsFunc(r.Steps, func(s incident.StepRequest) bool {
			return s.Kind == incident.StepMaxNumBatchedTokens && s.Factor < 1
		})
	}
	for _, alert := range []string{"vLLMHighTTFT", "HighTTFT"} {
		for _, tr := range troubles() {
			got := c.Diagnose(playbooks.Input{Alerts: alerts(alert), Pool: chat(), Evidence: tr.evidence(nil)})
			if lowered(got) {
				t.Errorf("%s with the readings of %s: %s lowers it", alert, tr.diagnosis, nameOf(got.Diagnosis))
			}
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts(alert), Pool: chat(), Evidence: readings(thrash())})
		want := []incident.StepKind{incident.StepThrottle, incident.StepReplicas, incident.StepManual}
		if diff := cmp.Diff(want, kinds(got.Steps)); diff != "" {
			t.Error(diff)
		}
		if !strings.Contains(got.Note,
			"Skipped lowering max_num_batched_tokens: the alert's playbook says never to lower max_num_batched_tokens: ") {
			t.Errorf("the note does not say what was left out: %q", got.Note)
		}
	}
}

func TestAStepIsLeftOutWhenItsOwnRuleDoesNotHold(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	prefill := map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5}
	withRaise := []incident.StepKind{incident.StepManual, incident.StepMaxNumBatchedTokens, incident.StepManual}
	without := []incident.StepKind{incident.StepManual, incident.StepManual}
	tests := []struct {
		name string
		ev   incident.Evidence
		want []incident.StepKind
		note string
	}{
		{"room in the time per token", readings(with(maps.Clone(prefill))), withRaise, ""},
		{"no room", func() incident.Evidence {
			ev := with(prefill)
			ev["tpot_p95"] = 0.049
			return readings(ev)
		}(), without, "Skipped raising max_num_batched_tokens: TPOT p95 49 ms, above 40 ms."},
		{"not known", func() incident.Evidence {
			ev := with(prefill)
			delete(ev, "tpot_p95")
			return readings(ev)
		}(), without, "Skipped raising max_num_batched_tokens: TPOT p95 not read."},
		{
			"a prefix cache that finds less than usual",
			readings(with(map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "prefix_hit_rate": 0.38})), without,
			"Prefix hit rate 38%, below 40% (80% of Usual prefix hits)",
		},
		{"a pool without prefix caching", func() incident.Evidence {
			ev := readings(with(maps.Clone(prefill)))
			ev.Readings["prefix_hit_rate"], ev.Readings["prefix_hit_rate_usual"] = incident.Reading{}, incident.Reading{}
			return ev
		}(), withRaise, ""},
		{"a hit rate that could not be read", func() incident.Evidence {
			ev := readings(with(maps.Clone(prefill)))
			ev.Readings["prefix_hit_rate"] = incident.Reading{Error: "timeout"}
			return ev
		}(), without, "Prefix hit rate could not be read"},
		{
			"a young engine", readings(with(map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "engine_age": 600})), without,
			"Youngest engine 600 s, below 900 s",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: tt.ev})
			if diff := cmp.Diff(tt.want, kinds(got.Steps)); diff != "" {
				t.Errorf("%s: %s", nameOf(got.Diagnosis), diff)
			}
			if !strings.Contains(got.Note, tt.note) {
				t.Errorf("the note is %q", got.Note)
			}
			for _, s := range got.Steps {
				if s.Kind == incident.StepMaxNumBatchedTokens && s.Factor <= 1 {
					t.Errorf("the factor is %g", s.Factor)
				}
			}
		})
	}
}

func TestDiagnosesWithoutActionProposeNothingAndSayWhy(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		if !slices.Contains([]string{"idle", "light-load", "healthy-full-batch"}, tr.diagnosis) {
			continue
		}
		got := c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(nil)})
		if len(got.Steps) != 0 || !strings.Contains(got.Note, "No action needed: ") {
			t.Errorf("%s: %d steps, note %q", tr.diagnosis, len(got.Steps), got.Note)
		}
	}
}

// A stalled or failing engine is not cured by more of them.
func TestStallsAndErrorsNeverScale(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		if tr.diagnosis != "stalled" && tr.diagnosis != "engine-errors" {
			continue
		}
		for _, p := range c.Playbooks() {
			if !slices.Contains(p.Diagnoses, tr.diagnosis) {
				continue
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(p.Alerts...), Pool: chat(), Evidence: tr.evidence(nil)})
			if diff := cmp.Diff([]incident.StepKind{incident.StepManual},
				kinds(got.Steps)); nameOf(got.Diagnosis) != tr.diagnosis || diff != "" {
				t.Errorf("%s: %s %s", p.Name, nameOf(got.Diagnosis), diff)
			}
		}
	}
}

func TestThresholdsComeFromTheRuleTheRecoveryAndTheTarget(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(thrash())
	before := maps.Clone(ev.Readings)
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMHighTTFT"), Pool: chat(), Evidence: ev})
	want := map[string]float64{
		"preemption_rate": 0,    // the recovery rule of the playbook behind the diagnosis
		"kv_usage_peak":   0.95, // the chosen rule
		"ttft_p95":        0.5,  // the recovery rule, from the pool's target
		"tpot_p95":        0.05, // the pool's target
		"e2e_p95":         10,   // the pool's target
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

func TestTheLongestWarmUpBoundsEveryStep(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{MaxWarmUp: 5 * time.Second})
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMRequestSwapping"), Pool: chat(), Evidence: readings(thrash())})
	if len(got.Steps) == 0 {
		t.Fatal("no steps")
	}
	for _, s := range got.Steps {
		if s.WarmUp > 5*time.Second {
			t.Errorf("%s warms up for %s", s.Kind, s.WarmUp)
		}
	}
}
