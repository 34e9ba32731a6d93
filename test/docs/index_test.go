package docs

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Every document can be reached from docs/README.md; the pages of playbooks and actions through the lists of theirs.
func TestEveryDocumentIsInTheIndex(t *testing.T) {
	t.Parallel()
	documents := pages(t)
	listed := map[string]bool{"docs/README.md": true}
	for _, index := range []string{"docs/README.md", "docs/playbooks/README.md", "docs/actions/README.md"} {
		for _, to := range links(documents[index]) {
			file, _, _ := strings.Cut(to, "#")
			listed[path.Join(path.Dir(index), file)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(documents)) {
		if strings.HasPrefix(name, "docs/") && !listed[name] {
			t.Errorf("%s is in no index: add it to docs/README.md", name)
		}
	}
}

// The README shows the table of test/diagnosis/README.md, which a test there holds against a run of all incidents, by
// groups of causes.
func TestTheReadmesAccuracyIsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	measured := map[string][2]int{} // incidents and right answers of a cause
	whole := read(t, "test/diagnosis/README.md")
	row := regexp.MustCompile(`(?m)^\| ([a-z-]+) \| (\d+) \| (\d+) \| `)
	for _, m := range row.FindAllStringSubmatch(whole, -1) {
		measured[m[1]] = [2]int{number(t, m[2]), number(t, m[3])}
	}
	readme := read(t, "README.md")
	_, section, _ := strings.Cut(readme, "## How often it is right")
	section, _, _ = strings.Cut(section, "\n## ")
	var all [2]int
	shown := map[string]bool{}
	group := regexp.MustCompile("(?m)^\\| ([^|]*`[^|]*) \\| (\\d+) \\| (\\d+) \\|$")
	for _, m := range group.FindAllStringSubmatch(section, -1) {
		var sum [2]int
		for _, name := range regexp.MustCompile("`([a-z-]+)`").FindAllStringSubmatch(m[1], -1) {
			of, there := measured[name[1]]
			if !there || shown[name[1]] {
				t.Errorf("%s is no cause that was measured, or is there twice", name[1])
			}
			shown[name[1]] = true
			sum[0], sum[1] = sum[0]+of[0], sum[1]+of[1]
		}
		if got := [2]int{number(t, m[2]), number(t, m[3])}; got != sum {
			t.Errorf("the README says %v incidents and right answers, measured were %v: %s", got, sum, m[1])
		}
		all[0], all[1] = all[0]+sum[0], all[1]+sum[1]
	}
	if len(shown) != len(measured) {
		t.Errorf("the README has %d of %d causes", len(shown), len(measured))
	}
	held := strings.Count(read(t, "test/diagnosis/corpus/heldout.yaml"), "\n- name: heldout-")
	wrong := len(regexp.MustCompile(`(?m)^\| heldout-`).FindAllString(whole, -1))
	wants := []string{
		fmt.Sprintf("| **all** | %d | %d |", all[0], all[1]),
		fmt.Sprintf("Of the %d incidents that were held out, so that nothing was tuned to them, %d are right.", held,
			held-wrong),
	}
	blind := regexp.MustCompile(`(?m)^\| blind/(\w+) \| (\d+) of 60 right \((.+?)%\), .*?, (\d+) harmful `+
		`\| (\d+) of 60 right \((.+?)%\)`).FindAllStringSubmatch(whole, -1)
	if len(blind) == 0 {
		t.Fatal("no blind corpus has a line in the table of test/diagnosis")
	}
	for _, b := range blind {
		wants = append(wants, fmt.Sprintf("| %s | %s (%s%%) | %s | %s (%s%%) |", b[1], b[2], b[3], b[4], b[5], b[6]))
	}
	said := strings.ReplaceAll(strings.Join(strings.Fields(section), " "), "**", "")
	for _, want := range wants {
		if !strings.Contains(said, strings.ReplaceAll(want, "**", "")) {
			t.Errorf("the README does not say %q", want)
		}
	}
	if n := len(measured) - 1; !strings.Contains(readme, fmt.Sprintf("%d known causes", n)) {
		t.Errorf("the README does not say that there are %d known causes", n)
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
