package playbooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// sides is a pool of which pod a reads prompts and b and c decode, where so many requests wait on each and their KV
// caches are so full.
func sides(waiting, kv []float64) incident.Evidence {
	ev := readings(with(map[string]float64{"ttft_p95": 3}))
	ev.Readings["running"], ev.Readings["prefill_pods"] = podsWith(1, 8, 8), podsWith(1, 0, 0)
	ev.Readings["waiting"], ev.Readings["waiting_worst_rank"] = podsWith(waiting...), podsWith(waiting...)
	ev.Readings["kv_usage"], ev.Readings["ttft_worst_pod"] = podsWith(kv...), podsWith(6, .1, .1)
	return ev
}

func diagnosed(t *testing.T, ev incident.Evidence) playbooks.Result {
	t.Helper()
	c := builtin(t, playbooks.Options{})
	return c.Diagnose(playbooks.Input{Alerts: alerts("vLLMRoleStarved"), Pool: chat(), Evidence: ev})
}

func TestTheSidesOfADisaggregatedPoolAreReadApart(t *testing.T) {
	t.Parallel()
	got := diagnosed(t, sides([]float64{60, 0, 1}, []float64{.1, .2, .4}))
	for name, want := range map[string]string{
		"waiting_prefill": "60", "waiting_decode": "0.5", "kv_prefill": "10%", "kv_decode": "30%",
	} {
		if r := got.Readings[name]; r.Text() != want {
			t.Errorf("%s is %s, want %s", name, r.Text(), want)
		}
	}
	if nameOf(got.Diagnosis) != "role-starved" || !strings.Contains(got.Steps[1].Advice, "The prefill side is starved") {
		t.Errorf("got %s: %+v", nameOf(got.Diagnosis), got.Steps)
	}
	if slices.ContainsFunc(got.Steps, func(s incident.StepRequest) bool { return s.Kind == incident.StepReplicas }) {
		t.Errorf("the pool's workload would be scaled, which may be the other side: %+v", got.Steps)
	}
	const want = "Prefill: a; decode: b, c. Known from the tokens that they generate for each request."
	if said := strings.Join(got.Diagnosis.Unusual, " "); !strings.Contains(said, want) {
		t.Errorf("the roles are not said: %s", said)
	}
	got = diagnosed(t, sides([]float64{30, 40, 40}, []float64{.95, .99, .99}))
	if nameOf(got.Diagnosis) != "role-starved" || !strings.Contains(got.Steps[1].Advice, "The decode side is starved") {
		t.Errorf("got %s: %+v", nameOf(got.Diagnosis), got.Steps)
	}
}

func TestNoSideIsStarvedUnlessTheOtherHasRoomAndAllRolesAreKnown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(incident.Evidence){
		"a role isn't known": func(ev incident.Evidence) { ev.Readings["prefill_pods"] = podsWith(1, 0) },
		"no roles":           func(ev incident.Evidence) { ev.Readings["prefill_pods"] = podsWith(0, 0, 0) },
		"both sides wait":    func(ev incident.Evidence) { ev.Readings["waiting_worst_rank"] = podsWith(60, 40, 40) },
		"no room to decode":  func(ev incident.Evidence) { ev.Readings["kv_usage"] = podsWith(.1, .85, .85) },
		"the queue is over":  func(ev incident.Evidence) { ev.Readings["waiting"] = podsWith(2, 0, 0) },
		"first tokens in time": func(ev incident.Evidence) {
			ev.Readings["ttft_worst_pod"] = podsWith(.4, .1, .1)
		},
		"late tokens on the decode side": func(ev incident.Evidence) {
			ev.Readings["tpot_worst_pod"] = podsWith(.01, .2, .2)
		},
	} {
		ev := sides([]float64{60, 0, 0}, []float64{.1, .2, .2})
		change(ev)
		if got := diagnosed(t, ev); nameOf(got.Diagnosis) == "role-starved" {
			t.Errorf("%s: role-starved all the same: %+v", name, got.Diagnosis.Evidence)
		}
	}
	ev := sides([]float64{60, 0, 0}, []float64{.1, .2, .2})
	ev.Readings["prefill_pods"] = incident.Reading{Error: "timeout"}
	if o := verdictOf(t, diagnosed(t, ev), "role-starved"); o.Verdict != incident.Undecided {
		t.Errorf("roles that could not be read: role-starved is %s, want undecided", o.Verdict)
	}
}

// Nobody is told to take out a pod that no other one can stand in for.
func TestTheLastPodOfItsRoleIsNotTakenOut(t *testing.T) {
	t.Parallel()
	const takeOut, wait = "one pod at a time, take it out", "Don't take a pod out yet"
	for name, tt := range map[string]struct {
		serving, prefill, stalled []float64
		want, not                 string
	}{
		"the only prefill pod":         {[]float64{1, 8, 8}, []float64{1, 0, 0}, []float64{1, 0, 0}, wait, takeOut},
		"one of two prefill pods":      {[]float64{1, 1, 8}, []float64{1, 1, 0}, []float64{1, 0, 0}, takeOut, wait},
		"a decode pod of two":          {[]float64{1, 8, 8}, []float64{1, 0, 0}, []float64{0, 1, 0}, takeOut, wait},
		"a pool without roles":         {[]float64{8, 8, 8}, []float64{0, 0, 0}, []float64{1, 0, 0}, takeOut, wait},
		"a pod whose role isn't known": {[]float64{1, 8, 8}, []float64{1, 0}, []float64{0, 0, 1}, wait, takeOut},
	} {
		ev := readings(with(map[string]float64{"ttft_p95": 3, "generation_tokens_rate": 100}))
		ev.Readings["running"], ev.Readings["prefill_pods"] = podsWith(tt.serving...), podsWith(tt.prefill...)
		ev.Readings["stalled_pods"] = podsWith(tt.stalled...)
		c := builtin(t, playbooks.Options{})
		got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMPodSlow"), Pool: chat(), Evidence: ev})
		if nameOf(got.Diagnosis) != "one-bad-replica" || len(got.Steps) != 1 {
			t.Errorf("%s: got %s with %+v", name, nameOf(got.Diagnosis), got.Steps)
			continue
		}
		advice := got.Steps[0].Advice
		if !strings.Contains(advice, tt.want) || strings.Contains(advice, tt.not) {
			t.Errorf("%s: the advice is %q", name, advice)
		}
		if strings.Contains(got.Note, "manual") {
			t.Errorf("%s: the advice that isn't given is told of: %q", name, got.Note)
		}
	}
}
