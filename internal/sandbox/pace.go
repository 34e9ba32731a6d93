package sandbox

import (
	"fmt"
	"regexp"
	"time"

	"github.com/prometheus/common/model"
)

// pace is how many times shorter than in production the rules and the bot look back and wait. The fleet itself runs in
// real time: a request that takes four seconds takes four seconds.
const pace = 30

// Intervals that are not shortened but chosen.
const (
	scrapeEvery = time.Second
	// startUp is how long a new replica takes to load the model.
	startUp = 6 * time.Second
	// kept is how long the charts, and Prometheus, remember.
	kept = 10 * time.Minute
)

// lookback matches a time in a rule file: a range, an offset, how long an alert is pending.
var lookback = regexp.MustCompile(`(\[|offset |for: )(\d+[smh])\b`)

// shortened divides the times in a rule file.
func shortened(rules string, by int) (string, error) {
	var failed error
	out := lookback.ReplaceAllStringFunc(rules, func(hit string) string {
		parts := lookback.FindStringSubmatch(hit)
		d, err := model.ParseDuration(parts[2])
		if err != nil {
			failed = fmt.Errorf("shorten the rules: %s: %w", hit, err)
			return hit
		}
		return parts[1] + model.Duration(max(time.Duration(d)/time.Duration(by), scrapeEvery).Truncate(scrapeEvery)).String()
	})
	return out, failed
}
