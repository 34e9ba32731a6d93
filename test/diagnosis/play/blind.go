package play

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// Record is what the first run of a blind corpus found. Only that run writes it.
type Record struct {
	Count `yaml:",inline"`

	Results []Recorded `yaml:"results"`
}

// Recorded is one incident as it was at the first run, and what the bot said.
type Recorded struct {
	Name string `yaml:"name"`
	// Text is the SHA-256 of its lines in the file.
	Text  string   `yaml:"text"`
	Truth string   `yaml:"truth"`
	Got   string   `yaml:"got"`
	Right bool     `yaml:"right"`
	Harm  []string `yaml:"harm,omitempty"`
}

// Blind is a blind corpus.
type Blind struct {
	// Name is that of its file in the folder blind, without .yaml.
	Name string
	// Incidents are those that are still in it.
	Incidents []Incident
	// First is what its first run found; nil before.
	First *Record

	texts map[string]string // of each incident, its SHA-256
	path  string            // of the record
}

// errRunBefore is the answer to a second first run.
var errRunBefore = errors.New("this corpus has had its first run, and there is only one")

// ReadBlind reads all blind corpora of a folder, in the order of their names. It has none when it is not there.
func ReadBlind(folder string) ([]Blind, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read blind corpora: %w", err)
	}
	slices.Sort(paths)
	var out []Blind
	var wrong []error
	for _, path := range paths {
		b, err := readBlind(folder, path)
		wrong = append(wrong, err)
		out = append(out, b)
	}
	return out, errors.Join(wrong...)
}

func readBlind(folder, path string) (Blind, error) {
	b := Blind{Name: strings.TrimSuffix(filepath.Base(path), ".yaml"), texts: map[string]string{}}
	b.path = filepath.Join(folder, "first", b.Name+".yaml")
	data, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		return b, fmt.Errorf("read a blind corpus: %w", err)
	}
	if b.Incidents, err = Parse(filepath.Base(path), data); err != nil {
		return b, err
	}
	lines := strings.Split(string(data), "\n")
	for i, inc := range b.Incidents {
		end := len(lines)
		if i+1 < len(b.Incidents) {
			end = b.Incidents[i+1].place.Line() - 1
		}
		text := strings.TrimSpace(strings.Join(lines[inc.place.Line()-1:end], "\n"))
		sum := sha256.Sum256([]byte(text))
		b.texts[inc.Name] = hex.EncodeToString(sum[:])
	}
	data, err = os.ReadFile(b.path)
	if errors.Is(err, os.ErrNotExist) {
		return b, nil
	}
	if err != nil {
		return b, fmt.Errorf("read the first run of %s: %w", b.Name, err)
	}
	root, err := strictyaml.Parse(filepath.Join("first", filepath.Base(b.path)), data, maxFileSize)
	if err != nil {
		return b, err
	}
	b.First = &Record{}
	return b, root.Decode(b.First)
}

// Write writes the first run of a corpus. It refuses when there was one.
func (b Blind) Write(s Score) error {
	r := Record{Count: s.Count()}
	for _, one := range s {
		rec := Recorded{
			Name: one.Incident.Name, Text: b.texts[one.Incident.Name], Truth: one.Incident.Truth, Got: one.Answer.Got,
			Right: one.Right(),
		}
		for _, h := range one.Harm {
			rec.Harm = append(rec.Harm, h.Deed)
		}
		r.Results = append(r.Results, rec)
	}
	data, err := yaml.Dump(r)
	if err != nil {
		return fmt.Errorf("write the first run of %s: %w", b.Name, err)
	}
	if err := os.MkdirAll(filepath.Dir(b.path), 0o750); err != nil {
		return fmt.Errorf("write the first run of %s: %w", b.Name, err)
	}
	f, err := os.OpenFile(b.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // a file of this repository
	switch {
	case errors.Is(err, os.ErrExist):
		return fmt.Errorf("%s: %w; %s has its result", b.Name, errRunBefore, b.path)
	case err != nil:
		return fmt.Errorf("write the first run of %s: %w", b.Name, err)
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// MayRun says whether the first run is still to come.
func (b Blind) MayRun() error {
	if b.First != nil {
		return fmt.Errorf("%s: %w; %s has its result", b.Name, errRunBefore, b.path)
	}
	return nil
}

// Check compares a corpus with its record: what is still in it must be as it was at the first run, nothing may have
// come to it, and what is no longer there must be among the ordinary incidents. Before the first run there is nothing
// to compare.
func (b Blind) Check(ordinary []Incident) error {
	if b.First == nil {
		return nil
	}
	var wrong []error
	recorded := map[string]string{}
	for _, r := range b.First.Results {
		recorded[r.Name] = r.Text
		_, here := b.texts[r.Name]
		moved := slices.ContainsFunc(ordinary, func(i Incident) bool { return i.Name == r.Name })
		if !here && !moved {
			wrong = append(wrong, fmt.Errorf("%s was in the first run of %s, and is neither there nor among the ordinary "+
				"incidents", r.Name, b.Name))
		}
	}
	for _, inc := range b.Incidents {
		switch was, known := recorded[inc.Name]; {
		case !known:
			wrong = append(wrong, fmt.Errorf("%s was not in the first run of %s: new incidents belong to another corpus",
				inc.Name, b.Name))
		case was != b.texts[inc.Name]:
			wrong = append(wrong, fmt.Errorf("%s has changed since the first run of %s: move it to the ordinary incidents "+
				"before it is mended", inc.Name, b.Name))
		}
	}
	return errors.Join(wrong...)
}

// Now are the incidents of the first run as they are now, with those that were moved.
func (b Blind) Now(ordinary []Incident) []Incident {
	out := slices.Clone(b.Incidents)
	for _, inc := range ordinary {
		_, here := b.texts[inc.Name]
		if b.First != nil && !here &&
			slices.ContainsFunc(b.First.Results, func(r Recorded) bool { return r.Name == inc.Name }) {
			out = append(out, inc)
		}
	}
	return out
}
