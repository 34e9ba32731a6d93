package report_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/report"
	"github.com/vllm-medic/vllm-medic/internal/report/reporttest"
)

func TestRulesThatAreNoise(t *testing.T) {
	t.Parallel()
	quick := func(t *testing.T, names ...string) *reporttest.Life {
		t.Helper()
		return open(t, names...).Find("queueing").Wait(4 * time.Minute).Healthy().Close()
	}
	slow := func(t *testing.T, names ...string) *reporttest.Life {
		t.Helper()
		return open(t, names...).Find("queueing").Wait(6 * time.Minute).Healthy().Close()
	}
	nothing := func(t *testing.T, names ...string) *reporttest.Life {
		t.Helper()
		return open(t, names...).Find("").Wait(6 * time.Minute).Healthy().Close()
	}
	unread := func(t *testing.T, names ...string) *reporttest.Life {
		t.Helper()
		return open(t, names...).Wait(6 * time.Minute)
	}
	type life = func(*testing.T, ...string) *reporttest.Life
	for _, tc := range []struct {
		name  string
		lives []life
		names []string
		want  []report.Noise
	}{
		{"most recover at once", []life{quick, quick, quick, slow}, []string{"A"}, []report.Noise{report.NoiseQuick}},
		{"half of them is not most", []life{quick, quick, slow, slow}, []string{"A"}, []report.Noise{}},
		{"two prove nothing", []life{quick, quick}, []string{"A"}, []report.Noise{}},
		{"nor do open ones", []life{quick, quick, unread}, []string{"A"}, []report.Noise{}},
		{
			"most end without a diagnosis",
			[]life{nothing, nothing, slow},
			[]string{"A"},
			[]report.Noise{report.NoiseUnexplained},
		},
		{"never alone", []life{slow, slow, slow}, []string{"B", "A"}, []report.Noise{report.NoiseNeverAlone}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var lives []*reporttest.Life
			for _, one := range tc.lives {
				lives = append(lives, one(t, tc.names...))
			}
			for _, r := range of(lives...).Rules {
				if r.Name == tc.names[0] {
					same(t, "noise", r.Noise, tc.want)
				} else {
					same(t, "noise of the other", r.Noise, []report.Noise{})
				}
			}
		})
	}
}

// A rule that fired only with others, each time with another one, says something of its own.
func TestARuleThatFiresWithDifferentOnesIsNotTooMany(t *testing.T) {
	t.Parallel()
	var lives []*reporttest.Life
	for n := range 4 {
		lives = append(lives, open(t, "A", fmt.Sprintf("B%d", n)).Wait(time.Hour).Find("queueing").Healthy().Close())
	}
	for _, r := range of(lives...).Rules {
		if len(r.Noise) > 0 {
			t.Errorf("%+v", r)
		}
	}
}

// A rule is not blamed for what Prometheus did not answer.
func TestNoReadingIsNotNoFinding(t *testing.T) {
	t.Parallel()
	var lives []*reporttest.Life
	for range 4 {
		lives = append(lives, open(t, "A").Do(incident.Muted{}).Wait(time.Hour).Close())
	}
	got := of(lives...).Rules
	if len(got) != 1 || got[0].Closed != 4 || got[0].Unexplained != 0 || len(got[0].Noise) > 0 {
		t.Errorf("%+v", got)
	}
}
