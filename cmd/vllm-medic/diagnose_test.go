package main

import (
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestNothingReadIsNotNoData(t *testing.T) {
	t.Parallel()
	one := 1.0
	const away = "connection refused"
	failed := incident.Reading{Error: away}
	for name, tc := range map[string]struct {
		inc  incident.Incident
		want bool
	}{
		"nobody answers": {incident.Incident{Readings: map[string]incident.Reading{
			"a":                failed,
			"from the cluster": {},
		}, Cluster: incident.Cluster{Error: away}}, true},
		"Prometheus has data": {incident.Incident{Readings: map[string]incident.Reading{
			"a": failed,
			"b": {Query: "up", Value: &one},
		}, Cluster: incident.Cluster{Error: away}}, false},
		"Prometheus has none": {incident.Incident{
			Readings: map[string]incident.Reading{"a": failed, "b": {Query: "up"}},
			Cluster:  incident.Cluster{Error: away},
		}, false},
		"the cluster answers": {incident.Incident{Readings: map[string]incident.Reading{"a": failed}}, false},
		"the cluster has a say": {incident.Incident{
			Readings: map[string]incident.Reading{"a": failed, "b": {Value: &one}},
			Cluster:  incident.Cluster{Error: away},
		}, false},
		"there is a diagnosis": {incident.Incident{
			Readings: map[string]incident.Reading{"a": failed},
			Cluster:  incident.Cluster{Error: away}, Diagnosis: &incident.Diagnosis{},
		}, false},
		"an alert without pool": {incident.Incident{Note: "The pool could not be found."}, false},
	} {
		if got := unread(tc.inc); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}
