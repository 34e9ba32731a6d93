package playbooktest

import (
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// maxFileSize bounds one file of tests.
const maxFileSize = 4 << 20

// problems gathers what is wrong in one file of tests.
type problems struct {
	root strictyaml.Value
	list strictyaml.Problems
}

// at adds a problem with the value at a path such as tests[0].expect.readings.waiting. What is not in the file points
// at the nearest thing above it that is. Of a value that cannot be read nothing else is said.
func (p *problems) at(path, format string, args ...any) {
	if found := p.root.Find(path).Problem(format, args...); !p.list.Hides(found) {
		p.list = append(p.list, found)
	}
}

// missing is at for what is not there. In a mapping that could not be read whole it is silent: the thing may be there
// and unreadable.
func (p *problems) missing(path, text string) {
	if p.root.Find(path).Whole() {
		p.at(path, "%s", text)
	}
}

// inside adds a problem with a byte of a text.
func (p *problems) inside(path, text string, offset int, format string, args ...any) {
	before := utf8.RuneCountInString(text[:min(offset, len(text))])
	p.list = append(p.list, p.root.Find(path).ProblemInside(before, format, args...))
}
