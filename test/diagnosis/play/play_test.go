package play

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
	"github.com/vllm-medic/vllm-medic/test/size"
)

func TestMain(m *testing.M) {
	app.LogClientGo(slog.New(slog.DiscardHandler)) // one for the whole process, so before anything runs
	os.Exit(m.Run())
}

const home = ".."

func ordinary(t *testing.T) []Incident {
	t.Helper()
	all, err := Read(home + "/played")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func named(t *testing.T, name string) Incident {
	t.Helper()
	all := ordinary(t)
	i := slices.IndexFunc(all, func(x Incident) bool { return x.Name == name })
	if i < 0 {
		t.Fatalf("there is no played incident %s", name)
	}
	return all[i]
}

func player(t *testing.T) *Player {
	t.Helper()
	p, err := NewPlayer()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestAnswersAreCommitted plays everything but blind corpora before their first run: README.md says what came of it.
func TestAnswersAreCommitted(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	incidents := ordinary(t)
	blind, err := ReadBlind(home + "/blind")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(incidents)
	for _, b := range blind {
		if err := b.Check(incidents); err != nil {
			t.Error(err)
		}
		if b.First != nil {
			all = append(all, b.Incidents...)
		}
	}
	score, err := player(t).Run(t.Context(), all, 2, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	before, err := KnownMisses(home + "/README.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := Holds(home+"/README.md", Section(score, incidents, blind, before)); err != nil {
		t.Error(err)
	}
}

func TestTheSameFileGivesTheSameSeries(t *testing.T) {
	t.Parallel()
	inc := named(t, "canary-with-the-old-version")
	one, err := Engines(t.Context(), inc)
	if err != nil {
		t.Fatal(err)
	}
	two, err := Engines(t.Context(), inc)
	if err != nil {
		t.Fatal(err)
	}
	// The names of pods are left to chance, as in a cluster; the fleet's are not.
	if d := cmp.Diff(one, two); d != "" {
		t.Errorf("the same incident, played twice:\n%s", d)
	}
	inc.Seed++
	if three, err := Engines(t.Context(), inc); err != nil || three == one {
		t.Errorf("another seed gives the same: %v", err)
	}
}

// The table of engines is in one spelling, and has the alerts of the incident's own.
func TestTheTableHasTheAlertsThatFire(t *testing.T) {
	t.Parallel()
	inc := named(t, "surge-with-the-shipped-rules")
	for dialect, fires := range map[string]bool{native: true, ray: false} {
		inc.Dialect = dialect
		table, err := Engines(t.Context(), inc)
		if err != nil || strings.Contains(table, "vLLMHighTTFT") != fires {
			t.Errorf("%s: %v\n%s", dialect, err, table)
		}
	}
}

// TestAnswersFollowWhatHappens: without its timeline an incident must not get its answer, else a play shows nothing.
func TestAnswersFollowWhatHappens(t *testing.T) {
	t.Parallel()
	inc := named(t, "surge-with-the-shipped-rules")
	p := player(t)
	r, err := p.Play(t.Context(), inc, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if !r.Right() || len(r.Alerts) == 0 {
		t.Errorf("with its timeline: %s, alerts %q", r.Answer.Got, r.Alerts)
	}
	inc.Timeline = nil
	if r, err = p.Play(t.Context(), inc, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if r.Right() || len(r.Alerts) > 0 {
		t.Errorf("without its timeline: %s, alerts %q", r.Answer.Got, r.Alerts)
	}
}

// TestEventsHappenInTheCluster: what a timeline does must be what Kubernetes answers.
func TestEventsHappenInTheCluster(t *testing.T) {
	t.Parallel()
	before := "  - {at: 1m, levers: {traffic: 2}}\n  ask: 5m\n"
	text := strings.Replace(sound, before, `  - {at: 10s, crash: [pod-0], log: [torch.OutOfMemoryError]}
  - {at: 1m, delete: [pod-1]}
  - {at: 5m, scale: 3}
  - {at: 10m, rollout: {version: "0.25.0", args: [--max-num-seqs=32]}}
  ask: 12m30s
`, 1)
	all, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newStage(&all[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	pods, err := kubeapi.All[corev1.Pod](s.kube.As("test"), podKind)
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]int{}
	for _, p := range pods {
		images[p.Spec.Containers[0].Image]++
		if p.Name == s.pods.Name("pod-0") && p.Status.ContainerStatuses[0].RestartCount != 1 {
			t.Errorf("pod-0 restarted %d times", p.Status.ContainerStatuses[0].RestartCount)
		}
		if p.Name == s.pods.Name("pod-1") {
			t.Error("pod-1 is still there")
		}
	}
	// The first pod of the new version is being started, beside those that are there.
	if d := cmp.Diff(map[string]int{image + "0.24.0": 3, image + "0.25.0": 1}, images); d != "" {
		t.Errorf("pods by image (-want +got):\n%s", d)
	}
	log, err := s.log(kubeapi.LogRequest{Pod: s.pods.Name("pod-0"), Previous: true})
	if err != nil || log != "torch.OutOfMemoryError\n" {
		t.Errorf("the log of what crashed is %q, %v", log, err)
	}
	d, err := kubeapi.Get[appsv1.Deployment](s.kube.As("test"), deployments, namespace, modelName)
	if err != nil {
		t.Fatal(err)
	}
	args := d.Spec.Template.Spec.Containers[0].Args
	if *d.Spec.Replicas != 3 || !slices.Contains(args, "--max-num-seqs=32") {
		t.Errorf("the Deployment has %d replicas with %q", *d.Spec.Replicas, args)
	}
}

// TestRolesAreSeen: the two sides are Deployments of their own, with the label and the argument that tell them apart.
func TestRolesAreSeen(t *testing.T) {
	t.Parallel()
	s := played(t, named(t, "prompts-for-one-prefill-pod"))
	pods, err := kubeapi.All[corev1.Pod](s.kube.As("test"), podKind)
	if err != nil {
		t.Fatal(err)
	}
	roles := map[string]int{}
	for _, p := range pods {
		if strings.Contains(p.Name, "prefill") == strings.Contains(fmt.Sprint(p.Spec.Containers[0].Args), "kv_producer") {
			roles[p.Labels[roleLabel]]++
		}
	}
	if d := cmp.Diff(map[string]int{"prefill": 2, "decode": 3}, roles); d != "" {
		t.Errorf("pods by role (-want +got):\n%s", d)
	}
	for query, want := range map[string]int{
		"sum by (pod) (vllm:num_requests_waiting) > 20": 2, "vllm:nixl_xfer_time_seconds_count": 3,
	} {
		if got, err := s.query(t.Context(), query, askedAt.Unix()); err != nil || len(got) != want {
			t.Errorf("%s has %d results, want %d: %v", query, len(got), want, err)
		}
	}
}

// TestACanaryShowsBothVersions: each pod spells its own way.
func TestACanaryShowsBothVersions(t *testing.T) {
	t.Parallel()
	inc := named(t, "canary-with-the-old-version")
	s := played(t, inc)
	for query, want := range map[string]int{
		"count by (pod) (vllm:inter_token_latency_seconds_count)":   3,
		"count by (pod) (vllm:time_per_output_token_seconds_count)": 1,
		"vllm:num_requests_running":                                 4,
		`up{job="vllm"}`:                                            4,
	} {
		got, err := s.query(t.Context(), query, askedAt.Unix())
		if err != nil || len(got) != want {
			t.Errorf("%s has %d results, want %d: %v", query, len(got), want, err)
		}
	}
}

// played is an incident until its question, with the shortest calm past.
func played(t *testing.T, inc Incident) *stage {
	t.Helper()
	inc.Past = strictyaml.Duration(leastPast)
	s, err := newStage(&inc)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEachDialectSpellsItsOwnWay(t *testing.T) {
	t.Parallel()
	series := func(name string, more ...string) labels.Labels {
		b := labels.NewBuilder(labels.FromStrings("__name__", name, "pod", "pod-0", "instance", "10.244.1.1:8000"))
		for i := 0; i < len(more); i += 2 {
			b.Set(more[i], more[i+1])
		}
		return b.Labels()
	}
	waiting := series("vllm:num_requests_waiting")
	for _, c := range []struct {
		dialect, version string
		in               labels.Labels
		want             []string
	}{
		{native, "0.24.0", waiting, []string{"vllm:num_requests_waiting"}},
		{underscore, "0.24.0", waiting, []string{"vllm_num_requests_waiting"}},
		{ray, "0.24.0", waiting, []string{"ray_vllm_num_requests_waiting"}},
		{rayColon, "0.24.0", waiting, []string{"ray_vllm:num_requests_waiting"}},
		{kserve, "0.24.0", waiting, []string{"vllm:num_requests_waiting", "kserve_vllm:num_requests_waiting"}},
		{nim, "0.6.6", waiting, []string{"num_requests_waiting"}},
		{nim, "0.6.6", series("vllm:num_preemptions_total"), nil},
		{underscore, "0.24.0", series("up"), []string{"up"}},
		{native, "0.24.0", series("vllm:num_requests_waiting_created"), nil},
		{native, "0.19.0", series("vllm:num_requests_waiting_by_reason", "reason", "capacity"), nil},
		{
			native, "0.20.0", series("vllm:num_requests_waiting_by_reason", "reason", "capacity"),
			[]string{"vllm:num_requests_waiting_by_reason"},
		},
		{native, "0.12.0", series("vllm:request_success_total", "finished_reason", "error"), nil},
		{
			native, "0.13.0", series("vllm:request_success_total", "finished_reason", "error"),
			[]string{"vllm:request_success_total"},
		},
	} {
		v, err := readVersion(c.version)
		if err != nil {
			t.Fatal(err)
		}
		s := speller{
			incident: &Incident{Dialect: c.dialect}, done: map[uint64][]labels.Labels{},
			name: func(string) string { return "in-the-cluster" }, version: func(string) version { return v },
		}
		var got []string
		for _, ls := range s.spell(c.in) {
			got = append(got, ls.Get("__name__"))
			if ls.Get("pod") != "in-the-cluster" {
				t.Errorf("%s: the pod is %q", c.dialect, ls.Get("pod"))
			}
			if isRay := c.dialect == ray || c.dialect == rayColon; isRay != (ls.Get("WorkerId") != "") {
				t.Errorf("%s: its worker is %q", c.dialect, ls.Get("WorkerId"))
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s %s: %s (-want +got):\n%s", c.dialect, c.version, c.in, d)
		}
	}
}

// TestTheSparsePastIsWhatADenseOneWouldSay: scraping once a minute must not change what the evidence compares with.
func TestTheSparsePastIsWhatADenseOneWouldSay(t *testing.T) {
	t.Parallel()
	inc := named(t, "surge-with-the-shipped-rules")
	inc.Timeline, inc.NoRules = nil, true
	usual := map[time.Duration]map[string]float64{}
	for _, every := range []time.Duration{sparse, dense} {
		inc.Past = strictyaml.Duration(leastPast)
		s, err := newStage(&inc)
		if err != nil {
			t.Fatal(err)
		}
		s.sparse = every
		if err := s.play(t.Context()); err != nil {
			t.Fatal(err)
		}
		usual[every] = map[string]float64{}
		for name, query := range map[string]string{
			"ttft": "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
			"rate": "sum(rate(vllm:request_success_total[5m]))",
			"run":  "sum(vllm:num_requests_running)",
			"kv":   "avg(vllm:kv_cache_usage_perc)",
		} {
			got, err := s.query(t.Context(), fmt.Sprintf("avg_over_time((%s)[45m:1m] offset 35m)", query), askedAt.Unix())
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range got {
				var f float64
				if _, err := fmt.Sscan(v, &f); err != nil {
					t.Fatal(err)
				}
				usual[every][name] = f
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(usual[dense])) {
		if a, b := usual[sparse][name], usual[dense][name]; b <= 0 || a < .97*b || a > 1.03*b {
			t.Errorf("the usual %s is %g from a sparse past and %g from a dense one", name, a, b)
		}
	}
}
