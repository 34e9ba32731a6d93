package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

func builtin(t testing.TB, opts playbooks.Options) *playbooks.Catalog {
	t.Helper()
	files, err := catalog.Files()
	if err != nil {
		t.Fatal(err)
	}
	c, err := playbooks.Load(files, opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calm are the readings of a pool that is well used and well.
func calm() map[string]float64 {
	return map[string]float64{
		"ttft_p95": 0.3, "tpot_p95": 0.04, "tpot_p50": 0.02, "queue_time_p95": 0.29, "prefill_p95": 0.2, "e2e_p95": 6,
		"waiting": 0, "waiting_per_engine": 0, "running": 40, "engines": 2, "kv_usage": 0.5, "kv_usage_peak": 0.6, "preemption_rate": 0,
		"prompt_tokens_rate": 4000, "generation_tokens_rate": 1500, "finished_rate": 6, "abort_ratio": 0, "error_ratio": 0,
		"unfinished_ratio": 0.02, "prompt_len_p95": 900, "prefix_hit_rate": 0.5, "up": 1,
	}
}

// with changes the calm pool.
func with(changes map[string]float64) map[string]float64 {
	out := calm()
	maps.Copy(out, changes)
	return out
}

func chat() incident.Pool {
	return incident.Pool{Name: "p", SLO: incident.SLO{TTFT: 0.5, TPOT: 0.05, E2E: 10}}
}

// trouble is what a diagnosis looks like.
type trouble struct {
	diagnosis string
	alert     string
	readings  map[string]float64
	// none lists signals that have no data in this trouble.
	none []string
	// not are changes to the readings of which each alone must keep the diagnosis from being made.
	not []map[string]float64
	// needs are signals without which the diagnosis must not be made.
	needs []string
}

func troubles() []trouble {
	return []trouble{
		{
			diagnosis: "stalled", alert: "vLLMNotServing",
			readings: with(map[string]float64{"running": 12, "waiting": 30, "generation_tokens_rate": 0, "prompt_tokens_rate": 0}),
			none:     []string{"ttft_p95", "tpot_p95", "tpot_p50", "queue_time_p95", "prefill_p95", "e2e_p95", "abort_ratio", "error_ratio", "unfinished_ratio"},
			not:      []map[string]float64{{"generation_tokens_rate": 3}, {"prompt_tokens_rate": 3}, {"running": 0, "waiting": 0}},
			needs:    []string{"generation_tokens_rate", "prompt_tokens_rate"},
		},
		{
			diagnosis: "engine-errors", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"error_ratio": 0.4, "abort_ratio": 0.4}),
			not:      []map[string]float64{{"error_ratio": 0.1}},
			needs:    []string{"error_ratio"},
		},
		{
			diagnosis: "kv-thrash", alert: "vLLMRequestSwapping",
			readings: with(map[string]float64{
				"kv_usage": 0.91, "kv_usage_peak": 0.99, "preemption_rate": 3, "waiting": 60, "waiting_per_engine": 30, "ttft_p95": 9, "tpot_p95": 0.4,
				"queue_time_p95": 6,
			}),
			not:   []map[string]float64{{"preemption_rate": 0}, {"preemption_rate": 0.5}, {"kv_usage_peak": 0.95}},
			needs: []string{"preemption_rate", "kv_usage_peak", "finished_rate"},
		},
		{
			diagnosis: "at-capacity", alert: "vLLMGPUCacheFull",
			readings: with(map[string]float64{"kv_usage": 0.98, "waiting": 20, "waiting_per_engine": 10, "ttft_p95": 2}),
			not:      []map[string]float64{{"kv_usage": 0.9}, {"preemption_rate": 1}, {"waiting": 0, "waiting_per_engine": 0}},
			needs:    []string{"kv_usage", "waiting", "preemption_rate", "finished_rate"},
		},
		{
			diagnosis: "queueing", alert: "vLLMQueueBacklog",
			readings: with(map[string]float64{"waiting": 40, "waiting_per_engine": 20, "queue_time_p95": 7, "ttft_p95": 8}),
			not: []map[string]float64{
				{"waiting": 2, "waiting_per_engine": 1, "queue_time_p95": 0.4, "ttft_p95": 1.5},
				{"waiting": 0, "waiting_per_engine": 0, "queue_time_p95": 1, "ttft_p95": 0.4},
			},
		},
		{
			diagnosis: "long-prefill", alert: "vLLMHighTTFT",
			readings: with(map[string]float64{"ttft_p95": 6, "prefill_p95": 5.5, "prompt_len_p95": 30000}),
			not: []map[string]float64{
				{"ttft_p95": 0.4}, {"prefill_p95": 1}, {"queue_time_p95": 4}, {"waiting_per_engine": 9, "waiting": 18}, {"preemption_rate": 1},
			},
			needs: []string{"ttft_p95", "prefill_p95", "queue_time_p95", "waiting_per_engine", "preemption_rate"},
		},
		{
			diagnosis: "prefill-interference", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.03}),
			not:      []map[string]float64{{"tpot_p95": 0.05}, {"tpot_p50": 0.2}, {"preemption_rate": 1}, {"prompt_tokens_rate": 0}},
			needs:    []string{"tpot_p95", "tpot_p50", "preemption_rate", "prompt_tokens_rate"},
		},
		{
			diagnosis: "big-decode-batch", alert: "vLLMHighTPOT",
			readings: with(map[string]float64{"tpot_p95": 0.3, "tpot_p50": 0.2, "running": 500}),
			not:      []map[string]float64{{"tpot_p95": 0.05, "tpot_p50": 0.04}, {"tpot_p50": 0.04}, {"preemption_rate": 1}},
			needs:    []string{"tpot_p95", "tpot_p50", "preemption_rate", "running"},
		},
		{
			// Nothing in vLLM counts the clients that went away: it is inferred from what never finished.
			diagnosis: "client-timeouts", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"unfinished_ratio": 0.7, "tpot_p95": 0.2, "finished_rate": 0.5}),
			not: []map[string]float64{
				{"unfinished_ratio": 0.1}, {"tpot_p95": 0.03},
			},
		},
		{
			// Where vLLM does count them (its Rust front end), the ratio is enough.
			diagnosis: "client-timeouts", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"abort_ratio": 0.3, "ttft_p95": 40}),
			none:     []string{"unfinished_ratio"},
			not:      []map[string]float64{{"abort_ratio": 0.1, "unfinished_ratio": 0.1}},
			needs:    []string{"abort_ratio"},
		},
		{
			diagnosis: "cancels-without-overload", alert: "vLLMHighAbortRate",
			readings: with(map[string]float64{"abort_ratio": 0.3}),
			not:      []map[string]float64{{"abort_ratio": 0.05}, {"error_ratio": 0.3}, {"ttft_p95": 9}, {"tpot_p95": 0.2}, {"waiting_per_engine": 20}},
			needs:    []string{"abort_ratio", "error_ratio", "ttft_p95", "tpot_p95", "waiting_per_engine"},
		},
		{
			diagnosis: "healthy-full-batch", alert: "KVCacheNearFull",
			readings: with(map[string]float64{"kv_usage": 0.97}),
			not: []map[string]float64{
				{"kv_usage": 0.9}, {"preemption_rate": 0.1}, {"waiting": 1, "waiting_per_engine": 0.5}, {"ttft_p95": 3}, {"tpot_p95": 0.2},
			},
			needs: []string{"kv_usage", "preemption_rate", "waiting", "ttft_p95", "tpot_p95"},
		},
		{
			diagnosis: "idle", alert: "LowThroughput",
			readings: with(map[string]float64{"running": 0, "generation_tokens_rate": 0, "prompt_tokens_rate": 0}),
			none:     []string{"ttft_p95", "tpot_p95", "tpot_p50", "queue_time_p95", "prefill_p95"},
			not:      []map[string]float64{{"running": 1}, {"waiting": 1}, {"generation_tokens_rate": 5}},
			needs:    []string{"running", "waiting", "generation_tokens_rate"},
		},
		{
			diagnosis: "light-load", alert: "LowThroughput",
			readings: with(map[string]float64{"running": 2, "generation_tokens_rate": 40}),
			not: []map[string]float64{
				{"waiting": 4, "waiting_per_engine": 2}, {"generation_tokens_rate": 0}, {"generation_tokens_rate": 100}, {"ttft_p95": 3}, {"tpot_p95": 0.2},
			},
			needs: []string{"waiting", "generation_tokens_rate", "ttft_p95", "tpot_p95"},
		},
	}
}

func (tr trouble) evidence(changes map[string]float64) incident.Evidence {
	values := maps.Clone(tr.readings)
	for _, name := range tr.none {
		delete(values, name)
	}
	maps.Copy(values, changes)
	ev := readings(values)
	for _, name := range tr.none {
		if _, changed := changes[name]; !changed {
			ev.Readings[name] = incident.Reading{Signal: name, At: at()}
		}
	}
	return ev
}

func nameOf(d *incident.Diagnosis) string {
	if d == nil {
		return "none"
	}
	return d.Name
}

func verdictOf(t *testing.T, r playbooks.Result, name string) incident.Other {
	t.Helper()
	for _, o := range r.Others {
		if o.Name == name {
			return o
		}
	}
	t.Fatalf("%s is neither chosen nor among the others %+v", name, r.Others)
	return incident.Other{}
}

func TestBuiltInDiagnosesFire(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		t.Run(tr.diagnosis+" on "+tr.alert, func(t *testing.T) {
			t.Parallel()
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(nil)})
			if nameOf(got.Diagnosis) != tr.diagnosis {
				t.Fatalf("got %s (%s), others %+v", nameOf(got.Diagnosis), got.Note, got.Others)
			}
			if len(got.Diagnosis.Evidence) == 0 || got.Diagnosis.Rule == "" || got.Diagnosis.Summary == "" || len(got.Diagnosis.Healthy) == 0 {
				t.Errorf("the diagnosis lacks its reasons: %+v", got.Diagnosis)
			}
			for _, cond := range got.Diagnosis.Evidence {
				if cond.Seen == "" || cond.Threshold == "" || cond.Signal == "" {
					t.Errorf("the condition %q does not say what was seen: %+v", cond.Text, cond)
				}
			}
		})
	}
}

// Every alert that a pool can have leads to the same cause, as far as its playbook weighs it.
func TestBuiltInDiagnosesDoNotDependOnTheAlert(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		for _, p := range c.Playbooks() {
			if !slices.Contains(p.Diagnoses, tr.diagnosis) {
				continue
			}
			got := c.Diagnose(playbooks.Input{Alerts: alerts(p.Alerts[0]), Pool: chat(), Evidence: tr.evidence(nil)})
			if got.Diagnosis == nil {
				t.Errorf("%s: %s is not told: %s", p.Alerts[0], tr.diagnosis, got.Note)
				continue
			}
			if got.Diagnosis.Name != tr.diagnosis && verdictOf(t, got, tr.diagnosis).Verdict != incident.True {
				t.Errorf("%s: %s does not hold", p.Alerts[0], tr.diagnosis)
			}
		}
	}
}

func TestBuiltInDiagnosesDoNotFireWithoutTheirSigns(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		for _, changes := range tr.not {
			got := c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: tr.evidence(changes)})
			if nameOf(got.Diagnosis) == tr.diagnosis {
				t.Errorf("%s is told although %v", tr.diagnosis, changes)
				continue
			}
			if o := verdictOf(t, got, tr.diagnosis); o.Verdict != incident.False || o.Why == "" {
				t.Errorf("%s with %v is %s (%s), want false and why", tr.diagnosis, changes, o.Verdict, o.Why)
			}
		}
	}
}

func TestBuiltInDiagnosesAreUndecidedWithoutTheirReadings(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, tr := range troubles() {
		for _, name := range tr.needs {
			for how, missing := range map[string]incident.Reading{"no data": {}, "could not be read": {Error: "timeout"}} {
				ev := tr.evidence(nil)
				ev.Readings[name] = missing
				got := c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: ev})
				if nameOf(got.Diagnosis) == tr.diagnosis {
					t.Errorf("%s is told without %s", tr.diagnosis, name)
					continue
				}
				o := verdictOf(t, got, tr.diagnosis)
				if o.Verdict != incident.Undecided || !strings.Contains(o.Why, name) || !strings.Contains(o.Why, how) {
					t.Errorf("%s without %s is %s: %q, want undecided and %q", tr.diagnosis, name, o.Verdict, o.Why, how)
				}
				if got.Diagnosis == nil && !strings.Contains(got.Note, name) {
					t.Errorf("%s without %s: the note does not name it: %q", tr.diagnosis, name, got.Note)
				}
			}
		}
	}
}

func TestEveryBuiltInDiagnosisIsTested(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, tr := range troubles() {
		tested[tr.diagnosis] = true
	}
	for _, p := range builtin(t, playbooks.Options{}).Playbooks() {
		for _, d := range p.Diagnoses {
			if !tested[d] {
				t.Errorf("%s of %s has no readings in troubles()", d, p.Name)
			}
		}
	}
}

func TestACalmPoolHasNoDiagnosis(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, p := range c.Playbooks() {
		for _, alert := range p.Alerts {
			got := c.Diagnose(playbooks.Input{Alerts: alerts(alert), Pool: chat(), Evidence: readings(calm())})
			if got.Diagnosis != nil || !strings.HasPrefix(got.Note, "No known cause") {
				t.Errorf("%s: got %s, note %q", alert, nameOf(got.Diagnosis), got.Note)
			}
			if got.Healthy != incident.True {
				t.Errorf("%s: a calm pool is %s healthy: %s", alert, got.Healthy, got.Note)
			}
			if len(got.Steps) != 0 {
				t.Errorf("%s: steps %+v for a calm pool", alert, got.Steps)
			}
		}
	}
}

func TestTheRequiredAlertsAreAnswered(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for alert, playbook := range map[string]string{
		"vLLMHighTTFT": "high-ttft", "HighTTFT": "high-ttft",
		"vLLMQueueBacklog": "queue-backlog", "QueueBuildUp": "queue-backlog",
		"vLLMRequestSwapping": "preemption",
		"vLLMGPUCacheFull":    "kv-cache-full", "KVCacheNearFull": "kv-cache-full",
		"vLLMHighAbortRate": "abort-spike",
		"LowThroughput":     "low-throughput",
	} {
		var answering []string
		for _, p := range c.Playbooks() {
			if slices.Contains(p.Alerts, alert) {
				answering = append(answering, p.Name)
			}
		}
		if !slices.Equal(answering, []string{playbook}) {
			t.Errorf("%s is answered by %v, want %s", alert, answering, playbook)
		}
	}
}

func TestBuiltInProfilesAreThePublishedTargets(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for _, want := range []incident.SLO{
		{Profile: "chat", TTFT: 0.5, TPOT: 0.05, E2E: 10},
		{Profile: "completion", TTFT: 0.2, TPOT: 0.03, E2E: 3},
		{Profile: "batch", TTFT: 5, TPOT: 0.1, E2E: 60},
		{Profile: "rag", TTFT: 1, TPOT: 0.08, E2E: 15},
		{Profile: "agentic", TTFT: 2, TPOT: 0.1, E2E: 30},
	} {
		if got, ok := c.Profile(want.Profile); !ok || got != want {
			t.Errorf("%s: got %+v, %t", want.Profile, got, ok)
		}
	}
}
