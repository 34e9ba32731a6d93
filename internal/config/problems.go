package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// problems gathers what is wrong in one configuration.
type problems struct {
	root strictyaml.Value
	list strictyaml.Problems
}

// at adds a problem with the setting with this path, such as "pools[0].knobs.replicas.min". A path that is not in the
// file points at the nearest thing above it that is. Of a value that cannot be read nothing else is said.
func (p *problems) at(path, format string, args ...any) {
	if p.list.Hides(p.root.Find(path).Problem("")) {
		return
	}
	p.list = append(p.list, p.root.Name(path).Problem("%s: %s", path, fmt.Sprintf(format, args...)))
}

// add adds what the decoder found.
func (p *problems) add(err error) {
	found, _ := errors.AsType[strictyaml.Problems](err)
	p.list = append(p.list, found...)
}

// err returns everything that is wrong as strictyaml.Problems, in the order of the file, or nil.
func (p *problems) err() error {
	for n := range p.list { // a value that is quoted may be a secret in the wrong place
		p.list[n].Text = redact.Tokens(p.list[n].Text)
	}
	slices.SortStableFunc(p.list, func(a, b strictyaml.Problem) int { return cmp.Compare(a.Text, b.Text) })
	return p.list.Sorted().Err()
}
