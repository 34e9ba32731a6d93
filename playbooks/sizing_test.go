package playbooks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// A step that is sized by a signal asks for what was measured exactly, and says so; else it adds what it says alone.
func TestAStepIsSizedByWhatTheLoadNeeds(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	exact := func(v float64) incident.Reading { return incident.Reading{Value: &v} }
	bound := exact(1.8)
	bound.Bound = incident.AtLeast
	for name, tt := range map[string]struct {
		demand incident.Reading
		times  float64
		why    string
	}{
		"more than runs":      {exact(1.8), 1.8, "Sized for the load: 180% of what the pool can serve."},
		"nothing waits":       {exact(1), 0, ""},
		"only a bound":        {bound, 0, ""},
		"no data":             {incident.Reading{}, 0, ""},
		"could not be read":   {incident.Reading{Error: "timeout"}, 0, ""},
		"a value and a doubt": {incident.Reading{Value: bound.Value, Error: "timeout"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := readings(with(map[string]float64{
				"queue_time_p95": 9, "waiting_mean": 60, "waiting_per_engine": 30, "waiting_per_engine_mean": 30, "ttft_p95": 12,
			}))
			ev.Readings["demand"] = tt.demand
			got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMQueueBacklog"), Pool: chat(), Evidence: ev})
			for _, s := range got.Steps {
				if s.Kind != incident.StepReplicas {
					continue
				}
				if s.Add != 1 || s.Times != tt.times || tt.why == "" == strings.Contains(s.Why, "Sized") ||
					!strings.HasSuffix(s.Why, tt.why) {
					t.Errorf("%s asks for %+v", nameOf(got.Diagnosis), s)
				}
				return
			}
			t.Fatalf("%s adds no replicas: %+v", nameOf(got.Diagnosis), got.Steps)
		})
	}
}

// What a step starts from is named where it was measured: nobody has to multiply. One pod with several engines may be
// several pods without a label, and says nothing.
func TestAStepKnowsHowManyReplicasServe(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	for name, tt := range map[string]struct {
		pods, engines float64
		title         string
	}{
		"two pods":             {2, 2, "Scale to at least 8 replicas (2 serve now)"},
		"pods of many engines": {2, 16, "Scale to at least 8 replicas (2 serve now)"},
		"one pod":              {1, 1, "Scale to at least 4 replicas (1 serves now)"},
		"no label for pods":    {1, 4, "Scale to at least 3.7 times the replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := readings(with(map[string]float64{
				"queue_time_p95": 9, "waiting_mean": 60, "waiting_per_engine": 30, "waiting_per_engine_mean": 30, "ttft_p95": 12,
				"demand": 3.72, "pods_serving": tt.pods, "engines": tt.engines,
			}))
			got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMQueueBacklog"), Pool: chat(), Evidence: ev})
			at := slices.IndexFunc(got.Steps, func(s incident.StepRequest) bool { return s.Kind == incident.StepReplicas })
			if at < 0 {
				t.Fatalf("%s adds no replicas: %+v", nameOf(got.Diagnosis), got.Steps)
			}
			if title := replicasTitle(got.Steps[at]); title != tt.title {
				t.Errorf("got %q, want %q", title, tt.title)
			}
		})
	}
}

func replicasTitle(r incident.StepRequest) string {
	knob, _ := r.Kind.Knob()
	return knob.Title(r)
}

// A throttle is sized by what is in flight, where that was measured exactly.
func TestAThrottleIsSizedByWhatIsInFlight(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	bound := incident.Reading{Value: new(253.0), Bound: incident.AtLeast}
	for name, tt := range map[string]struct {
		inFlight incident.Reading
		of       float64
		why      string
	}{
		"measured":          {incident.Reading{Value: new(253.0)}, 253, "Sized for the load: up to 253 in flight."},
		"nothing in flight": {incident.Reading{Value: new(0.0)}, 0, ""},
		"only a bound":      {bound, 0, ""},
		"no data":           {incident.Reading{}, 0, ""},
		"could not be read": {incident.Reading{Value: new(253.0), Error: "timeout"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ev := readings(with(map[string]float64{
				"queue_time_p95": 9, "waiting_mean": 60, "waiting_per_engine": 30, "waiting_per_engine_mean": 30, "ttft_p95": 12,
			}))
			ev.Readings["in_flight"] = tt.inFlight
			got := c.Diagnose(playbooks.Input{Alerts: alerts("vLLMQueueBacklog"), Pool: chat(), Evidence: ev})
			at := slices.IndexFunc(got.Steps, func(s incident.StepRequest) bool { return s.Kind == incident.StepThrottle })
			if at < 0 {
				t.Fatalf("%s throttles nothing: %+v", nameOf(got.Diagnosis), got.Steps)
			}
			s := got.Steps[at]
			if s.Factor != 0.7 || s.Of != tt.of || !strings.HasSuffix(s.Why, tt.why) ||
				tt.why == "" == strings.Contains(s.Why, "Sized") {
				t.Errorf("it asks for %+v", s)
			}
		})
	}
}
