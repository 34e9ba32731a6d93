package playbooks_test

import (
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// at is when every evidence in these tests was read.
func at() time.Time { return time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC) }

func alerts(names ...string) []incident.Alert {
	var out []incident.Alert
	for _, n := range names {
		out = append(out, incident.Alert{Fingerprint: n, Labels: map[string]string{"alertname": n}, Firing: true, StartsAt: at()})
	}
	return out
}

// readings makes evidence of exact values.
func readings(values map[string]float64) incident.Evidence {
	ev := incident.Evidence{At: at(), Readings: map[string]incident.Reading{}}
	for name, v := range values {
		ev.Readings[name] = incident.Reading{Signal: name, Value: &v, At: at()}
	}
	return ev
}
