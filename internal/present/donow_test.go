package present

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// stuck is an incident for which there are only manual steps.
func stuck(commands ...string) incident.Incident {
	begin := time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)
	return incident.Incident{
		ID: "inc-1", Pool: "p", State: incident.StateWatching, OpenedAt: begin, ReadAt: begin.Add(time.Minute),
		Alerts: []incident.Alert{{Firing: true, Labels: map[string]string{"alertname": "A", "severity": "critical"}}},
		Diagnosis: &incident.Diagnosis{
			Name: "engine-dead", Summary: "An engine crashed.", Headline: "pod b crashed (1 of 2 ready)",
			Affected: []incident.AffectedPod{{Pod: "b", Container: "vllm", Node: "gpu-2"}, {Pod: "c"}, {Pod: "c", Rank: "1"}},
		},
		Plan: &incident.Plan{
			CreatedAt: begin.Add(time.Minute),
			Steps:     []incident.Step{{Kind: incident.StepManual, State: incident.StepProposed, Commands: commands}},
		},
		Cluster: incident.Cluster{Crashes: []incident.Crash{
			{Pod: "z", Container: "vllm", Log: []string{"another pod"}},
			{Pod: "b", Container: "sidecar", Log: []string{"another container"}},
			{
				Pod: "b", Container: "vllm", Reason: "OOMKilled", ExitCode: 137, At: begin,
				Log: []string{"Traceback", "RuntimeError:  it\tbroke", " "},
			},
		}},
	}
}

func TestWhatAPersonCanRunNow(t *testing.T) {
	t.Parallel()
	lines := []string{"kubectl -n llm logs b", "kubectl -n llm delete pod b"}
	now, ok := DoNowFor(stuck(lines...))
	if !ok || !slices.Equal(now.Commands, lines) || now.Of != "pod b, node gpu-2" || now.Then != "then pod c" {
		t.Errorf("got %+v, %t", now, ok)
	}
	// Commands about the whole pool name no pod.
	if now, _ := DoNowFor(stuck("kubectl -n llm get pods -o wide")); now.Of != "" || now.Then != "" {
		t.Errorf("got %+v", now)
	}
}

// Nobody is sent to delete a pod that works again, or by what was known before a change; and what is copied is what was
// read.
func TestWhatNobodyShouldRunIsNotShown(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*incident.Incident){
		"healthy": func(i *incident.Incident) { i.HealthySince = i.ReadAt.Add(time.Hour) },
		"closed":  func(i *incident.Incident) { i.State = incident.StateClosed },
		"changed since": func(i *incident.Incident) {
			i.ChangedAt = i.ReadAt.Add(time.Minute)
		},
		"no plan":        func(i *incident.Incident) { i.Plan = nil },
		"superseded":     func(i *incident.Incident) { i.Plan.Steps[0].State = incident.StepSuperseded },
		"no manual step": func(i *incident.Incident) { i.Plan.Steps[0].Kind = incident.StepReplicas },
		"a line end":     func(i *incident.Incident) { i.Plan.Steps[0].Commands = []string{"ls\nreboot"} },
		"text that turns around": func(i *incident.Incident) {
			i.Plan.Steps[0].Commands = []string{"ls \u202e x"}
		},
	} {
		inc := stuck("kubectl -n llm delete pod b")
		change(&inc)
		if now, ok := DoNowFor(inc); ok {
			t.Errorf("%s: %+v", name, now)
		}
	}
}

func TestTheLastLineIsThatOfTheContainerThatEnded(t *testing.T) {
	t.Parallel()
	inc := stuck()
	if of, line := LastLine(inc); of != "pod b (vllm, OOMKilled, exit code 137)" || line != "RuntimeError: it broke" {
		t.Errorf("got %q of %q", line, of)
	}
	end := incident.RecentChange{Kind: incident.ChangeRestart, Object: "Pod b", At: inc.OpenedAt}
	another := incident.RecentChange{Kind: incident.ChangeRestart, Object: "Pod c", At: inc.OpenedAt}
	if !ToldByLastLine(inc, end) || ToldByLastLine(inc, another) {
		t.Error("the end of the container is told twice, or that of another one is not told")
	}
	inc.Cluster.Crashes[2].Log = []string{strings.Repeat("x", 400)}
	if _, line := LastLine(inc); len([]rune(line)) != 160 || !strings.HasSuffix(line, "…") {
		t.Errorf("got %q", line)
	}
	inc.Cluster.Crashes[2].Log = nil
	if of, line := LastLine(inc); of != "" || line != "" || ToldByLastLine(inc, end) {
		t.Errorf("without a log: %q of %q", line, of)
	}
}

func TestTheHeadlineIsThatOfTheDiagnosis(t *testing.T) {
	t.Parallel()
	inc := stuck()
	if got := Headline(inc); got != "p: pod b crashed (1 of 2 ready)" || LevelOf(inc) != LevelCritical {
		t.Errorf("got %q, %s", got, LevelOf(inc))
	}
	// A rule that can't fire is no trouble of the pool, however its alert calls itself.
	inc.Diagnosis.Level = incident.LevelWarning
	if got := LevelOf(inc); got != LevelWarning {
		t.Errorf("a diagnosis of level warning is %s", got)
	}
	// What was read before a change is no headline of now.
	inc.ChangedAt = inc.ReadAt.Add(time.Minute)
	if got := Headline(inc); got != "p: A firing" {
		t.Errorf("outdated: %q", got)
	}
	// Without the values there is what there was before: the worst reading, or the alerts.
	inc = stuck()
	inc.Diagnosis.Headline = ""
	if got := Headline(inc); got != "p: A firing" {
		t.Errorf("without a headline: %q", got)
	}
	// Healthy metrics don't make a crash green whose cause needs a human.
	inc = stuck()
	inc.HealthySince = inc.Plan.CreatedAt
	if got := Headline(inc); got != "p: pod b crashed (1 of 2 ready), healthy again" || LevelOf(inc) != LevelWarning {
		t.Errorf("got %q, %s", got, LevelOf(inc))
	}
}
