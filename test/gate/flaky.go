package gate

import (
	"slices"
	"strings"
	"time"
)

// remembered is how long a test that failed and passed again has to be on the list.
const remembered = 14 * 24 * time.Hour

// Unlisted are the tests that failed and passed again in green runs of the last 14 days, by the log of runs (see
// Record), and that the page does not have in the first column of its table. A line of the log that cannot be read is
// left out: the log is that of one machine, and maybe of an older version.
func Unlisted(log, page string, now time.Time) []string {
	var out []string
	for line := range strings.Lines(log) {
		fields := strings.SplitN(strings.TrimSpace(line), " ", 5)
		if len(fields) < 5 || fields[2] != "green" {
			continue
		}
		ended, err := time.Parse(time.RFC3339, fields[0])
		if err != nil || now.Sub(ended) > remembered {
			continue
		}
		for name := range strings.SplitSeq(fields[4], ", ") {
			if !strings.Contains(page, "\n| "+name+" |") && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}
