package promembed_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

var start = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

const interval = 15 * time.Second

func TestValuesOfEveryNotationAreLoaded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values string
		at     time.Duration
		query  string
		want   map[string]string
	}{
		"single values":                   {"1 2 3", 30 * time.Second, "x", one("3")},
		"a rise has one value more":       {"0+1x10", 150 * time.Second, "x", one("10")},
		"a fall":                          {"10-2x4", time.Minute, "x", one("2")},
		"a repetition has one value more": {"5x3 7", time.Minute, "count_over_time(x[1m]) * 100 + x", one("407")},
		"a gap within the lookback":       {"1 _x5", 75 * time.Second, "x", one("1")},
		"a gap leaves no sample":          {"1 _x5 2", 90 * time.Second, "count_over_time(x[2m])", one("2")},
		"stale ends a series":             {"1 stale", 15 * time.Second, "x", nil},
		"before stale it is there":        {"1 stale", 14 * time.Second, "x", one("1")},
		"after stale it comes back":       {"1 stale _x3 9", 75 * time.Second, "x", one("9")},
		"the lookback ends":               {"1", 5*time.Minute + time.Millisecond, "x", nil},
		"a counter that starts again":     {"0 100 200 10 110", time.Minute, "increase(x[1m1ms])", one("310")},
		"not a number":                    {"NaN", 0, "x", one("NaN")},
		"infinite":                        {"-Inf +Inf", 15 * time.Second, "x", one("+Inf")},
		"lines and spaces":                {" 1\n 2   3 ", 30 * time.Second, "sum_over_time(x[1m])", one("6")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := loaded(t, promembed.Series{Series: "x", Values: c.values})
			if diff := cmp.Diff(c.want, vector(t, p, c.query, start.Add(c.at))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.query, diff)
			}
		})
	}
}

func one(v string) map[string]string { return map[string]string{"{}": v} }

func TestSeveralLoadsAddUp(t *testing.T) {
	t.Parallel()
	p := loaded(t, promembed.Series{Series: `x{pod="a"}`, Values: "1 2"})
	if err := p.Load(start.Add(time.Minute), time.Minute,
		[]promembed.Series{{Series: `x{pod="a"}`, Values: "3"}, {Series: `x{pod="b"}`, Values: "4"}}); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{`{pod="a"}`: "6", `{pod="b"}`: "4"}
	if diff := cmp.Diff(want, vector(t, p, "sum_over_time(x[5m])", start.Add(time.Minute))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatCannotBeLoadedIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	err := p.Load(start, interval, []promembed.Series{
		{Series: `good`, Values: "1"},
		{Series: `x{pod="a"`, Values: "1"},
		{Series: `x`, Values: "1 2 oops"},
		{Series: `{pod="a"}`, Values: "1"},
		{Series: `x 1`, Values: "1"},
		{Series: `y`, Values: "1 2+1x9999999999"},
		{Series: `z`, Values: ""},
		{Series: `h`, Values: "{{schema:0 sum:1 count:1 buckets:[1]}}"},
	})
	want := []struct {
		index    int
		inValues bool
		offset   int
		text     string
	}{
		{1, false, 9, "unexpected end of input"},
		{2, true, 4, `unexpected identifier "oops"`},
		{3, false, 0, "names no metric"},
		{4, false, 2, "unexpected"},
		{5, true, 6, "more than 1000000 values"},
		{6, true, 0, "there is no value"},
		{7, true, 0, "native histograms"},
	}
	var joined interface{ Unwrap() []error }
	if !errors.As(err, &joined) || len(joined.Unwrap()) != len(want) {
		t.Fatalf("got %v, want %d mistakes", err, len(want))
	}
	for i, w := range want {
		got, ok := errors.AsType[*promembed.SeriesError](joined.Unwrap()[i])
		if !ok {
			t.Fatalf("%v is no SeriesError", joined.Unwrap()[i])
		}
		if got.Index != w.index || got.InValues != w.inValues || got.Offset != w.offset ||
			!strings.Contains(got.Error(), w.text) {
			t.Errorf("got %d %v %d: %v\nwant %+v", got.Index, got.InValues, got.Offset, got, w)
		}
	}
	if got := vector(t, p, "good", start); len(got) > 0 {
		t.Errorf("with mistakes nothing is loaded, got %v", got)
	}
}

func TestASeriesGivenTwiceIsRefusedWhole(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	err := p.Load(start, interval,
		[]promembed.Series{
			{Series: `x{a="1",b="2"}`, Values: "1"},
			{Series: "y", Values: "1"},
			{Series: `x{b="2",a="1"}`, Values: "1"},
		})
	if err == nil || !strings.Contains(err.Error(), "given twice") || !strings.Contains(err.Error(), `a="1", b="2"`) {
		t.Errorf("got %v", err)
	}
	if got := vector(t, p, "y", start); len(got) > 0 {
		t.Errorf("nothing must be loaded, got %v", got)
	}
}

func TestAnIntervalOfNothingIsRefused(t *testing.T) {
	t.Parallel()
	if err := loaded(t).Load(start, 0, nil); err == nil {
		t.Error("want an error")
	}
}

func TestAppendKeepsTimeRising(t *testing.T) {
	t.Parallel()
	p := loaded(t)
	ls := labels.FromStrings("__name__", "x", "pod", "a")
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	if err := p.Append(ls, []promembed.Sample{{T: at(0), V: 1}, {T: at(1), V: 2}}); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]promembed.Sample{
		"the same time again": {{T: at(1), V: 3}},
		"backwards":           {{T: at(5), V: 3}, {T: at(4), V: 3}},
		"below a millisecond": {{T: at(7), V: 3}, {T: at(7).Add(time.Microsecond), V: 3}},
	} {
		if err := p.Append(ls, bad); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
	if err := p.Append(labels.FromStrings("pod", "a"), []promembed.Sample{{T: at(9), V: 1}}); err == nil {
		t.Error("a series without a name: want an error")
	}
	if diff := cmp.Diff(map[string]string{`{pod="a"}`: "2"}, vector(t, p, "count_over_time(x[1m])", at(10))); diff != "" {
		t.Errorf("refused samples must not be there (-want +got):\n%s", diff)
	}
	if err := p.Append(ls, []promembed.Sample{{T: at(20), V: math.Float64frombits(value.StaleNaN)}}); err != nil {
		t.Fatal(err)
	}
	if got := vector(t, p, "x", at(20)); len(got) > 0 {
		t.Errorf("a staleness marker ends the series, got %v", got)
	}
}

func TestAClosedPrometheusTakesAndAnswersNothing(t *testing.T) {
	t.Parallel()
	p := loaded(t, promembed.Series{Series: "x", Values: "1"})
	for range 2 {
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Load(start, interval, []promembed.Series{{Series: "y", Values: "1"}}); err == nil {
		t.Error("want an error")
	}
	if status, body := get(t, p, "/api/v1/query?query=x"); status != 503 {
		t.Errorf("got %d %s", status, body)
	}
}

func FuzzLoad(f *testing.F) {
	for _, s := range [][2]string{
		{`vllm:num_requests_waiting{model_name="llama",pod="a"}`, "0+1x10 _x5 stale"},
		{`x`, "NaN -Inf 1e3 0x3 _ _x2"},
		{`{"a.b"}`, "{{schema:1 sum:1 count:2 buckets:[1 2]}}x3"},
		{`x{a="\x80"}`, "1-2x3"},
		{"", ""},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, series, values string) {
		p := loaded(t)
		err := p.Load(start, interval, []promembed.Series{{Series: series, Values: values}})
		if at, ok := errors.AsType[*promembed.SeriesError](err); ok {
			text := at.Series
			if at.InValues {
				text = values
			}
			if at.Offset < 0 || at.Offset > len(text) || at.Error() == "" {
				t.Errorf("offset %d of %q: %v", at.Offset, text, at)
			}
		}
		if got := vector(t, p, `count({__name__=~".+"})`, start.Add(time.Hour)); err != nil && len(got) > 0 {
			t.Errorf("refused (%v) and loaded all the same", err)
		}
	})
}
