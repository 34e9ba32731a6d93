package vllm

import "testing"

func TestNumbersAreReadAsVLLMReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		"1":    1,
		"8192": 8192, "008": 8, "8k": 8000, "8K": 8192, "25.6k": 25600, "1.5m": 1_500_000, "2M": 2 << 20, "1g": 1e9,
		"1G": 1 << 30, "1t": 1e12,
		"1T": 1 << 40, "0.5k": 500, "1.0001k": 1000, "9007199254740992": Largest,
		// not certain, or not a number of tokens
		"": 0, "0": 0, "0k": 0, "0.0001k": 0, "-1": 0, "+8": 0, " 8": 0, "8 ": 0, "8_192": 0, "8.5K": 0, "8.5": 0,
		"8.k": 0, ".5k": 0, "1..5k": 0, "k": 0, "8kk": 0,
		"8b": 0, "auto": 0, "1e3": 0, "0x10": 0, "٣": 0, "9007199254740993": 0, "99999999999999999999": 0,
		"9999999999t": 0, "9000.5t": 9000500000000000, "9999.9t": 0,
	} {
		n, ok := ReadCount(text)
		if n != want && ok || ok != (want > 0) {
			t.Errorf("%q: %d, %v, want %d", text, n, ok, want)
		}
	}
}

func FuzzNumbersNeverExceedWhatIsExact(f *testing.F) {
	for _, s := range []string{"8192", "8k", "8K", "25.6k", "8.5K", "auto", "1T"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, ok := ReadCount(s); ok && (n < 1 || n > Largest) {
			t.Errorf("%q is read as %d", s, n)
		}
	})
}

// A row of the table is all that a new argument takes.
func TestEveryNumberOfTheTableIsRead(t *testing.T) {
	t.Parallel()
	for _, a := range arguments {
		line := Parse(serve("--"+a.Name, "1", "--port=80"))
		if n := line.Numbers()[a.Key()]; a.number() != (n == 1) {
			t.Errorf("--%s 1 is read as %v", a.Name, n)
		}
		if a.Short != "" && a.number() {
			if n, set, err := Parse(serve(a.Short + "=2")).Number(a.Name); n != 2 || !set || err != nil {
				t.Errorf("%s=2 is read as %v, %v, %v", a.Short, n, set, err)
			}
		}
	}
}
