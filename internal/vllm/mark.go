package vllm

import (
	"cmp"
	"strconv"
	"strings"
)

// Mark is a metric by whose presence versions of vLLM can be told apart. Every server of these versions exports it from
// the time at which it serves.
type Mark struct {
	// Name is without prefix, and a histogram's without suffix.
	Name      string
	Histogram bool
	// Since is the version that brought the metric, Removed the one that dropped it; empty when that is not between the
	// versions that are known.
	Since, Removed string
}

// Marks are taken from the tables of metrics and renames. Counters are left out: Ray exports one only after it has
// counted.
func Marks() []Mark {
	var out []Mark
	for _, name := range CurrentMetrics() {
		m, _ := CurrentMetric(name)
		if m.Since != "" && m.Only == "" && m.Lazy == nil && m.Type != Counter {
			out = append(out, Mark{Name: name, Histogram: m.Type == Histogram, Since: m.Since})
		}
	}
	for _, r := range Renames() {
		if m, ok := CurrentMetric(r.New); ok && m.Type != Counter {
			out = append(out, Mark{Name: r.Old, Histogram: m.Type == Histogram, Removed: r.Removed})
		}
	}
	return out
}

// VersionRange is what is known of a version: at least From, and before To. Empty is open.
type VersionRange struct{ From, To string }

// Narrow is the range with one mark more taken in that is there, or is not.
func (r VersionRange) Narrow(m Mark, there bool) VersionRange {
	from, to := "", ""
	switch {
	case there:
		from, to = m.Since, m.Removed
	case m.Since != "":
		to = m.Since
	}
	if from != "" && (r.From == "" || CompareVersions(from, r.From) > 0) {
		r.From = from
	}
	if to != "" && (r.To == "" || CompareVersions(to, r.To) < 0) {
		r.To = to
	}
	return r
}

// Empty says that no version is in it.
func (r VersionRange) Empty() bool {
	return r.From != "" && r.To != "" && CompareVersions(r.From, r.To) >= 0
}

// Apart says that no version is in both.
func (r VersionRange) Apart(o VersionRange) bool {
	both := r.Narrow(Mark{Since: o.From, Removed: o.To}, true)
	return both.Empty()
}

// String is for people: "0.20 or later", "before 0.20".
func (r VersionRange) String() string {
	switch {
	case r.From == "" && r.To == "":
		return ""
	case r.To == "":
		return r.From + " or later"
	case r.From == "":
		return "before " + r.To
	}
	return r.From + " or later, before " + r.To
}

// CompareVersions orders versions by their numbers: "0.9.2" is before "0.10". What is missing is zero.
func CompareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if c := cmp.Compare(numberAt(x, i), numberAt(y, i)); c != 0 {
			return c
		}
	}
	return 0
}

func numberAt(parts []string, i int) int {
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i]) // the tables hold numbers only, as a test sees to
	return n
}
