package gate

import (
	"slices"
	"testing"
	"time"
)

// A flake that nobody wrote down fails the next run, also where that one is green.
func TestAFlakeThatIsNotListedIsNamed(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 3, 0, 0, 0, time.UTC)
	day := func(ago int) time.Time { return now.AddDate(0, 0, -ago) }
	log := ""
	for _, r := range []struct {
		ago int
		of  Outcome
	}{
		{1, Outcome{Flaky: []string{"a T/x", "b U"}}},
		{2, Outcome{Flaky: []string{"b U"}}},
		{3, Outcome{Failed: []string{"c V"}}},
		{4, Outcome{}},
		{15, Outcome{Flaky: []string{"d W"}}},
	} {
		log += r.of.Record(day(r.ago), "600717de", time.Minute) + "\n"
	}
	page := "| test | seen |\n|---|---|\n| a T | 2026-11-01 |\n"
	if got := Unlisted(log+"an older line\n", page, now); !slices.Equal(got, []string{"a T/x", "b U"}) {
		t.Errorf("not listed: %q", got)
	}
	if got := Unlisted(log, page+"| a T/x | 2026-11-29 |\n| b U | 2026-11-28 |\n", now); len(got) > 0 {
		t.Errorf("listed, and not found: %q", got)
	}
}
