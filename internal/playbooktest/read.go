package playbooktest

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/internal/promql"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/internal/vllm"
	"github.com/vllm-medic/vllm-medic/playbooks"
)

const defaultInterval = 15 * time.Second

// File is a file of tests without an error in its form, with the playbooks that it tests.
type File struct {
	// Name is the path as it was given. Progress is told how many tests have run, one call after the other; or nil.
	Name     string
	Progress func(done, all int)
	interval time.Duration
	catalog  *playbooks.Catalog
	tests    []test
}

// test is a test that can run.
type test struct {
	name      string
	line      int
	spellings []vllm.Spelling
	input     []input
	alerts    []incident.Alert
	pool      incident.Pool
	cluster   *incident.Cluster
	at        time.Time
	after     strictyaml.Duration
	expect    expectDoc
}

// Read reads a file of tests and the playbooks that it names, which are loaded after the built-in ones. With errors
// in either it returns no File and an error of type strictyaml.Problems with all of them.
func Read(path string, builtin []playbooks.File) (*File, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the path is the user's own
	if err != nil {
		return nil, fmt.Errorf("read the tests: %w", err)
	}
	return read(path, data, builtin)
}

func read(path string, data []byte, builtin []playbooks.File) (*File, error) {
	var doc document
	root, err := strictyaml.Parse(path, data, maxFileSize)
	if err == nil {
		err = root.Decode(&doc)
	}
	found, _ := errors.AsType[strictyaml.Problems](err)
	r := &reader{problems: &problems{root: root, list: found}, interval: cmp.Or(time.Duration(doc.Interval),
		defaultInterval)}
	files := slices.Concat(builtin, r.playbooks(filepath.Dir(path), doc.Playbooks))
	r.catalog, err = playbooks.Load(files, playbooks.Options{Window: time.Duration(doc.Window)})
	theirs, ok := errors.AsType[strictyaml.Problems](err)
	if err != nil && !ok {
		return nil, err
	}
	f := &File{Name: path, interval: r.interval, catalog: r.catalog, tests: r.tests(doc)}
	if found := slices.Concat(theirs, r.list.Sorted(path)); len(found) > 0 {
		return nil, found
	}
	return f, nil
}

// diagnoses are the names of everything that can come out.
func diagnoses(c *playbooks.Catalog) []string {
	var out []string
	for _, p := range c.Playbooks() {
		out = append(out, p.Diagnoses...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// reader reads one file.
type reader struct {
	*problems
	interval time.Duration
	// catalog is nil when the playbooks have errors.
	catalog *playbooks.Catalog
	// metrics are those that something may look at.
	metrics []string
}

// playbooks reads the files and folders that the tests name.
func (r *reader) playbooks(base string, paths []string) []playbooks.File {
	var out []playbooks.File
	for i, path := range paths {
		files, err := playbookFiles(filepath.Join(base, path))
		if err != nil {
			r.at(indexed("playbooks", i), "playbooks: %v", err)
		}
		out = append(out, files...)
	}
	return out
}

func playbookFiles(path string) ([]playbooks.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, cause(path, err)
	}
	names := []string{path}
	if info.IsDir() {
		names = nil
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, cause(path, err)
			}
			names = append(names, found...)
		}
		slices.Sort(names)
	}
	out := make([]playbooks.File, 0, len(names))
	for _, name := range names {
		data, err := os.ReadFile(name) //nolint:gosec // the path is the user's own
		if err != nil {
			return nil, cause(name, err)
		}
		out = append(out, playbooks.File{Name: name, Data: data})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s holds no *.yaml and no *.yml", path)
	}
	return out, nil
}

// cause names the path once.
func cause(path string, err error) error {
	if one, ok := errors.AsType[*fs.PathError](err); ok {
		err = one.Err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func (r *reader) tests(doc document) []test {
	if len(doc.Tests) == 0 {
		r.missing("tests", "tests is missing: the file tests nothing")
	}
	r.metrics = r.known(doc)
	out := make([]test, 0, len(doc.Tests))
	for i, d := range doc.Tests {
		path := indexed("tests", i)
		switch same := func(o testDoc) bool { return o.Name == d.Name }; {
		case d.Name == "":
			r.missing(path, "name is missing")
		case slices.ContainsFunc(doc.Tests[:i], same):
			r.at(path+".name", "duplicate test %q", d.Name)
		}
		out = append(out, r.test(path, d))
	}
	return out
}

func (r *reader) test(path string, d testDoc) test {
	if d.At == 0 {
		r.missing(path, "at is missing: the time of the diagnosis")
	}
	t := test{
		name: d.Name, line: r.root.Find(path).Line(), after: d.At, at: start().Add(time.Duration(d.At)),
		expect: d.Expect,
	}
	t.input = r.input(path, d)
	t.spellings = r.spellings(path, d.Dialects, t.input)
	t.pool = r.pool(path+".pool", d.Pool, t.input)
	t.alerts = r.alerts(path, d.Alerts, t)
	if !d.Cluster.IsZero() {
		t.cluster = r.cluster(d.Cluster, t.at)
		t.pool.Workload = t.cluster.Workload
		if t.pool.Workload.IsZero() {
			t.pool.Workload = incident.WorkloadRef{
				APIVersion: "apps/v1", Kind: "Deployment", Namespace: "llm", Name: "tested",
				Container: "vllm",
			}
		}
	}
	r.expectations(path+".expect", d.Expect)
	return t
}

// later decodes a part of the file whose fields are those of an incident's JSON.
// cluster reads the cluster of an incident's JSON: what could not be read is in notRead, and as sentences in unread,
// which is all that older versions print.
func (r *reader) cluster(v strictyaml.Value, now time.Time) *incident.Cluster {
	var doc struct {
		incident.Cluster
		Texts []string `yaml:"unread"`
	}
	r.later(v, now, &doc)
	out := doc.Cluster
	if len(out.Unread) == 0 {
		for _, text := range doc.Texts {
			out.Unread = append(out.Unread, incident.UnreadOf(text))
		}
	}
	out.FillFacts()
	return &out
}

func (r *reader) later(v strictyaml.Value, now time.Time, out any) {
	err := v.DecodeAt(now, out)
	if found, ok := errors.AsType[strictyaml.Problems](err); ok {
		r.list = append(r.list, found...)
	}
}

// input reads the series and writes the histograms out; then it lets a Prometheus try to load them.
func (r *reader) input(path string, d testDoc) []input {
	var out []input
	var from []string
	for i, s := range d.InputSeries {
		here := indexed(path+".input_series", i)
		ls, offset, err := parseName(s.Series)
		if err != nil {
			r.inside(here+".series", s.Series, offset, "series: %v", err)
			continue
		}
		out, from = append(out, input{labels: ls, values: s.Values}), append(from, here)
	}
	for i, h := range d.Histograms {
		here := indexed(path+".histograms", i)
		series, ok := r.histogram(here, h, time.Duration(d.At))
		if !ok {
			continue
		}
		for _, s := range series {
			out, from = append(out, s), append(from, here)
		}
	}
	r.unread(out, from)
	r.trial(out, from)
	return out
}

func (r *reader) histogram(path string, h histogramDoc, at time.Duration) ([]input, bool) {
	metric, offset, err := parseName(h.Series)
	if err != nil {
		r.inside(path+".series", h.Series, offset, "series: %v", err)
		return nil, false
	}
	if at == 0 || (len(h.Spans) == 0 && !r.root.Find(path).Whole()) {
		return nil, false // it has been said
	}
	series, span, err := h.series(metric, r.interval, at)
	if err != nil {
		if span >= 0 {
			path = indexed(path+".spans", span)
		}
		r.at(path, "%v", err)
		return nil, false
	}
	out := make([]input, 0, len(series))
	for _, s := range series {
		ls, _, err := parseName(s.Series)
		if err != nil {
			r.at(path, "%v", err)
			return nil, false
		}
		out = append(out, input{labels: ls, values: s.Values})
	}
	return out, true
}

// trial finds what a Prometheus would not take.
func (r *reader) trial(in []input, from []string) {
	p, err := promembed.New(promembed.Options{})
	if err != nil {
		r.at("", "%v", err)
		return
	}
	seen := map[string]bool{}
	for i, one := range in {
		name := nameOf(one.labels)
		if seen[name] {
			r.at(from[i], "duplicate series %s", name)
			continue
		}
		seen[name] = true
		err := p.Load(start(), r.interval, []promembed.Series{{Series: name, Values: one.values}})
		if err == nil {
			continue
		}
		if bad, ok := errors.AsType[*promembed.SeriesError](err); ok && bad.InValues {
			r.inside(from[i]+".values", one.values, bad.Offset, "values: %v", bad.Err)
			continue
		}
		r.at(from[i], "%v", err)
	}
	if err := p.Close(); err != nil {
		r.at("", "%v", err)
	}
}

func (r *reader) pool(path string, d poolDoc, in []input) incident.Pool {
	p := incident.Pool{Name: "tested", Matchers: d.Matchers, Mode: incident.ModeObserve}
	if p.Matchers == nil {
		p.Matchers = matchers(in)
	}
	if err := promql.CheckMatchers(p.Matchers); err != nil {
		r.at(path+".matchers", "%v", err)
	}
	switch {
	case d.SLO.Targets != nil:
		p.SLO = d.SLO.Targets.slo()
	case d.SLO.Profile != "" && r.catalog != nil:
		var ok bool
		if p.SLO, ok = r.catalog.Profile(d.SLO.Profile); !ok {
			r.at(path+".slo", "%s", strictyaml.NotThere("profile", d.SLO.Profile, r.catalog.ProfileNames()))
		}
	}
	if !d.HTTPRoute.IsZero() {
		r.later(d.HTTPRoute, start(), &p.HTTPRoute)
		if p.HTTPRoute.Namespace == "" || p.HTTPRoute.Name == "" {
			r.at(path+".http_route", "http_route: needs namespace and name")
		}
	}
	if !d.Knobs.IsZero() {
		r.later(d.Knobs, start(), &p.Knobs)
	}
	return p
}

func (r *reader) alerts(path string, list []alertDoc, t test) []incident.Alert {
	out := make([]incident.Alert, 0, len(list))
	for i, d := range list {
		a := incident.Alert{
			Fingerprint: strconv.Itoa(i + 1), Firing: true, StartsAt: t.at.Add(-time.Minute), SeenAt: t.at,
			Labels: map[string]string{"alertname": d.Name, "severity": "warning"},
		}
		if d.Full != nil {
			a.Labels, a.Annotations, a.GeneratorURL, a.Firing = d.Full.Labels, d.Full.Annotations, d.Full.GeneratorURL,
				!d.Full.Resolved
			if d.Full.Expr != "" {
				a.GeneratorURL = "http://prometheus.invalid/graph?" + url.Values{"g0.expr": {d.Full.Expr}}.Encode()
			}
			if d.Full.Resolved {
				a.EndsAt = t.at
			}
		} else {
			if d.Name == "" {
				r.missing(indexed(path+".alerts", i), "alerts: an entry is empty")
			}
			maps.Copy(a.Labels, t.pool.Matchers)
		}
		out = append(out, a)
	}
	return out
}

// none is what a test expects when nothing may be diagnosed.
const none = "none"

func (r *reader) expectations(path string, e expectDoc) {
	if e.Diagnosis == "" {
		r.missing(path, "diagnosis is missing: name the expected one, or none")
	} else if e.Diagnosis != none {
		r.diagnosis(path+".diagnosis", e.Diagnosis)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Others)) {
		r.diagnosis(path+".others."+name, name)
		r.truth(path+".others."+name, e.Others[name])
	}
	if e.Healthy != "" {
		r.truth(path+".healthy", e.Healthy)
	}
	r.names(path, e)
}

func (r *reader) diagnosis(path, name string) {
	if r.catalog != nil && !slices.Contains(diagnoses(r.catalog), name) {
		r.unknown(path, "diagnosis", name, diagnoses(r.catalog))
	}
}

func (r *reader) truth(path, word string) {
	truths := []incident.Truth{incident.True, incident.False, incident.Undecided}
	if !slices.Contains(truths, incident.Truth(word)) {
		r.at(path, "%s", strictyaml.NotOneOf(incident.Truth(word), truths))
	}
}
