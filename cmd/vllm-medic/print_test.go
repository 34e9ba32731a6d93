package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// known is an incident that knows everything that can be known.
func known() incident.Incident {
	now := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	inc := incident.New("inc-7kq2mz4a", "llama-70b", incident.ModeApprove, false, now)
	inc.State, inc.ReadAt, inc.Dialect = incident.StateWatching, now, "vLLM V1 names (vllm:...)"
	pods := func(values ...float64) (out []incident.PodValue) {
		for n, v := range values {
			out = append(out, incident.PodValue{Pod: fmt.Sprintf("llama-70b-%d", 7-n), Value: v})
		}
		return out
	}
	inc.Readings = map[string]incident.Reading{
		"generation_tokens_rate": {
			Short: "Output tokens",
			Value: new(1800.0), Threshold: new(2000.0), Unit: incident.UnitPerSecond, Direction: incident.LowerIsWorse,
			Pods:     pods(900, 880, 20),
			Baseline: &incident.Baseline{Mean: 2600, Deviation: 100, Score: new(-8.0)},
		},
		"kv_usage": {
			Short: "KV cache", Value: new(0.97), Threshold: new(0.9), Unit: incident.UnitRatio,
			Direction: incident.HigherIsWorse, Pods: pods(0.97, 0.4), Baseline: &incident.Baseline{Mean: 0.5},
		},
		"running": {
			Short: "Running", Value: new(90.0), Unit: incident.UnitCount, Direction: incident.Neutral, Pods: pods(64, 26),
		},
		"spec_acceptance": {Short: "Draft acceptance", Optional: true},
		"tpot_p95":        {Short: "TPOT p95", Value: new(0.03), Unit: incident.UnitSeconds, Pods: pods(0.03, 0.03)},
		"ttft_p95": {
			Short: "TTFT p95", Value: new(7.2), Threshold: new(2.0), ThresholdFrom: incident.OriginSLO,
			Unit:      incident.UnitSeconds,
			Direction: incident.HigherIsWorse, Baseline: &incident.Baseline{Mean: 0.4, Deviation: 1.1, Score: new(6.1)},
		},
		"waiting": {Short: "Waiting", Unit: incident.UnitCount, Baseline: &incident.Baseline{Mean: 1}},
	}
	inc.Diagnosis = &incident.Diagnosis{
		Name: "bad_replica", Summary: "One pod is slow and the others are well.",
		Evidence: []incident.Condition{
			{
				Text: "ttft_p95 > slo.ttft", Truth: incident.True, Signal: "ttft_p95", Label: "TTFT p95",
				Seen: "7.2 s (llama-70b-7)", Relation: incident.RelationAbove, Threshold: "2 s",
				ThresholdFrom: incident.OriginSLO,
			},
			{
				Text: "running > 0", Truth: incident.True, Signal: "running", Label: "Running", Seen: "90",
				Relation: incident.RelationAbove, Threshold: "0",
			},
		},
		Never: []incident.Never{
			{Change: "raise", Knob: "replicas", Why: "the pool has room;\n  new replicas hide the bad one"},
			{Change: "restart", Knob: "pods", Why: "it empties the prefix caches"},
		},
		Unusual: []string{
			"9 min ago: Deployment llm/llama-70b: image v0.9.2 -> v0.10.1.",
			"TTFT p95 7.2 s is 6.1 standard deviations above the hour before.",
		},
	}
	inc.Plan = &incident.Plan{Digest: "0a1b2c3d4e5f", Steps: []incident.Step{
		{
			ID: "p1-s1", Kind: incident.StepReplicas, State: incident.StepProposed,
			Title: "Scale llama-70b from 2 to 3 replicas", Cost: "one more pod with its GPUs",
			Checked: incident.Checked{By: incident.CheckedByServer, Why: "the bot may not patch deployments/scale in llm"},
			Diff:    "-  replicas: 2\n+  replicas: 3", Guardrails: []incident.Guardrail{
				{Name: "bounds", Verdict: incident.GuardShrink, Reason: "3 instead of 4: one step may add 1"},
				{
					Name: "ownership", Verdict: incident.GuardCaution,
					Reason: "Argo CD application models manages it and may set it back",
				},
				{Name: "mode", Verdict: incident.GuardPass, Reason: "mode approve"},
				{Name: "pause", Verdict: incident.GuardPass, Reason: "not paused"},
				{Name: "rights", Verdict: incident.GuardCaution, Reason: "the bot may not patch deployments/scale in llm"},
			},
		},
		{
			ID: "p1-s2", Kind: incident.StepManual, State: incident.StepProposed,
			Title: "Take llama-70b-7 out of the Service and look at its log",
		},
	}}
	inc.DeadAlerts = []incident.DeadAlert{
		{
			Alert: "VLLMCacheHigh", Missing: []string{"vllm:gpu_cache_usage_perc"},
			Why: "The V1 engine calls it vllm:kv_cache_usage_perc.", Instead: "vllm:kv_cache_usage_perc > 0.9",
		},
		{Alert: "VLLMSwapping", Missing: []string{"vllm:num_requests_swapped"}, Why: "The V1 engine does not swap."},
	}
	inc.Unexamined = []incident.UnexaminedAlert{{
		Alert: "VLLMHostile",
		Why:   "too long to analyze: at least 99999 bytes, and the limit is 16384",
	}}
	inc.Cluster = incident.Cluster{
		Changes: []incident.RecentChange{{
			At: now.Add(-9 * time.Minute), Kind: incident.ChangeRollout,
			Object: "Deployment llm/llama-70b", Text: "image v0.9.2 -> v0.10.1",
		}},
		Crashes: []incident.Crash{
			{
				Pod: "llama-70b-7", Container: "vllm", At: now.Add(-5 * time.Minute), Reason: "OOMKilled", ExitCode: 137,
				OutOfMemory: "gpu",
				Log: []string{
					"line 1", "line 2", "line 3", "line 4", "line 5", "  line 6",
					"torch.OutOfMemoryError: CUDA out of memory",
				},
			},
			{Pod: "llama-70b-6", Reason: "Completed", Log: []string{"a log of no interest"}},
		},
		Args: map[string]float64{"max_num_seqs": 424242},
		Unread: []incident.Unread{
			{Part: incident.PartNodes, Why: "list events in default is not allowed"}, {Part: "the log of llama-70b-6"},
		},
	}
	return inc
}

func printed(inc incident.Incident) string {
	var b bytes.Buffer
	printIncident(&sheet{to: &b, width: columns}, inc, false)
	return b.String()
}

func TestAnIncidentOnATerminalLooksAsAgreed(t *testing.T) {
	t.Parallel()
	plain := known()
	plain.Cluster, plain.DeadAlerts, plain.Diagnosis.Never, plain.Diagnosis.Unusual = incident.Cluster{}, nil, nil, nil
	plain.Unexamined = nil
	for name, r := range plain.Readings {
		r.Pods, r.Baseline, r.Optional = nil, nil, false
		plain.Readings[name] = r
	}
	for name, inc := range map[string]incident.Incident{"incident-known.txt": known(), "incident-plain.txt": plain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", name)
			got := printed(inc)
			if *update {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(filepath.Clean(path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("%s (-want +got; -update rewrites it):\n%s", path, diff)
			}
		})
	}
}

func TestATerminalShowsOnlyTheEndOfALogAndOnlyOfAFailure(t *testing.T) {
	t.Parallel()
	inc := known()
	inc.Cluster.Crashes[0].Log = slices.Repeat([]string{strings.Repeat("long ", 60)}, 40)
	inc.Cluster.Crashes[0].Log = append(inc.Cluster.Crashes[0].Log,
		"<script>alert(1)</script> <!channel> *bold*\x1b[2J\u202e\nsecond")
	text := printed(inc)
	if got := strings.Count(text, "      | "); got != lastLines {
		t.Errorf("%d lines of log, want %d", got, lastLines)
	}
	if !strings.Contains(text, "      | <script>alert(1)</script> <!channel> *bold*\uFFFD[2J\uFFFD second\n") {
		t.Errorf("the last line is not shown as it is:\n%s", text)
	}
	for _, bad := range []string{"of no interest", "424242", "\x1b"} {
		if strings.Contains(text, bad) {
			t.Errorf("the text holds %q", bad)
		}
	}
}

// What was found once the change had been rolled back is not what the change was made for.
func TestATerminalNamesWhatTheChangesWereMadeFor(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, time.Unix(0, 0))
	inc.State = incident.StateClosed
	inc.Diagnosis = &incident.Diagnosis{Name: "long_outputs", Summary: "Outputs are long."}
	inc.History = []incident.Made{{
		Title: "Scale 2 to 3", AppliedAt: time.Unix(60, 0), State: incident.StepUndone, UndoneAt: time.Unix(120, 0),
		Cause: incident.Cause{Name: "queueing", Summary: "Requests queue."},
	}}
	want := "\n\n  Requests queue.\n  (queueing)\n\n  last diagnosis: Outputs are long.\n  (long_outputs)\n"
	if got := printed(inc); !strings.Contains(got, want) ||
		!strings.Contains(got, "Scale 2 to 3: applied 00:01 UTC; rolled back 00:02 UTC") {
		t.Errorf("got\n%s", got)
	}
	var b bytes.Buffer
	printTable(&b, []incident.Incident{inc}, time.Unix(3600, 0))
	if !strings.Contains(b.String(), "queueing") {
		t.Errorf("the table is\n%s", b.String())
	}
}

func TestATerminalShowsNothingEmpty(t *testing.T) {
	t.Parallel()
	inc := incident.New("inc-1", "llama", incident.ModeApprove, false, time.Unix(0, 0))
	inc.Diagnosis = &incident.Diagnosis{Summary: "The pool has too little room."}
	want := "inc-1  llama  received\n  Alerts firing\n  opened 1970-01-01 00:00:00 UTC\n\n" +
		"  The pool has too little room.\n\n"
	if got := printed(inc); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a person sees short, a program gets whole.
func TestJSONLosesNothingOfTheDiagnosis(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := write(&b, "json", known()); err != nil {
		t.Fatal(err)
	}
	var back incident.Incident
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(known(), back); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, key := range []string{
		`"never"`, `"unusual"`, `"pods"`, `"baseline"`, `"changes"`, `"crashes"`, `"log"`,
		`"unread"`, `"deadAlerts"`,
	} {
		if !strings.Contains(b.String(), key) {
			t.Errorf("the JSON lacks %s", key)
		}
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 3, 0, 0, 0, time.UTC)
	inc := incident.Incident{
		Alerts: []incident.Alert{{Labels: map[string]string{"alertname": "A"}}}, AlertsLeftOut: 1900,
		Journal: []incident.Entry{{At: at, Text: "Alert joined: A."}}, JournalLeftOut: 4711,
		LastLeftOut: &incident.Entry{At: at, Text: "Alert fires again: A."},
	}
	var b strings.Builder
	printIncident(&b, inc, false)
	printJournal(&b, inc)
	for _, want := range []string{
		"alerts: A (resolved), and 1900 resolved earlier",
		"4711 repetitive entries omitted, the latest at 2026-03-01 03:00:00: Alert fires again: A.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, b.String())
		}
	}
}

// A rule may hold a signal against two thresholds that come to the same for a pool. That is one thing to read.
func TestTheSameConditionIsPrintedOnce(t *testing.T) {
	t.Parallel()
	inc := known()
	c := inc.Diagnosis.Evidence[0]
	other := c
	c.Text, other.Text, other.Seen = "written otherwise", "another value", "4711 s"
	whole := func() string {
		var b bytes.Buffer
		printIncident(&b, inc, true)
		return b.String()
	}
	once := whole()
	inc.Diagnosis.Evidence = append(inc.Diagnosis.Evidence, c)
	if got := whole(); got != once {
		t.Errorf("printed twice:\n%s", got)
	}
	inc.Diagnosis.Evidence = append(inc.Diagnosis.Evidence, other)
	if got := whole(); !strings.Contains(got, "4711 s") {
		t.Errorf("another value is left out:\n%s", got)
	}
}

// Whoever runs diagnose reads the cause first, then the numbers, what to do, and only then what is not to be done. In
// an incident the note is its news, and stays above.
func TestATerminalBeginsWithTheCause(t *testing.T) {
	t.Parallel()
	inc := known()
	inc.Note, inc.Diagnosis.Skipped = "Can't rule out a deeper cause.", []string{"raising max_num_seqs: KV cache 97%"}
	inc.Plan = &incident.Plan{Digest: "0a1b", Steps: []incident.Step{{
		ID: "p1-s1", Kind: incident.StepManual, Title: "Find the pod", Why: "It is slow.",
	}}}
	placed := func(inc incident.Incident, want ...string) {
		t.Helper()
		text, at := printed(inc), 0
		for _, w := range want {
			n := strings.Index(text[at:], w)
			if n < 0 {
				t.Fatalf("%q is not where it should be in\n%s", w, text)
			}
			at += n
		}
	}
	placed(inc, inc.Note, inc.Diagnosis.Summary)
	inc.ID = ""
	placed(inc, inc.Diagnosis.Summary, "TTFT p95 7.2 s", inc.Note, "Find the pod", "skipped\n    raising max_num_seqs")
}

// Numbers by which a cause was found are those of then.
func TestATerminalSaysWhatIsOfBefore(t *testing.T) {
	t.Parallel()
	const of = "As diagnosed, before what happened since."
	inc := known()
	if got := printed(inc); strings.Contains(got, of) {
		t.Errorf("the newest readings are told to be of before:\n%s", got)
	}
	inc.HealthySince = inc.ReadAt
	if got := printed(inc); !strings.Contains(got, of) {
		t.Errorf("what was found before it healed is told as if it were now:\n%s", got)
	}
}

// Only what fires is said to fire.
func TestATerminalSaysWhichAlertsHaveResolved(t *testing.T) {
	t.Parallel()
	inc := known()
	alert := func(name string, firing bool) incident.Alert {
		return incident.Alert{Labels: map[string]string{"alertname": name}, Firing: firing}
	}
	inc.Alerts = []incident.Alert{alert("A", false), alert("B", true), alert("C", true)}
	if got, want := printed(inc), "\n  alerts: B (firing), C (firing), A (resolved)\n"; !strings.Contains(got, want) {
		t.Errorf("no %q in\n%s", want, got)
	}
	if got := alertsText(inc); got != "B and 1 more" {
		t.Errorf("the list has %q", got)
	}
	inc.Alerts = inc.Alerts[:1]
	if got := alertsText(inc); got != "A (resolved)" {
		t.Errorf("the list has %q", got)
	}
}

// Two to four readings say why. The rule, what was ruled out and what is within its limits are there for the asking.
func TestWhatDidNotDecideIsFolded(t *testing.T) {
	t.Parallel()
	inc := known()
	for n := range 6 {
		inc.Diagnosis.Evidence = append(inc.Diagnosis.Evidence, incident.Condition{
			Truth: incident.True, Signal: fmt.Sprintf("s%d", n), Label: fmt.Sprintf("Extra %d", n), Seen: "5", Threshold: "1",
		})
	}
	inc.Diagnosis.Evidence = append(inc.Diagnosis.Evidence,
		incident.Condition{Truth: incident.False, Signal: "kv_usage", Label: "KV cache", Seen: "97%"})
	inc.Others = []incident.Other{{Name: "stalled", Verdict: incident.Undecided, Why: "no data"}}
	inc.Readings["swap"] = incident.Reading{Short: "Swapped", Error: "connection refused"}
	folded, whole := printed(inc), &bytes.Buffer{}
	printIncident(whole, inc, true)
	for _, text := range []string{"Extra 3", "false ", "Running", "TPOT p95 ", "stalled (undecided)"} {
		if strings.Contains(folded, text) || !strings.Contains(whole.String(), text) {
			t.Errorf("%q is not folded, or lost:\n%s\n%s", text, folded, whole)
		}
	}
	for _, text := range []string{
		"    TTFT p95 7.2 s (llama-70b-7) (target 2 s)\n    Extra 0 5 (limit 1)\n",
		"(rule of 9 conditions; --all shows them)",
		"1 more undecided; --all says why", "1 reading could not be read: connection refused",
	} {
		if !strings.Contains(folded, text) {
			t.Errorf("%q is missing:\n%s", text, folded)
		}
	}
}
