package schedule

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func at(t *testing.T, text string) time.Time {
	t.Helper()
	out, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheLastTimeThatHasCome(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, expr, zone, now, want string }{
		{"to the second", "0 10 * * 2", "", "2026-11-24T10:00:00Z", "2026-11-24T10:00:00Z"},
		{"a moment before", "0 10 * * 2", "", "2026-11-24T09:59:59Z", ""},
		{"minutes later", "0 10 * * 2", "", "2026-11-24T10:09:59Z", "2026-11-24T10:00:00Z"},
		{"too late", "0 10 * * 2", "", "2026-11-24T10:10:01Z", ""},
		{"on another day", "0 10 * * 2", "", "2026-11-25T10:00:30Z", ""},
		{"the newest of several", "*/5 * * * *", "", "2026-11-24T10:07:00Z", "2026-11-24T10:05:00Z"},
		{"in winter", "0 10 * * 2", "Europe/Berlin", "2026-11-24T09:00:10Z", "2026-11-24T09:00:00Z"},
		{"in summer", "0 10 * * 2", "Europe/Berlin", "2026-06-23T08:00:10Z", "2026-06-23T08:00:00Z"},
		{"that does not exist", "30 2 * * *", "Europe/Berlin", "2026-03-29T01:30:10Z", ""},
		{"that exists twice, once", "30 2 * * *", "Europe/Berlin", "2026-10-25T00:30:10Z", "2026-10-25T00:30:00Z"},
		{"that exists twice, again", "30 2 * * *", "Europe/Berlin", "2026-10-25T01:30:10Z", "2026-10-25T01:30:00Z"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := New(tt.expr, tt.zone)
			if err != nil {
				t.Fatal(err)
			}
			got, come, err := s.Last(at(t, tt.now))
			switch {
			case err != nil:
				t.Error(err)
			case !come && tt.want == "":
			case !come || tt.want == "" || !got.Equal(at(t, tt.want)):
				t.Errorf("got %v %v, want %q", got, come, tt.want)
			}
		})
	}
}

func TestWhatIsNoScheduleIsRefused(t *testing.T) {
	t.Parallel()
	for expr, want := range map[string]string{
		"":              "has 0 fields",
		"@daily":        "has 1 fields",
		"0 0 10 * * 2":  "has 6 fields",
		"60 10 * * 2":   "is not a valid schedule",
		"0 10 * * noon": "is not a valid schedule",
	} {
		if _, err := New(expr, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", expr, err, want)
		}
	}
	var zone *ZoneError
	for _, name := range []string{"Berlin", "Local", "CEST"} {
		if _, err := New("0 10 * * 2", name); !errors.As(err, &zone) || zone.Name != name {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, _, err := (Schedule{}).Last(time.Unix(0, 0)); err == nil {
		t.Error("a schedule that was not read has times")
	}
}
