package diagnosis

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// usualTime is when incidents are looked at that name no time: a working day, in the morning.
var usualTime = time.Date(2026, time.November, 18, 10, 30, 0, 0, time.UTC)

// Read reads every *.yaml file of a folder. All mistakes come at once, one a line: file:line:col, what is wrong.
func Read(dir string) ([]Incident, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read the corpus: %w", err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("read the corpus: %s holds no *.yaml", dir)
	}
	slices.Sort(paths)
	var all []Incident
	var mistakes []error
	for _, path := range paths {
		data, err := os.ReadFile(path) //nolint:gosec // the corpus is our own
		if err != nil {
			return nil, fmt.Errorf("read the corpus: %w", err)
		}
		found, err := Parse(filepath.Base(path), data)
		mistakes = append(mistakes, err)
		all = append(all, found...)
	}
	at := map[string]string{}
	for _, inc := range all {
		here := fmt.Sprintf("%s:%d:1", inc.file, inc.line)
		if first, twice := at[inc.Name]; twice {
			mistakes = append(mistakes, fmt.Errorf("%s: %s is the name of the incident at %s too", here, inc.Name, first))
		}
		at[inc.Name] = here
	}
	return all, errors.Join(mistakes...)
}

// Parse reads one file of the corpus: a list of incidents.
func Parse(name string, data []byte) ([]Incident, error) {
	var root yaml.Node
	if err := yaml.Load(data, &root); err != nil {
		return nil, located(name, err)
	}
	var out []Incident
	if err := yaml.Load(data, &out, yaml.WithKnownFields()); err != nil {
		return nil, located(name, err)
	}
	var mistakes []error
	for i := range out {
		inc := &out[i]
		inc.file = name
		if len(root.Content) == 1 && i < len(root.Content[0].Content) {
			inc.line = root.Content[0].Content[i].Line
		}
		inc.defaults()
		for _, text := range inc.problems() {
			mistakes = append(mistakes,
				fmt.Errorf("%s:%d:1: %s: %s", name, inc.line, cmp.Or(inc.Name, "an incident without a name"), text))
		}
	}
	return out, errors.Join(mistakes...)
}

func located(name string, err error) error {
	if many, ok := errors.AsType[*yaml.LoadErrors](err); ok {
		var out []error
		for _, e := range many.Errors {
			out = append(out, at(name, e))
		}
		return errors.Join(out...)
	}
	if one, ok := errors.AsType[*yaml.LoadError](err); ok {
		return at(name, one)
	}
	return fmt.Errorf("%s:1:1: %w", name, err)
}

func at(name string, e *yaml.LoadError) error {
	return fmt.Errorf("%s:%d:%d: %s", name, max(1, e.Mark.Line), max(1, e.Mark.Column), cmp.Or(e.Message, e.Error()))
}

func (inc *Incident) defaults() {
	if inc.At.IsZero() {
		inc.At = usualTime
	}
	inc.Scrape = cmp.Or(inc.Scrape, 15)
	inc.Ranks = cmp.Or(inc.Ranks, 1)
	inc.Workload = cmp.Or(inc.Workload, "Deployment")
}

// problems are what is wrong with a single incident as it is written.
func (inc *Incident) problems() []string {
	var out []string
	say := func(wrong bool, format string, args ...any) {
		if wrong {
			out = append(out, fmt.Sprintf(format, args...))
		}
	}
	say(inc.Name == "", "name is needed")
	say(strings.TrimSpace(inc.Story) == "", "story is needed")
	say(inc.Source == "", "source is needed")
	say(!slices.Contains(Truths(), inc.Truth), "truth %q is not one of %s", inc.Truth, strings.Join(Truths(), ", "))
	for other, why := range inc.Accept {
		say(!slices.Contains(Truths(), other) || other == inc.Truth, "accept: %q is not another truth", other)
		say(why == "", "accept: %s needs its reason", other)
	}
	say(!slices.Contains(Dialects(), inc.Dialect), "dialect %q is not one of %s", inc.Dialect,
		strings.Join(Dialects(), ", "))
	_, err := parseVersion(inc.Generation)
	say(err != nil, "generation: %v", err)
	say(!slices.Contains([]string{"", "V0", "V1"}, inc.Engine), "engine %q is not V0 or V1", inc.Engine)
	say(len(inc.Pods) == 0, "pods is needed")
	say(!slices.Contains([]string{"agentic", "batch", "chat", "completion", "rag"}, inc.SLO), "slo %q is not a profile",
		inc.SLO)
	say(!slices.Contains([]string{"", "exported"}, inc.GPULabels), "gpu_labels %q is not exported", inc.GPULabels)
	say(!slices.Contains([]string{"Deployment", "StatefulSet"}, inc.Workload),
		"workload %q is not Deployment or StatefulSet", inc.Workload)
	say(inc.Scrape <= 0, "scrape must be above 0")
	say(len(inc.Phases) == 0, "phases is needed")
	for i, a := range inc.Alerts {
		say(a.Name == "", "alerts[%d]: name is needed", i)
		say(a.Pod != "" && !slices.Contains(inc.Pods, a.Pod), "alerts[%d]: pod %q is not one of the pods", i, a.Pod)
	}
	for pod := range inc.Cluster.Pods {
		say(!slices.Contains(inc.Pods, pod), "cluster: pod %q is not one of the pods", pod)
	}
	for i, p := range inc.Phases {
		out = append(out, inc.phaseProblems(i, p)...)
	}
	return out
}

func (inc *Incident) phaseProblems(i int, p Phase) []string {
	var out []string
	if p.For <= 0 {
		out = append(out, fmt.Sprintf("phases[%d]: for is needed", i))
	}
	check := func(where string, x Physics) {
		if x.Stall != nil && !slices.Contains([]string{stallFrozen, stallPiling, None}, *x.Stall) {
			out = append(out, fmt.Sprintf("%s: stall %q is not frozen, piling or none", where, *x.Stall))
		}
		if x.Target != nil &&
			!slices.Contains([]string{targetUp, targetDown, targetLost, targetGone, targetSilent}, *x.Target) {
			out = append(out, fmt.Sprintf("%s: target %q is not up, down, lost, gone or silent", where, *x.Target))
		}
	}
	check(fmt.Sprintf("phases[%d]", i), p.Physics)
	for who, x := range p.Only {
		pod, rank, ranked := strings.Cut(who, "/")
		if !slices.Contains(inc.Pods, pod) || ranked && !slices.Contains(inc.ranks(), rank) {
			out = append(out, fmt.Sprintf("phases[%d].only: %q is not a pod or an engine", i, who))
		}
		check(fmt.Sprintf("phases[%d].only.%s", i, who), x)
	}
	return out
}

// ranks are the engine labels of a pod.
func (inc *Incident) ranks() []string {
	out := make([]string, max(1, inc.Ranks))
	for i := range out {
		out[i] = fmt.Sprint(i)
	}
	return out
}

// length is that of all phases, in seconds.
func (inc *Incident) length() float64 {
	sum := 0.0
	for _, p := range inc.Phases {
		sum += float64(p.For)
	}
	return sum
}

// first is the time at which the first phase begins.
func (inc *Incident) first() time.Time { return inc.At.Add(-seconds(inc.length()).duration()) }
