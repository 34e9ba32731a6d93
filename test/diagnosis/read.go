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

	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// usualTime is when incidents are looked at that name no time: a working day, in the morning.
var usualTime = time.Date(2026, time.November, 18, 10, 30, 0, 0, time.UTC)

// maxFileSize is far above that of any file of the corpus.
const maxFileSize = 1 << 20

// Read reads every *.yaml file of a folder. All errors come at once, one a line: file:line:col, what is wrong.
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
	var wrong []error
	for _, path := range paths {
		data, err := os.ReadFile(path) //nolint:gosec // the corpus is our own
		if err != nil {
			return nil, fmt.Errorf("read the corpus: %w", err)
		}
		found, err := Parse(filepath.Base(path), data)
		wrong = append(wrong, err)
		all = append(all, found...)
	}
	named := map[string]strictyaml.Problem{}
	for _, inc := range all {
		if first, twice := named[inc.Name]; twice {
			wrong = append(wrong, strictyaml.Problems{
				inc.place.Problem("%s is the name of the incident at %s:%d too", inc.Name, first.File, first.Line),
			})
		}
		named[inc.Name] = inc.place.Problem("%s", inc.Name)
	}
	return all, errors.Join(wrong...)
}

// corpusFile is one file of the corpus.
type corpusFile struct {
	Incidents []Incident `yaml:"incidents"`
}

// Parse reads one file of the corpus.
func Parse(name string, data []byte) ([]Incident, error) {
	var f corpusFile
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
		for _, text := range inc.problems() {
			wrong = append(wrong, inc.place.Problem("%s: %s", cmp.Or(inc.Name, "an incident without a name"), text))
		}
	}
	return f.Incidents, wrong.Err()
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
