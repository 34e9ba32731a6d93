package playbooks

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/common/model"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// File is one YAML file: its name as it appears in problems, and its bytes.
type File struct {
	Name string
	Data []byte
}

// Options change how the files are read. The zero value is the normal case.
type Options struct {
	// Window replaces $window in the queries. 0 means five minutes, the window of the published vLLM alert rules. Shorter windows
	// need a shorter scrape interval: rate() wants several samples in each.
	Window time.Duration
	// MaxWarmUp bounds the warm-up of every step, for drills and rehearsals in which nothing real gets warm. 0 means no bound.
	MaxWarmUp time.Duration
}

const (
	defaultWindow = 5 * time.Minute
	minWindow     = time.Second
	maxWindow     = 24 * time.Hour
)

// Load reads files in their order. On any mistake it returns no catalog and an error of type LoadErrors with every mistake in every
// file. It can be called again with the same files and gives the same catalog.
func Load(files []File, opts Options) (*Catalog, error) {
	l := &loader{
		files:  files,
		opts:   opts,
		broken: map[string]bool{},
		first:  map[string]Problem{},
		catalog: &Catalog{
			targets: map[string]string{},
			byName:  map[string]incident.Signal{},
			picks:   map[string]bool{},
			facts:   map[string]factSource{},
			ratios:  map[string]ratio{},
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
		return nil, l.problems.sorted(files)
	}
	return l.catalog, nil
}

// loader collects the catalog and the problems on the way.
type loader struct {
	files    []File
	opts     Options
	window   string
	docs     []loaded
	broken   map[string]bool    // files with mistakes of shape: what is missing there may only be unreadable
	first    map[string]Problem // where a name was given first
	later    []func()           // checks that need all signals
	env      *ruleEnv
	problems LoadErrors
	catalog  *Catalog
}

// loaded is a decoded file.
type loaded struct {
	document
	at place
}

func (l *loader) options() {
	w := l.opts.Window
	if w == 0 {
		w = defaultWindow
	}
	if w < minWindow || w > maxWindow {
		l.add(Problem{Text: fmt.Sprintf("the window %s is not between %s and %s", w, minWindow, maxWindow)})
		w = defaultWindow
	}
	l.window = model.Duration(w).String()
	if l.opts.MaxWarmUp < 0 {
		l.add(Problem{Text: fmt.Sprintf("the longest warm-up %s is negative", l.opts.MaxWarmUp)})
	}
}

func (l *loader) read() {
	if len(l.files) == 0 {
		l.add(Problem{Text: "there is no file to load"})
	}
	names := map[string]bool{}
	for _, f := range l.files {
		if names[f.Name] {
			l.add(Problem{File: f.Name, Text: "the file is given twice"})
			continue
		}
		names[f.Name] = true
		var doc document
		root, problems, ok := decode(f, &doc)
		if len(problems) > 0 {
			l.problems = append(l.problems, problems...)
			l.broken[f.Name] = true
		}
		if !ok {
			continue
		}
		at := newPlace(f, root)
		if !doc.isPlaybook() && doc.Signals == nil && doc.Profiles == nil {
			l.missing(at, "the file holds neither signals nor profiles nor a playbook")
		}
		l.docs = append(l.docs, loaded{document: doc, at: at})
	}
}

// add keeps a problem. Where the shape of a value is wrong already, nothing else is said about it.
func (l *loader) add(p Problem) {
	known := func(q Problem) bool { return q.File == p.File && q.Line == p.Line && q.Col == p.Col }
	if l.broken[p.File] && slices.ContainsFunc(l.problems, known) {
		return
	}
	l.problems = append(l.problems, p)
}

// missing reports what is not there. In a file whose shape is wrong it is silent: the thing may be there and unreadable.
func (l *loader) missing(at place, format string, args ...any) {
	if !l.broken[at.file] {
		l.add(at.problem(format, args...))
	}
}

// need reports an empty text that must not be empty.
func (l *loader) need(at place, field, value string) {
	if value == "" {
		l.missing(at.key(field), "%s is missing", field)
	}
}

// claim reports a name that is taken. Kind is what the name is for.
func (l *loader) claim(at place, kind, name string) bool {
	key := kind + " " + name
	if p, taken := l.first[key]; taken {
		l.add(at.problem("there is a %s already, at %s:%d:%d", key, p.File, p.Line, p.Col))
		return false
	}
	l.first[key] = at.problem("")
	return true
}

// anyBroken says that some file could not be read whole, so that a name that is not known may stand in it.
func (l *loader) anyBroken() bool { return len(l.broken) > 0 }

// duration reads a length of time with its unit; an empty text is zero.
func (l *loader) duration(at place, field, text string) time.Duration {
	if text == "" {
		return 0
	}
	d, err := time.ParseDuration(text)
	switch {
	case err != nil:
		l.add(at.key(field).problem("%s: %q is not a length of time such as 500ms, 3s or 10m", field, text))
	case d < 0:
		l.add(at.key(field).problem("%s: %s is negative", field, text))
		d = 0
	}
	return d
}

// repeated reports entries of a list of texts that are empty or there twice, and returns the others.
func (l *loader) repeated(at place, field string, list []string) []string {
	var out []string
	for i, s := range list {
		switch {
		case s == "":
			l.missing(at.key(field).item(i), "%s: an entry is empty", field)
		case slices.Contains(out, s):
			l.add(at.key(field).item(i).problem("%s: %q is there twice", field, s))
		default:
			out = append(out, s)
		}
	}
	return out
}
