package remediation

import (
	"errors"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

// measured is a look at a pool that is well, of which each case changes one thing.
func measured() Investigation {
	met := func(signal string) incident.Condition {
		return incident.Condition{Signal: signal, Truth: incident.True, Relation: incident.RelationAtMost}
	}
	return Investigation{
		Evidence: incident.Evidence{Readings: map[string]incident.Reading{
			incident.SignalTTFT: {Value: new(0.2)}, incident.SignalTPOT: {Value: new(0.02)},
			incident.SignalRunning: {Value: new(3.0)}, incident.SignalWaiting: {Value: new(0.0)}, "errors": {Value: new(0.0)},
		}},
		Result: playbooks.Result{
			Targets:  []incident.Condition{met(incident.SignalTTFT), met(incident.SignalTPOT)},
			Recovery: []incident.Condition{met("errors")}, Healthy: incident.True,
		},
	}
}

// truth changes a target, and takes its value away where it is undecided.
func (f Investigation) truth(n int, t incident.Truth) {
	f.Result.Targets[n].Truth = t
	if t == incident.Undecided {
		f.Evidence.Readings[f.Result.Targets[n].Signal] = incident.Reading{}
	}
}

func TestHealthClaimsNoMoreThanWasMeasured(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*Investigation)
		want   incident.Health
	}{
		"everything measured and met": {func(*Investigation) {}, incident.HealthOK},
		"a diagnosis that asks for nothing": {func(f *Investigation) {
			f.Result.Diagnosis = &incident.Diagnosis{}
		}, incident.HealthOK},
		"a diagnosis that asks for something": {func(f *Investigation) {
			f.Result.Diagnosis, f.Result.Acts = &incident.Diagnosis{}, true
		}, incident.HealthProblem},
		"no metrics": {func(f *Investigation) { f.Evidence.Absent = "gone" }, incident.HealthNoData},
		"a target is missed": {func(f *Investigation) {
			f.truth(0, incident.False)
			f.truth(1, incident.Undecided)
		}, incident.HealthOverTarget},
		"another limit is exceeded": {func(f *Investigation) {
			f.Result.Healthy, f.Result.Recovery[0].Truth = incident.False, incident.False
		}, incident.HealthOverLimit},
		"another limit has no data": {func(f *Investigation) {
			f.Result.Healthy, f.Result.Recovery[0].Truth = incident.Undecided, incident.Undecided
			f.Evidence.Readings["errors"] = incident.Reading{}
		}, incident.HealthOK},
		"another limit could not be read": {func(f *Investigation) {
			f.Result.Healthy, f.Result.Recovery[0].Truth = incident.Undecided, incident.Undecided
			f.Evidence.Readings["errors"] = incident.Reading{Error: "timeout"}
		}, incident.HealthUnread},
		"a target has no data": {func(f *Investigation) { f.truth(1, incident.Undecided) }, incident.HealthPartial},
		"a target could not be read": {func(f *Investigation) {
			f.truth(1, incident.Undecided)
			f.Evidence.Readings[incident.SignalTPOT] = incident.Reading{Error: "stale"}
		}, incident.HealthUnread},
		"no request at all": {func(f *Investigation) {
			f.truth(0, incident.Undecided)
			f.truth(1, incident.Undecided)
			f.Evidence.Readings[incident.SignalRunning] = incident.Reading{Value: new(0.0)}
		}, incident.HealthNoTraffic},
		"nothing answered, and whether requests run is not known": {func(f *Investigation) {
			f.truth(0, incident.Undecided)
			f.truth(1, incident.Undecided)
			f.Evidence.Readings[incident.SignalRunning] = incident.Reading{}
		}, incident.HealthPartial},
		"nothing answered while requests run": {func(f *Investigation) {
			f.truth(0, incident.Undecided)
			f.truth(1, incident.Undecided)
		}, incident.HealthPartial},
		"no targets": {func(f *Investigation) { f.Result.Targets = nil }, incident.HealthPartial},
	} {
		f := measured()
		tc.change(&f)
		if got := f.assessment(); got.Health != tc.want || got.Targets == nil {
			t.Errorf("%s: %+v, want %s", name, got, tc.want)
		}
	}
}

func TestAnAssessmentSaysWhatItRestsOn(t *testing.T) {
	t.Parallel()
	f := measured()
	f.truth(0, incident.False)
	if got := f.assessment(); len(got.Because) != 1 || got.Because[0].Signal != incident.SignalTTFT {
		t.Errorf("because of %+v", got.Because)
	}
	f = measured()
	f.truth(1, incident.Undecided)
	f.Evidence.Readings[incident.SignalTPOT] = incident.Reading{Error: errors.ErrUnsupported.Error()}
	if got := f.assessment(); got.Why != errors.ErrUnsupported.Error() {
		t.Errorf("why: %q", got.Why)
	}
}
