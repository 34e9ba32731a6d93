package incident

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatValue writes a value as a person reads it: "7.2 s", "85 ms", "97 %", "12", "340/s". It is made for messages,
// not for parsing.
func FormatValue(v float64, u Unit) string {
	switch u {
	case UnitSeconds:
		switch {
		case v != 0 && math.Abs(v) < 1:
			return number(v*1000) + " ms"
		case v >= 3600 && v < math.MaxInt32:
			return FormatDuration(time.Duration(v) * time.Second)
		}
		return number(v) + " s"
	case UnitRatio:
		return number(v*100) + " %"
	case UnitPerSecond:
		return number(v) + "/s"
	case UnitTokens:
		return number(v) + " tokens"
	case UnitBytes:
		return number(v/(1<<30)) + " GiB"
	case UnitCount:
		return number(v)
	default:
		return number(v)
	}
}

// number keeps three significant digits and drops what says nothing.
func number(v float64) string {
	if math.Abs(v) >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if strings.ContainsAny(s, "e") {
		s = strconv.FormatFloat(v, 'f', 3, 64)
	}
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// FormatDuration writes a length of time as a person reads it: "45 s", "12 min", "3 h 5 min", "2 days". It is rounded
// to what is written; one that is negative, as clocks that differ make it, is "0 s".
func FormatDuration(d time.Duration) string {
	minutes := int(d.Round(time.Minute).Minutes())
	switch {
	case d < 0:
		return "0 s"
	case d.Round(time.Second) < time.Minute:
		return strconv.Itoa(int(d.Round(time.Second).Seconds())) + " s"
	case minutes < 60:
		return strconv.Itoa(minutes) + " min"
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + " days"
	case minutes%60 == 0:
		return strconv.Itoa(minutes/60) + " h"
	}
	return strconv.Itoa(minutes/60) + " h " + strconv.Itoa(minutes%60) + " min"
}

// Text is the reading as a person reads it: the value, "at most 0.3 s", "at least 10 s", "no data", or "error: ...".
func (r Reading) Text() string {
	switch {
	case r.Error != "":
		return "error: " + r.Error
	case r.Value == nil:
		return "no data"
	}
	v := FormatValue(*r.Value, r.Unit)
	switch r.Bound {
	case AtMost:
		return "at most " + v
	case AtLeast:
		return "at least " + v
	case Exact:
		return v
	default:
		return v
	}
}
