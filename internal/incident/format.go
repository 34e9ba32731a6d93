package incident

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// FormatValue writes a value as a person reads it: "7.2 s", "85 ms", "97%", "12", "32,768 tokens", "104k/s". It is made
// for messages, not for parsing, and not for what people copy into a configuration.
func FormatValue(v float64, u Unit) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	switch u {
	case UnitSeconds:
		return seconds(v)
	case UnitRatio:
		return number(v*100) + "%"
	case UnitPerSecond:
		return rate(v) + "/s"
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

func seconds(v float64) string {
	switch {
	case v != 0 && math.Abs(v) < 0.9995: // what is more is 1000 ms, rounded
		return number(v*1000) + " ms"
	case v >= 3599.5 && v < math.MaxInt32:
		return FormatDuration(time.Duration(v) * time.Second)
	case v >= 119.5 && v < 3599.5: // people say 90 s, and 9 min
		return minutes(int(math.Round(v)))
	}
	return number(v) + " s"
}

// minutes keeps the seconds, unlike FormatDuration: a value must not look equal to a limit that it is beyond.
func minutes(s int) string {
	text := strconv.Itoa(s/60) + " min"
	if s%60 != 0 {
		text += " " + strconv.Itoa(s%60) + " s"
	}
	return text
}

// rate shortens what has more digits than a reader compares: "9,800", "104k", "2.5M".
func rate(v float64) string {
	switch abs := math.Abs(v); {
	case abs >= huge:
	case abs >= 999_500:
		return number(v/1e6) + "M"
	case abs >= 9_999.5:
		return number(v/1e3) + "k"
	}
	return number(v)
}

// The values beyond which more digits, or more zeros, would say nothing.
const (
	tiny = 1e-4
	huge = 1e15
)

// number keeps three significant digits, or the whole part, and drops what says nothing. What is not zero is never
// written as zero: a rule may ask for "more than 0".
func number(v float64) string {
	switch abs := math.Abs(v); {
	case v > 0 && v < tiny:
		return "<0.0001"
	case v < 0 && v > -tiny:
		return ">-0.0001"
	case abs >= huge:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case abs >= 99.95: // what is less keeps a digit behind the point
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	}
	s := strconv.FormatFloat(v, 'g', 3, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// thousands separates the thousands of a whole number: "-1,234,567".
func thousands(s string) string {
	sign, digits := "", s
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, digits = "-", rest
	}
	for n := len(digits) - 3; n > 0; n -= 3 {
		digits = digits[:n] + "," + digits[n:]
	}
	return sign + digits
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

// Text is the reading as a person reads it: the value, "≤ 300 ms", "≥ 10 s", "no data", or "error: ...".
func (r Reading) Text() string {
	switch {
	case r.Error != "":
		return "error: " + r.Error
	case r.Value == nil:
		return "no data"
	}
	return r.Bound.Text(FormatValue(*r.Value, r.Unit))
}

// Text puts the bound before a value that is written already: "≤ 300 ms".
func (b Bound) Text(value string) string {
	switch b {
	case AtMost:
		return "≤ " + value
	case AtLeast:
		return "≥ " + value
	case Exact:
		return value
	default:
		return value
	}
}
