package play

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// maxFileSize is far above that of any file of played incidents.
const maxFileSize = 1 << 20

// file is one file of incidents.
type file struct {
	Incidents []Incident `yaml:"incidents"`
}

// Read reads every *.yaml file of folders; one that is not there has none. All errors come at once, one a line:
// file:line:col, what is wrong.
func Read(folders ...string) ([]Incident, error) {
	var all []Incident
	var wrong []error
	named := map[string]strictyaml.Problem{}
	for _, folder := range folders {
		paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
		if err != nil {
			return nil, fmt.Errorf("read played incidents: %w", err)
		}
		slices.Sort(paths)
		for _, path := range paths {
			found, err := ReadFile(path)
			wrong = append(wrong, err)
			all = append(all, found...)
		}
	}
	for _, inc := range all {
		if first, twice := named[inc.Name]; twice {
			wrong = append(wrong, strictyaml.Problems{
				inc.place.Key("name").Problem("%s is the name of the incident at %s:%d too", inc.Name, first.File, first.Line),
			})
		}
		named[inc.Name] = inc.place.Problem("%s", inc.Name)
	}
	return all, errors.Join(wrong...)
}

// ReadFile reads one file.
func ReadFile(path string) ([]Incident, error) {
	data, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		return nil, fmt.Errorf("read played incidents: %w", err)
	}
	return Parse(filepath.Base(path), data)
}

// Parse reads the text of one file.
func Parse(name string, data []byte) ([]Incident, error) {
	var f file
	root, err := strictyaml.Parse(name, data, maxFileSize)
	if err == nil {
		err = root.Decode(&f)
	}
	if err != nil {
		return nil, err
	}
	var wrong strictyaml.Problems
	for i := range f.Incidents {
		inc := &f.Incidents[i]
		inc.place = root.Key("incidents").Item(i)
		inc.defaults()
		c := checker{incident: inc}
		c.all()
		wrong = append(wrong, c.wrong...)
	}
	return f.Incidents, wrong.Err()
}

func (inc *Incident) defaults() {
	inc.Dialect = cmp.Or(inc.Dialect, native)
	inc.Past = cmp.Or(inc.Past, strictyaml.Duration(usualPast))
	inc.Fleet.StartUp = cmp.Or(inc.Fleet.StartUp, strictyaml.Duration(usualStartUp))
	inc.Fleet.Ranks = cmp.Or(inc.Fleet.Ranks, 1)
	inc.Fleet.Parallel = cmp.Or(inc.Fleet.Parallel, usualLimit)
	for i := range inc.Alerts {
		inc.Alerts[i].Ago = cmp.Or(inc.Alerts[i].Ago, strictyaml.Duration(usualAgo))
	}
}

// checker finds what is wrong with one incident as it is written.
type checker struct {
	incident *Incident
	wrong    strictyaml.Problems
}

// say reports a mistake at a field, or where it should be.
func (c *checker) say(wrong bool, field, format string, args ...any) {
	if wrong {
		at := c.incident.place
		if v := at.Find(field); !v.IsZero() {
			at = v
		}
		c.wrong = append(c.wrong, at.Problem("%s: %s: %s", cmp.Or(c.incident.Name, "an incident without a name"), field,
			fmt.Sprintf(format, args...)))
	}
}

func (c *checker) all() {
	inc := c.incident
	c.say(inc.Name == "", "name", "it is needed")
	c.say(strings.TrimSpace(inc.Story) == "", "story", "it is needed")
	c.labels()
	c.say(!slices.Contains(Dialects(), inc.Dialect), "dialect", "%s", strictyaml.NotOneOf(inc.Dialect, Dialects()))
	c.version("version", inc.Version)
	c.say(!slices.Contains([]string{"agentic", "batch", "chat", "completion", "rag"}, inc.SLO.Profile), "slo",
		"%q is not a profile", inc.SLO.Profile)
	c.fleet()
	c.say(time.Duration(inc.Past) < leastPast, "past", "%s is shorter than %s, which the evidence looks back", inc.Past,
		leastPast)
	c.say(time.Duration(inc.Past) > 12*time.Hour, "past", "more than 12h only takes time")
	c.say(inc.Ask <= 0 || time.Duration(inc.Ask) > 6*time.Hour, "ask", "it is needed, above 0 and at most 6h")
	for i, a := range inc.Alerts {
		c.say(a.Name == "", fmt.Sprintf("alerts[%d]", i), "name is needed")
		c.say(a.Ago < 0, fmt.Sprintf("alerts[%d].ago", i), "it must not be negative")
	}
	c.timeline()
}

// labels checks what is written before anything runs.
func (c *checker) labels() {
	inc := c.incident
	c.say(!slices.Contains(diagnosis.Labels(), inc.Truth), "truth", "%s",
		strictyaml.NotThere("label", inc.Truth, diagnosis.Labels()))
	for other, why := range inc.Accept {
		c.say(!slices.Contains(diagnosis.Labels(), other) || other == inc.Truth, "accept", "%q is not another label", other)
		c.say(strings.TrimSpace(why) == "", "accept", "%s needs its reason", other)
	}
	_, stated := inc.place.Lookup("harmful")
	c.say(!stated, "harmful", "it is needed; [] when nothing would make it worse")
	for i, h := range inc.Harmful {
		at := fmt.Sprintf("harmful[%d]", i)
		c.say(!slices.Contains(diagnosis.Deeds(), h.Do), at, "%s", strictyaml.NotThere("deed", h.Do, diagnosis.Deeds()))
		c.say(strings.TrimSpace(h.Why) == "", at, "why is needed")
	}
}

func (c *checker) version(field, text string) {
	v, err := readVersion(text)
	if err == nil {
		_, err = v.dialect()
	}
	c.say(err != nil, field, "%v", err)
	if err == nil && c.incident.Dialect != native {
		at, _ := v.dialect()
		want := spelledBy(c.incident.Dialect)
		c.say(at != want, field, "%s is only played with versions that spell as %q, and not as %q", c.incident.Dialect,
			want, at)
	}
}

func (c *checker) fleet() {
	inc := c.incident
	f := inc.Fleet
	if f.Prefill+f.Decode == 0 {
		c.say(f.Replicas < 1 || f.Replicas > 32, "fleet.replicas", "they must be between 1 and 32")
	} else {
		c.say(min(f.Prefill, f.Decode) < 1 || max(f.Prefill, f.Decode) > 32, "fleet", "prefill and decode must both be "+
			"between 1 and 32")
		c.say(f.Replicas != 0, "fleet.replicas", "there are prefill and decode pods instead")
		v, err := readVersion(inc.Version)
		c.say(err == nil && v.before(12, 0), "version", "prefill and decode pods are played from 0.12.0 on")
	}
	c.say(f.Ranks < 1 || f.Ranks > 16, "fleet.ranks", "they must be between 1 and 16")
	c.say(f.StartUp < 0, "fleet.start_up", "it must not be negative")
	c.say(f.Parallel < 1, "fleet.parallel", "it must be at least 1")
	if f.Canary != nil {
		c.say(f.Canary.Replicas < 1 || f.Canary.Replicas > 32, "fleet.canary", "its replicas must be between 1 and 32")
		c.version("fleet.canary.version", f.Canary.Version)
	}
	_, err := inc.scenario()
	c.say(err != nil, "fleet", "%v", err)
	_, err = inc.options(nil)
	c.say(err != nil, "fleet", "%v", err)
}

func (c *checker) timeline() {
	last := time.Duration(0)
	for i, e := range c.incident.Timeline {
		at := fmt.Sprintf("timeline[%d]", i)
		c.say(time.Duration(e.At) < last, at, "%s is before the event above it", e.At)
		c.say(e.At >= c.incident.Ask, at, "%s is not before the question at %s", e.At, c.incident.Ask)
		last = time.Duration(e.At)
		c.say(e.Levers == nil && e.Scale == nil && e.Rollout == nil && len(e.Crash)+len(e.Delete) == 0 && !e.DropPrefixCaches,
			at, "nothing happens")
		if e.Levers != nil {
			err := e.Levers.Validate()
			c.say(err != nil, at+".levers", "%v", err)
			for name := range e.Levers.Pods {
				c.pod(at+".levers", name)
			}
		}
		c.say(e.Of != "" && !slices.Contains(c.incident.bases(), e.Of), at+".of", "%s",
			strictyaml.NotOneOf(e.Of, c.incident.bases()))
		c.say(e.Of != "" && e.Scale == nil && e.Rollout == nil, at+".of", "it goes with scale or rollout")
		c.say(e.Scale != nil && (*e.Scale < 0 || *e.Scale > 32), at+".scale", "it must be between 0 and 32")
		if e.Rollout != nil && e.Rollout.Version != "" {
			c.version(at+".rollout.version", e.Rollout.Version)
		}
		c.say(e.Rollout != nil && e.Rollout.Version == "" && e.Rollout.Args == nil, at+".rollout", "it changes nothing")
		for _, name := range slices.Concat(e.Crash, e.Delete) {
			c.pod(at, name)
		}
	}
}

// pod checks the name of a pod, or of a rank, for its form: a pod may come later, so that its number says nothing.
func (c *checker) pod(field, name string) {
	pod, rank, ranked := strings.Cut(name, "/")
	base, number, ok := cutLast(pod, "-")
	ok = ok && slices.Contains(c.incident.bases(), base) && isNumber(number) && (!ranked || isNumber(rank))
	c.say(!ok, field, "%q is not a pod such as %s-0, or a rank such as %[2]s-0/1", name, c.incident.bases()[0])
}

func isNumber(s string) bool {
	return s != "" && len(s) < 4 && strings.Trim(s, "0123456789") == ""
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
