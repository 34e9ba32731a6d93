package playbooks_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

func builtin(t testing.TB, opts playbooks.Options) *playbooks.Catalog {
	t.Helper()
	c, err := catalog.Load(opts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// calm are the readings of a pool that is well used and well.
func calm() map[string]float64 {
	return map[string]float64{
		"ttft_p95": 0.3, "ttft_p50": 0.2, "ttft_p95_lately": 0.3, "tpot_p95": 0.04, "tpot_p50": 0.02,
		"queue_time_p95": 0.29, "prefill_p95": 0.2, "e2e_p95": 6,
		"waiting": 0, "waiting_mean": 0, "waiting_per_engine": 0, "waiting_per_engine_mean": 0, "running": 40, "engines": 2,
		"kv_usage": 0.5, "kv_usage_peak": 0.6, "preemption_rate": 0,
		"prompt_tokens_rate": 4000, "generation_tokens_rate": 1500, "finished_rate": 6, "abort_ratio": 0, "error_ratio": 0,
		"unfinished_ratio": 0.02, "prompt_len_p95": 900, "prompt_len_usual": 900, "prefix_hit_rate": 0.5,
		"prefix_hit_rate_usual": 0.5, "up": 1,
		"ttft_worst_pod": 0.35, "ttft_second_pod": 0.3, "tpot_worst_pod": 0.045, "tpot_second_pod": 0.04, "tpot_p99": 0.06,
		"tpot_mean": 0.021, "tpot_mean_worst_pod": 0.022, "tpot_mean_second_pod": 0.02,
		"waiting_worst_pod": 0, "waiting_second_pod": 0, "kv_worst_pod": 0.6, "kv_second_pod": 0.5, "kv_full_share": 0.5,
		"running_per_engine": 20, "kv_usage_max": 0.6,
		"kv_usage_held": 0.55, "stalled_pods": 0,
		"requests_held": 40, "decode_p95": 5, "engines_lost": 0, "engine_resets": 0, "engine_age": 86400, "http_5xx_ratio": 0,
	}
}

// with changes the calm pool. What is so has been so in the last two minutes, too, unless a test says otherwise.
func with(changes map[string]float64) map[string]float64 {
	out := calm()
	maps.Copy(out, changes)
	if _, said := changes["waiting_lately"]; !said {
		out["waiting_lately"] = max(out["waiting"], out["waiting_mean"], out["waiting_per_engine_mean"]*out["engines"])
	}
	for _, name := range []string{"ttft_p95", "tpot_p95", "tpot_p99", "preemption_rate"} {
		if _, said := changes[name+"_lately"]; !said {
			out[name+"_lately"] = out[name]
		}
	}
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
	// cluster is what Kubernetes says; nil means that none is configured.
	cluster *incident.Cluster
	// versions are those that serve, and pods the values of single pods by signal.
	versions []incident.ServedVersion
	pods     map[string][]incident.PodValue
	// dead are alerts that cannot see the pool.
	dead []incident.DeadAlert
	// none lists signals that have no data in this trouble.
	none []string
	// not are changes to the readings of which each alone must keep the diagnosis from being made.
	not []map[string]float64
	// needs are signals without which the diagnosis must not be made.
	needs []string
}

// troubles are what the built-in playbooks must tell apart.
func troubles() []trouble {
	return slices.Concat(troublesOfEngines(), troublesOfPrefill(), troublesOfLoad())
}

func (tr trouble) evidence(changes map[string]float64) incident.Evidence {
	values := maps.Clone(tr.readings)
	for _, name := range tr.none {
		delete(values, name)
	}
	maps.Copy(values, changes)
	ev := readings(values)
	if tr.cluster != nil {
		ev.Cluster = *tr.cluster
	}
	ev.DeadAlerts, ev.Versions = tr.dead, tr.versions
	for name, pods := range tr.pods {
		r := ev.Readings[name]
		r.Signal, r.Pods, r.Direction = name, pods, incident.HigherIsWorse
		ev.Readings[name] = r
	}
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
			if len(got.Diagnosis.Evidence) == 0 || got.Diagnosis.Rule == "" || got.Diagnosis.Summary == "" ||
				len(got.Diagnosis.Healthy) == 0 {
				t.Errorf("the diagnosis lacks its reasons: %+v", got.Diagnosis)
			}
			for _, cond := range got.Diagnosis.Evidence {
				if strings.Contains(cond.Text, "present(") || strings.Contains(cond.Text, "absent(") {
					continue
				}
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
			if !slices.Contains(p.Diagnoses, tr.diagnosis) || len(p.Alerts) == 0 {
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
			if o := verdictOf(t, got, tr.diagnosis); o.Verdict != incident.False && o.NotEvaluated == "" || o.Why == "" {
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
				o, label := verdictOf(t, got, tr.diagnosis), labelOf(t, c, name)
				if o.Verdict != incident.Undecided || !strings.Contains(o.Why, label) || !strings.Contains(o.Why, how) {
					t.Errorf("%s without %s is %s: %q, want undecided and %q", tr.diagnosis, name, o.Verdict, o.Why, how)
				}
				if got.Diagnosis == nil && !strings.Contains(got.Note, label) && !strings.Contains(got.Note, " more (") {
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

// What happened a while ago and is over, what a rollout does, and what one new pod does explain nothing.
func TestWhatIsOverExplainsNothing(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	thrashing := with(map[string]float64{
		"kv_usage_peak": 0.99, "preemption_rate": 3, "waiting": 60,
		"waiting_per_engine": 30, "waiting_per_engine_mean": 30, "ttft_p95": 9,
	})
	well := []incident.Pod{
		{Name: "a", Ready: true, Started: at().Add(-24 * time.Hour)},
		{Name: "b", Ready: true, Started: at().Add(-24 * time.Hour)},
	}
	ago := func(d time.Duration) time.Time { return at().Add(-d) }
	for _, tt := range []struct {
		name     string
		readings map[string]float64
		cluster  incident.Cluster
		want     string
	}{
		{
			"a crash 25 minutes ago", thrashing,
			incident.Cluster{Pods: well, Crashes: []incident.Crash{{At: ago(25 * time.Minute), ExitCode: 1}}},
			"kv-thrash",
		},
		{
			"a GPU out of memory 25 minutes ago", thrashing,
			incident.Cluster{
				Pods:    well,
				Crashes: []incident.Crash{{At: ago(25 * time.Minute), ExitCode: 1, OutOfMemory: "gpu"}},
			},
			"kv-thrash",
		},
		{
			"a rollout under way",
			with(map[string]float64{
				"engines_lost": 1, "engine_resets": 1, "ttft_p95": 9, "queue_time_p95": 6,
				"waiting_mean": 4,
			}),
			incident.Cluster{
				Pods:    []incident.Pod{well[0], {Name: "b", Started: ago(time.Minute)}},
				Changes: []incident.RecentChange{{At: ago(2 * time.Minute), Kind: incident.ChangeRollout}},
			},
			"queueing",
		},
		{
			"a pod that ends", with(map[string]float64{"engines_lost": 1}),
			incident.Cluster{Pods: []incident.Pod{well[0], {Name: "b", Started: ago(24 * time.Hour), Terminating: true}}},
			"none",
		},
		{
			"a new pod that loads, after a scale-in",
			with(map[string]float64{
				"engines_lost": 1, "waiting": 16, "waiting_per_engine": 8, "waiting_per_engine_mean": 8,
				"waiting_worst_pod": 8, "waiting_second_pod": 8, "ttft_p95": 3,
			}),
			incident.Cluster{Pods: []incident.Pod{well[0], {Name: "b", Started: ago(2 * time.Minute)}}},
			"queueing",
		},
		{
			"a rollout that began long ago and still runs", with(map[string]float64{"engines_lost": 1, "engine_resets": 1}),
			incident.Cluster{RolloutRunning: true, Pods: []incident.Pod{well[0], {Name: "b", Started: ago(30 * time.Minute)}}},
			"none",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ev := readings(tt.readings)
			ev.Cluster = tt.cluster
			if got := c.Diagnose(playbooks.Input{
				Alerts: alerts("vLLMHighTTFT"), Pool: chat(),
				Evidence: ev,
			}); nameOf(got.Diagnosis) != tt.want {
				t.Errorf("got %s, want %s", nameOf(got.Diagnosis), tt.want)
			}
		})
	}
}

// A diagnosis that explains an alert away is not offered for alerts that nobody knows.
func TestWhatIsByDesignAnswersOnlyItsOwnAlerts(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(with(map[string]float64{"gpu_memory_used": 0.95, "gpu_memory_growth": 0}))
	if got := c.Diagnose(playbooks.Input{
		Alerts: alerts("GPUMemoryHigh"), Pool: chat(),
		Evidence: ev,
	}); nameOf(got.Diagnosis) != "gpu-memory-by-design" {
		t.Errorf("for its own alert: %s", nameOf(got.Diagnosis))
	}
	for _, in := range [][]incident.Alert{alerts("SomethingElse"), nil, alerts("vLLMHighTTFT")} {
		if got := c.Diagnose(playbooks.Input{Alerts: in, Pool: chat(), Evidence: ev}); got.Diagnosis != nil {
			t.Errorf("for %v: %s", in, nameOf(got.Diagnosis))
		}
	}
}

// How long a request takes is for its alerts, and for a pool that says how long it may take.
func TestLongAnswersAreToldWhereSomebodyAskedAboutThem(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	ev := readings(with(map[string]float64{"e2e_p95": 50, "decode_p95": 48, "generation_len_p95": 1800}))
	profiled, own := chat(), chat()
	profiled.SLO.Profile, own.SLO.Profile = "chat", "chat"
	own.SLO.E2E = 20
	for _, tt := range []struct {
		name  string
		alert string
		pool  incident.Pool
		want  string
	}{
		{"its alert", "HighE2ELatency", profiled, "long-answers"},
		{"another alert, and the profile's target", "SomethingElse", profiled, "none"},
		{"another alert, and a target of the pool's own", "SomethingElse", own, "long-answers"},
		{"an alert of another playbook", "vLLMHighTTFT", own, "none"},
	} {
		got := c.Diagnose(playbooks.Input{Alerts: alerts(tt.alert), Pool: tt.pool, Evidence: ev})
		if nameOf(got.Diagnosis) != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, nameOf(got.Diagnosis), tt.want)
		}
	}
}

// The steps of a cause are not taken away because another alert's playbook warns against them for a cause of its own.
func TestAnAlertAboutOnePodDoesNotForbidTheStepsOfAnotherCause(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMUnevenLoad"), Pool: chat(), Evidence: readings(thrash())})
	if nameOf(got.Diagnosis) != "kv-thrash" || len(got.Steps) == 0 || got.Steps[0].Kind != incident.StepThrottle {
		t.Errorf("%s with %v", nameOf(got.Diagnosis), kinds(got.Steps))
	}
}
