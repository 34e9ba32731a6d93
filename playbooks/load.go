package playbooks

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// File is one YAML file: its name as it appears in problems, and its bytes.
type File struct {
	Name string
	Data []byte
}

// Options change how the files are read. The zero value is the normal case.
type Options struct {
	// Window replaces $window in the queries, and two fifths of it, at most two minutes, replace $recent. 0 means five
	// minutes, the window of the published vLLM alert rules. Shorter windows need a shorter scrape interval: rate() wants
	// several samples in each.
	Window time.Duration
	// MaxWarmUp bounds the warm-up of every step, for tests in which nothing real warms up. 0 means no
	// bound.
	MaxWarmUp time.Duration
}

// maxFileSize bounds one file. A playbook is a page of text; anything larger is an error.
const maxFileSize = 1 << 20

const (
	defaultWindow = 5 * time.Minute
	minWindow     = time.Second
	maxWindow     = 24 * time.Hour
)

// Load reads files in their order. On any mistake it returns no catalog and an error of type strictyaml.Problems with
// every mistake in every file. It can be called again with the same files and gives the same catalog.
func Load(files []File, opts Options) (*Catalog, error) {
	l := &loader{
		files:  files,
		opts:   opts,
		broken: map[string]bool{},
		first:  map[string]strictyaml.Problem{},
		catalog: &Catalog{
			targets:  map[string]string{},
			byName:   map[string]incident.Signal{},
			picks:    map[string]bool{},
			facts:    map[string]factSource{},
			ratios:   map[string]ratio{},
			peers:    map[string]peers{},
			versions: map[string]versionPick{},
			sides:    map[string]rolePick{},
			last:     map[string]lastOf{},
		},
	}
	l.options()
	l.read()
	l.readSignals()
	for _, check := range l.later {
		check()
	}
	l.readProfiles()
	if err := l.startRules(); err != nil {
		return nil, err
	}
	l.readPlaybooks()
	l.link()
	if len(l.problems) > 0 {
		names := make([]string, len(files))
		for i, f := range files {
			names[i] = f.Name
		}
		return nil, l.problems.Sorted(names...)
	}
	return l.catalog, nil
}

// loader collects the catalog and the problems on the way.
type loader struct {
	files    []File
	opts     Options
	window   string
	recent   string
	docs     []loaded
	broken   map[string]bool               // files with mistakes of shape: what is missing there may only be unreadable
	first    map[string]strictyaml.Problem // where a name was given first
	later    []func()                      // checks that need all signals
	env      *ruleEnv
	problems strictyaml.Problems
	catalog  *Catalog
}

// loaded is a decoded file.
type loaded struct {
	document
	at strictyaml.Value
}

func (l *loader) options() {
	w := l.opts.Window
	if w == 0 {
		w = defaultWindow
	}
	if w < minWindow || w > maxWindow {
		l.add(strictyaml.Problem{Text: fmt.Sprintf("the window %s is not between %s and %s", w, minWindow, maxWindow)})
		w = defaultWindow
	}
	l.catalog.window = w
	l.window, l.recent = model.Duration(w).String(), model.Duration(newest(w)).String()
	if l.opts.MaxWarmUp < 0 {
		l.add(strictyaml.Problem{Text: fmt.Sprintf("the longest warm-up %s is negative", l.opts.MaxWarmUp)})
	}
}

func (l *loader) read() {
	if len(l.files) == 0 {
		l.add(strictyaml.Problem{Text: "there is no file to load"})
	}
	names := map[string]bool{}
	for _, f := range l.files {
		if names[f.Name] {
			l.add(strictyaml.Problem{File: f.Name, Text: "the file is given twice"})
			continue
		}
		names[f.Name] = true
		var doc document
		at, err := strictyaml.Parse(f.Name, f.Data, maxFileSize)
		if err == nil {
			err = at.Decode(&doc)
		}
		if problems, ok := errors.AsType[strictyaml.Problems](err); ok {
			l.problems = append(l.problems, problems...)
			l.broken[f.Name] = problems.Misshapen()
		}
		if at.IsZero() {
			continue
		}
		if !doc.isPlaybook() && doc.Signals == nil && doc.Profiles == nil {
			l.missing(at, "the file holds neither signals nor profiles nor a playbook")
		}
		l.docs = append(l.docs, loaded{document: doc, at: at})
	}
}

// add keeps a problem. Where the shape of a value is wrong already, nothing else is said about it.
func (l *loader) add(p strictyaml.Problem) {
	if l.problems.Hides(p) {
		return
	}
	l.problems = append(l.problems, p)
}

// missing reports what is not there. In a mapping that could not be read whole it is silent: the thing may be there and
// unreadable.
func (l *loader) missing(at strictyaml.Value, format string, args ...any) {
	if at.Whole() {
		l.add(at.Problem(format, args...))
	}
}

// need reports an empty text that must not be empty.
func (l *loader) need(at strictyaml.Value, field, value string) {
	if value == "" {
		l.missing(at.Key(field), "%s is missing", field)
	}
}

// claim reports a name that is taken. Kind is what the name is for.
func (l *loader) claim(at strictyaml.Value, kind, name string) bool {
	key := kind + " " + name
	if p, taken := l.first[key]; taken {
		l.add(at.Problem("there is a %s already, at %s:%d:%d", key, p.File, p.Line, p.Col))
		return false
	}
	l.first[key] = at.Problem("")
	return true
}

// anyBroken says that some file could not be read whole, so that a name that is not known may stand in it.
func (l *loader) anyBroken() bool {
	return slices.Contains(slices.Collect(maps.Values(l.broken)), true)
}

// repeated reports entries of a list of texts that are empty or there twice, and returns the others.
func (l *loader) repeated(at strictyaml.Value, field string, list []string) []string {
	var out []string
	for i, s := range list {
		switch {
		case s == "":
			l.missing(at.Key(field).Item(i), "%s: an entry is empty", field)
		case slices.Contains(out, s):
			l.add(at.Key(field).Item(i).Problem("%s: %s", field, strictyaml.Twice(s)))
		default:
			out = append(out, s)
		}
	}
	return out
}
