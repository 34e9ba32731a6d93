package sandbox

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// pace is how many times shorter than in production the rules and the bot look back and wait. The fleet itself runs in
// real time: a request that takes four seconds takes four seconds.
const pace = 30

// Intervals that are not shortened but chosen.
const (
	scrapeEvery = time.Second
	// ruleWindow is how far back the bot's signals look.
	ruleWindow = 5 * time.Minute / pace
	// startUp is how long a new replica takes to load the model.
	startUp = 6 * time.Second
	// kept is how long Prometheus remembers: as long as the bot's signals look back for what is usual.
	kept = 2 * time.Hour
)

// lookback matches a time in a rule file: a range, an offset, how long an alert is pending.
var lookback = regexp.MustCompile(`(\[|offset |for: )(\d+[smh])\b`)

// fewest matches how many requests a rule asks for before it says anything, after the closing parenthesis of what
// counts them. In a shorter time there are fewer, so it is divided, too: by less, because one or two would say nothing.
var fewest = regexp.MustCompile(`(?m)(\) >= )(\d{2,})$`)

const fewestBy = 4

// shortened divides the times in a rule file, and the counts in those times.
func shortened(rules string) (string, error) {
	var failed error
	out := lookback.ReplaceAllStringFunc(rules, func(hit string) string {
		parts := lookback.FindStringSubmatch(hit)
		d, err := model.ParseDuration(parts[2])
		if err != nil {
			failed = fmt.Errorf("shorten the rules: %s: %w", hit, err)
			return hit
		}
		return parts[1] + model.Duration(max(time.Duration(d)/pace, scrapeEvery).Truncate(scrapeEvery)).String()
	})
	out = fewest.ReplaceAllStringFunc(out, func(hit string) string {
		parts := fewest.FindStringSubmatch(hit)
		n, err := strconv.Atoi(parts[2])
		failed = errors.Join(failed, err)
		return parts[1] + strconv.Itoa(max(1, n/fewestBy))
	})
	return out, failed
}
