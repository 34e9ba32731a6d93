package incident

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// stored reads an incident that was written down before facts had fields of their own: the code of commit 9fc3f5d wrote
// it.
func stored(t *testing.T, name string) (inc Incident, raw map[string]any) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "before-facts-"+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &inc); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	return inc, raw
}

func TestFactsAreReadFromAnIncidentThatHasOnlyTheirSentences(t *testing.T) {
	t.Parallel()
	inc, _ := stored(t, "asked")
	t.Run("the target and the check of steps", func(t *testing.T) {
		t.Parallel()
		type facts struct {
			Setting, Subresource, Container string
			Checked                         Checked
		}
		server := Checked{OK: true, By: CheckedByServer}
		want := map[string]facts{
			"p1-s1": {Setting: "maxParallelRequests", Checked: server},
			"p1-s2": {Setting: "max-num-batched-tokens", Container: "vllm", Checked: server},
			"p1-s3": {SettingReplicas, SubresourceScale, "", Checked{By: CheckedByServer}},
			"p1-s4": {},
			"p1-s5": {Setting: "minReplicas", Checked: server},
		}
		got := map[string]facts{}
		for _, s := range inc.Plan.Steps {
			got[s.ID] = facts{s.Target.Setting, s.Target.Subresource, s.Target.Container, s.Checked}
			if s.Digest != s.ComputeDigest() {
				t.Errorf("%s: the digest %s that people approved is %s now", s.ID, s.Digest, s.ComputeDigest())
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
	t.Run("the pods", func(t *testing.T) {
		t.Parallel()
		noNode := "Unschedulable 0/3 nodes are available: 3 Insufficient nvidia.com/gpu."
		want := map[string]Pod{
			"llama-a": {},
			"llama-b": {Waiting: "CrashLoopBackOff", CrashLooping: true},
			"llama-c": {Unschedulable: noNode},
			"llama-d": {Terminating: true},
			"llama-e": {Waiting: "CrashLoopBackOff", CrashLooping: true},
			"llama-f": {},
			"llama-g": {Terminating: true},
		}
		got := map[string]Pod{}
		for _, p := range inc.Cluster.Pods {
			got[p.Name] = Pod{
				Waiting: p.Waiting, CrashLooping: p.CrashLooping, Terminating: p.Terminating,
				Unschedulable: p.Unschedulable,
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
	t.Run("what would make it worse", func(t *testing.T) {
		t.Parallel()
		want := Never{Change: "restart", Knob: "pods", Why: "it takes away capacity, and empties the prefix caches"}
		if len(inc.Diagnosis.Never) != 4 || inc.Diagnosis.Never[2] != want {
			t.Errorf("%+v", inc.Diagnosis.Never)
		}
	})
	t.Run("what could not be read", func(t *testing.T) {
		t.Parallel()
		want := []Unread{
			{PartRollouts, "list replicasets in llm is not allowed"},
			{PartCrashLog, "pod llama-b, container vllm: there is none"},
			{PartNodes, "list events in default is not allowed"},
		}
		if d := cmp.Diff(want, inc.Cluster.Unread); d != "" {
			t.Errorf("-want +got:\n%s", d)
		}
	})
}

func TestTheStepThatANoteIsAboutIsFoundInAStoredIncident(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"drift": "p1-s1", "denied": "", "mitigation": "", "unrouted": ""} {
		if inc, _ := stored(t, name); inc.NoteStep != want {
			t.Errorf("%s: the note is about %q, want %q: %s", name, inc.NoteStep, want, inc.Note)
		}
	}
}

// What the code of commit 46513bd called a drill is a dry run.
func TestAStoredDrillIsADryRun(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("testdata", "before-dry-run.json"))
	if err != nil {
		t.Fatal(err)
	}
	var inc Incident
	if err := json.Unmarshal(b, &inc); err != nil {
		t.Fatal(err)
	}
	if !inc.DryRun || inc.Mode != ModeDryRun || inc.MuteReason != MutedDryRun {
		t.Errorf("dry run %t, mode %q, muted for %q", inc.DryRun, inc.Mode, inc.MuteReason)
	}
	written, err := json.Marshal(inc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"dryRun":true`, `"drill":true`, `"mode":"dry-run"`, `"quiet":"dry-run"`} {
		if !strings.Contains(string(written), want) {
			t.Errorf("%s is not in %s", want, written)
		}
	}
	var again Incident
	if err := json.Unmarshal(written, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(inc, again); d != "" {
		t.Errorf("read again (-first +second):\n%s", d)
	}
}

// The sentence of what could not be read is written beside its fields, and is not read where these are.
func TestWhatCouldNotBeReadIsStoredAsFacts(t *testing.T) {
	t.Parallel()
	why := "pod llama-b: container vllm: there is none"
	inc := Incident{Cluster: Cluster{Unread: []Unread{{PartCrashLog, why}, {Part: "of_a_newer_version"}}}}
	b, err := json.Marshal(inc)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"notRead":[{"part":"crash_log","why":"` + why + `"},{"part":"of_a_newer_version"}]`,
		`"unread":["the log of a crashed container: ` + why + `","of_a_newer_version"]`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	var again Incident
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(inc.Cluster, again.Cluster); d != "" {
		t.Errorf("read again (-first +second):\n%s", d)
	}
}

// An older version, and whoever reads the API, finds everything where it was.
func TestTheJSONOfAnIncidentOnlyGainsFields(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"asked", "denied", "drift", "mitigation", "undone", "unrouted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inc, before := stored(t, name)
			b, err := json.Marshal(inc)
			if err != nil {
				t.Fatal(err)
			}
			var after map[string]any
			if err := json.Unmarshal(b, &after); err != nil {
				t.Fatal(err)
			}
			lost(t, name, before, after)
			var again Incident
			if err := json.Unmarshal(b, &again); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(inc, again); d != "" {
				t.Errorf("read again (-first +second):\n%s", d)
			}
		})
	}
}

// lost says what of a JSON value is not in another one any more.
func lost(t *testing.T, at string, before, after any) {
	t.Helper()
	switch b := before.(type) {
	case map[string]any:
		a, ok := after.(map[string]any)
		if !ok {
			t.Errorf("%s was an object and is %v", at, after)
		}
		for k, v := range b {
			lost(t, at+"."+k, v, a[k])
		}
	case []any:
		a, ok := after.([]any)
		if !ok || len(a) != len(b) {
			t.Errorf("%s was a list of %d and is %v", at, len(b), after)
			return
		}
		for n := range b {
			lost(t, at+"[]", b[n], a[n])
		}
	default:
		if !cmp.Equal(before, after) {
			t.Errorf("%s was %v and is %v", at, before, after)
		}
	}
}
