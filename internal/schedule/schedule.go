// Package schedule reads cron expressions and says which of their times has come. It is pure: the present time is an
// argument.
package schedule

import (
	"errors"
	"fmt"
	"strings"
	"time"

	_ "time/tzdata" // an image without files has no time zones

	"github.com/adhocore/gronx"
)

// Late is how old a time may be for what was planned for it: that is how long a bot may be away, or a replica be slow,
// before it is left out.
const Late = 10 * time.Minute

// Schedule is a cron expression in a time zone. Use New.
type Schedule struct {
	expr string
	zone *time.Location
}

// New reads an expression of five fields (minute, hour, day of the month, month, day of the week) and the name of a
// time zone; the empty one is UTC.
func New(expr, zone string) (Schedule, error) {
	if n := len(strings.Fields(expr)); n != 5 {
		return Schedule{}, fmt.Errorf("%q has %d fields; a schedule has five: minute, hour, day of the month, month, "+
			"day of the week, such as \"0 10 * * 2\"", expr, n)
	}
	if !gronx.IsValid(expr) {
		return Schedule{}, fmt.Errorf("%q is not a valid schedule; \"0 10 * * 2\" is Tuesdays at 10:00", expr)
	}
	in, err := time.LoadLocation(zone)
	if err != nil || zone == "Local" {
		return Schedule{}, &ZoneError{zone}
	}
	return Schedule{expr: expr, zone: in}, nil
}

// String is the expression with its time zone: "0 10 * * 2 Europe/Berlin".
func (s Schedule) String() string {
	if s.zone == nil {
		return ""
	}
	return s.expr + " " + s.zone.String()
}

// ZoneError says that there is no such time zone.
type ZoneError struct{ Name string }

// Error names it.
func (e *ZoneError) Error() string {
	return fmt.Sprintf("%q is not a time zone; use a name such as Europe/Berlin, or leave it out for UTC", e.Name)
}

var errUnread = errors.New("the schedule was not read")

// Last is the newest time of the schedule that has come and is not older than Late; false when there is none. Where the
// clocks go forward, a time that does not exist never comes; where they go back, one that exists twice comes twice.
func (s Schedule) Last(now time.Time) (time.Time, bool, error) {
	if s.zone == nil {
		return time.Time{}, false, errUnread
	}
	for at := now.Truncate(time.Minute); now.Sub(at) <= Late; at = at.Add(-time.Minute) {
		due, err := gronx.New().IsDue(s.expr, at.In(s.zone))
		if err != nil {
			return time.Time{}, false, fmt.Errorf("the schedule %q: %w", s.expr, err)
		}
		if due {
			return at, true, nil
		}
	}
	return time.Time{}, false, nil
}
