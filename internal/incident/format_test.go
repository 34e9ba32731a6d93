package incident

import (
	"testing"
	"time"
)

func TestDurationsAreWrittenAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0 s", 42 * time.Second: "42 s", 59*time.Second + 700*time.Millisecond: "1 min",
		10 * time.Minute: "10 min",
		90 * time.Second: "2 min", 59*time.Minute + 40*time.Second: "1 h", time.Hour: "1 h", 91 * time.Minute: "1 h 31 min",
		47*time.Hour + 59*time.Minute: "47 h 59 min", 72 * time.Hour: "3 days",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}
