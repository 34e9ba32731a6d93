package sandbox

import (
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/deploy/prometheus/rules"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

func TestOnlyTimesOfRulesAreShortened(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"rate(x[5m]) > 5":               "rate(x[10s]) > 5",
		"for: 2m":                       "for: 4s",
		"x offset 5m":                   "x offset 10s",
		"min_over_time(x[1h])":          "min_over_time(x[2m])",
		"for: 10s":                      "for: 1s", // never shorter than a scrape
		"increase(x[5m])) >= 20":        "increase(x[10s])) >= 5",
		"rate(x[5m]) >= 0":              "rate(x[10s]) >= 0",
		"nothing in 5 minutes, 5m":      "nothing in 5 minutes, 5m",
		`{finished_reason=~"5m|abort"}`: `{finished_reason=~"5m|abort"}`,
	} {
		got, err := shortened(in)
		if err != nil || got != want {
			t.Errorf("%s became %s (%v), want %s", in, got, err, want)
		}
	}
}

// What is shipped can be shortened and loaded, and nothing in it keeps looking back for minutes.
func TestTheShippedRulesAreShortenedAsAWhole(t *testing.T) {
	t.Parallel()
	text, err := shortened(rules.Current)
	if err != nil {
		t.Fatal(err)
	}
	for _, long := range []string{"[5m]", "offset 5m", "for: 5m", "for: 2m", "for: 1m"} {
		if strings.Contains(text, long) || !strings.Contains(rules.Current, "[5m]") {
			t.Errorf("%s is left", long)
		}
	}
	prom, err := promembed.New(promembed.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := prom.LoadRules("vllm-alerts.yaml", []byte(text)); err != nil {
		t.Error(err)
	}
}
