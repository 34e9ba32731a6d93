package nearest

import "testing"

func TestTheNameThatWasMeantIsFound(t *testing.T) {
	t.Parallel()
	known := []string{"serve", "check", "mode", "min", "max", "max_step", "Deployment", "DaemonSet", "kubernetes"}
	for name, want := range map[string]string{
		"sevre": "serve", "cehck": "check", "modus": "mode", "maximum": "max", "Deploymet": "Deployment",
		"deployment": "Deployment",
		"kubernets":  "kubernetes", "kube": "kubernetes", "mn": "", "x": "", "": "", "InferenceService": "", "frobnicate": "",
	} {
		if got := Name(name, known); got != want {
			t.Errorf("Name(%q) is %q, want %q", name, got, want)
		}
	}
}

func TestDistanceCountsLettersAndSwaps(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"", "abc", 3},
		{"abc", "abc", 0},
		{"abc", "acb", 1},
		{"abc", "axc", 1},
		{"abcd", "bcd", 1},
		{"ü", "u", 1},
		{"kitten", "sitting", 3},
	} {
		if got, back := Distance(c.a, c.b), Distance(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("Distance(%q, %q) is %d and %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
