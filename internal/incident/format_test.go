package incident

import (
	"math"
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

func TestValuesAreWrittenAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value float64
		unit  Unit
		want  string
	}{
		{0, UnitSeconds, "0 s"},
		{0.085, UnitSeconds, "85 ms"},
		{0.0000123, UnitSeconds, "0.0123 ms"},
		{1e-9, UnitSeconds, "<0.0001 ms"},
		{0.9994, UnitSeconds, "999 ms"},
		{0.9999, UnitSeconds, "1 s"},
		{7.2, UnitSeconds, "7.2 s"},
		{7.846, UnitSeconds, "7.85 s"},
		{-0.5, UnitSeconds, "-500 ms"},
		{60, UnitSeconds, "60 s"},
		{90.54, UnitSeconds, "90.5 s"},
		{119.4, UnitSeconds, "119 s"},
		{119.6, UnitSeconds, "2 min"},
		{330, UnitSeconds, "5 min 30 s"},
		{540, UnitSeconds, "9 min"},
		{899.4, UnitSeconds, "14 min 59 s"},
		{2560, UnitSeconds, "42 min 40 s"},
		{3599.4, UnitSeconds, "59 min 59 s"},
		{3599.7, UnitSeconds, "1 h"},
		{-540, UnitSeconds, "-540 s"},
		{7200, UnitSeconds, "2 h"},
		{1e300, UnitSeconds, "1e+300 s"},
		{0, UnitRatio, "0%"},
		{0.97, UnitRatio, "97%"},
		{0.1329, UnitRatio, "13.3%"},
		{0.9996, UnitRatio, "100%"},
		{1e-9, UnitRatio, "<0.0001%"},
		{-1e-9, UnitRatio, ">-0.0001%"},
		{0, UnitPerSecond, "0/s"},
		{0.05, UnitPerSecond, "0.05/s"},
		{340, UnitPerSecond, "340/s"},
		{9800, UnitPerSecond, "9,800/s"},
		{9999.7, UnitPerSecond, "10k/s"},
		{104_306, UnitPerSecond, "104k/s"},
		{-104_306, UnitPerSecond, "-104k/s"},
		{999_700, UnitPerSecond, "1M/s"},
		{2_540_000, UnitPerSecond, "2.54M/s"},
		{1e300, UnitPerSecond, "1e+300/s"},
		{0, UnitCount, "0"},
		{12, UnitCount, "12"},
		{1.5, UnitCount, "1.5"},
		{99.96, UnitCount, "100"},
		{538.4, UnitCount, "538"},
		{999.4, UnitCount, "999"},
		{999.6, UnitCount, "1,000"},
		{-999.6, UnitCount, "-1,000"},
		{123_456, UnitCount, "123,456"},
		{-1_234_567, UnitCount, "-1,234,567"},
		{32_768, UnitTokens, "32,768 tokens"},
		{4.2e9, UnitSeconds, "4,200,000,000 s"},
		{12.5, UnitRatio, "1,250%"},
		{9_999.4, UnitPerSecond, "9,999/s"},
		{2048 << 30, UnitBytes, "2,048 GiB"},
		{80 << 30, UnitBytes, "80 GiB"},
		{0.5 * (1 << 30), UnitBytes, "0.5 GiB"},
		{3, "", "3"},
		{math.NaN(), UnitRatio, "NaN"},
		{math.Inf(1), UnitSeconds, "+Inf"},
		{math.Inf(-1), UnitPerSecond, "-Inf"},
	} {
		if got := FormatValue(tt.value, tt.unit); got != tt.want {
			t.Errorf("%g %s is %q, want %q", tt.value, tt.unit, got, tt.want)
		}
	}
}
