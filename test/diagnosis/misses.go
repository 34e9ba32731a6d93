package diagnosis

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// The marks between which README.md lists the wrong answers, and what stands for a reason that nobody has written yet.
const (
	missesBegin = "<!-- misses: go run ./test/diagnosis/cmd/accuracy --update -->\n"
	missesEnd   = "<!-- end of misses -->"
	noReason    = "(reason missing)"
)

// Miss is a line of README.md's list: a wrong answer that is known, and why it is wrong.
type Miss struct{ Name, Expected, Got, Reason string }

var missLine = regexp.MustCompile(`^\| ([a-z0-9-]+) \| ([a-z0-9-]+) \| ([a-z0-9-]+) \| (.+) \|$`)

// KnownMisses reads the list in README.md.
func KnownMisses(path string) ([]Miss, error) {
	_, list, _, err := Marked(path, missesBegin, missesEnd)
	return MissesIn(list), err
}

// MissesIn reads the lines of a list.
func MissesIn(list string) []Miss {
	var out []Miss
	for line := range strings.Lines(list) {
		if m := missLine.FindStringSubmatch(strings.TrimSpace(line)); m != nil && m[1] != "incident" {
			out = append(out, Miss{m[1], m[2], m[3], m[4]})
		}
	}
	return out
}

// Known gives a wrong answer the reason that it had before, if it is the same.
func (m Miss) Known(before []Miss) Miss {
	m.Reason = noReason
	for _, b := range before {
		if b.Name == m.Name && b.Expected == m.Expected && b.Got == m.Got {
			m.Reason = b.Reason
		}
	}
	return m
}

// Line is the wrong answer as a line of the list.
func (m Miss) Line() string {
	return fmt.Sprintf("| %s | %s | %s | %s |\n", m.Name, m.Expected, m.Got, m.Reason)
}

// Known is the list as it should be: the misses of this score, with the reasons of those that were known before.
func (s Score) Known(before []Miss) []Miss {
	out := []Miss{}
	for _, r := range s.Misses() {
		m := Miss{Name: r.Incident.Name, Expected: r.Incident.Truth, Got: r.Answer.Got}
		out = append(out, m.Known(before))
	}
	return out
}

// Section is what README.md says between its marks: the table by truth and the wrong answers with their reasons.
func (s Score) Section(before []Miss) string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n%s.\n\n| truth | incidents | right | dialects | generations |\n|---|---|---|---|---|\n",
		s.summary())
	for _, truth := range Truths() {
		own := slices.DeleteFunc(slices.Clone(s), func(r Result) bool { return r.Incident.Truth != truth })
		if len(own) == 0 {
			continue
		}
		var dialects, generations []string
		for _, r := range own {
			dialects, generations = append(dialects, r.Incident.Dialect), append(generations, r.Incident.Generation)
		}
		right, all := own.Accuracy()
		fmt.Fprintf(&out, "| %s | %d | %d | %s | %s |\n", truth, all, right, distinct(dialects), distinct(generations))
	}
	out.WriteString("\nWrong answers that are known:\n\n| incident | expected | got | why |\n|---|---|---|---|\n")
	for _, m := range s.Known(before) {
		out.WriteString(m.Line())
	}
	out.WriteString("\n")
	return out.String()
}

func distinct(words []string) string {
	slices.Sort(words)
	return strings.Join(slices.Compact(words), ", ")
}

// Marked splits a file at two marks.
func Marked(path, begin, end string) (head, section, tail string, err error) {
	data, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		return "", "", "", fmt.Errorf("read what is committed: %w", err)
	}
	head, rest, ok := strings.Cut(string(data), begin)
	section, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		return "", "", "", fmt.Errorf("%s has nothing between %q and %q", path, strings.TrimSpace(begin), end)
	}
	return head, section, tail, nil
}

// Update writes README.md's section and the committed number of right answers. Reasons are kept; new misses wait for
// theirs.
func (s Score) Update(readmePath, number string) error {
	before, err := KnownMisses(readmePath)
	if err != nil {
		return err
	}
	head, _, tail, err := Marked(readmePath, missesBegin, missesEnd)
	if err != nil {
		return err
	}
	right, all := s.Accuracy()
	return errors.Join(
		//nolint:gosec // a file of this repository
		os.WriteFile(readmePath, []byte(head+missesBegin+s.Section(before)+missesEnd+tail), 0o644),
		//nolint:gosec // a file of this repository
		os.WriteFile(number, fmt.Appendf(nil, "%d of %d\n", right, all), 0o644),
	)
}

// Holds compares a run of the whole corpus with what is committed: fewer right answers, another list of misses, or a
// miss without a reason is an error that says what to do.
func (s Score) Holds(readmePath, number string) error {
	var errs []error
	floor, _, err := Committed(number)
	if err != nil {
		return err
	}
	if right, all := s.Accuracy(); right < floor {
		errs = append(errs, fmt.Errorf("%d of %d are right, fewer than the committed %d", right, all, floor))
	}
	before, err := KnownMisses(readmePath)
	if err != nil {
		return err
	}
	_, section, _, err := Marked(readmePath, missesBegin, missesEnd)
	if err != nil {
		return err
	}
	if d := cmp.Diff(section, s.Section(before)); d != "" {
		errs = append(errs,
			fmt.Errorf("%s does not say what this run says; see go run ./test/diagnosis/cmd/accuracy --update "+
				"(-committed +run):\n%s", readmePath, d))
	}
	return errors.Join(append(errs, Unexplained(readmePath, before))...)
}

// Unexplained names the wrong answers of a list for which nobody has written a reason yet.
func Unexplained(path string, list []Miss) error {
	var errs []error
	for _, m := range list {
		if m.Reason == noReason {
			errs = append(errs, fmt.Errorf("%s gives no reason for %s", path, m.Name))
		}
	}
	return errors.Join(errs...)
}

// Committed reads the number of right answers below which the accuracy must not fall, and of how many.
func Committed(path string) (right, all int, err error) {
	data, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		return 0, 0, fmt.Errorf("read the committed accuracy: %w", err)
	}
	a, b, ok := strings.Cut(strings.TrimSpace(string(data)), " of ")
	right, errRight := strconv.Atoi(a)
	all, errAll := strconv.Atoi(b)
	if err := errors.Join(errRight, errAll); !ok || err != nil {
		return 0, 0, fmt.Errorf("%s does not read \"N of M\"", path)
	}
	return right, all, nil
}
