package present

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// DoNow is what a person can run now. The bot runs none of it.
type DoNow struct {
	// Of says what the commands are about: "pod f, node gpu-17"; empty where no pod is known.
	Of string
	// Then says what comes after these pods: "then pods g and h, one at a time"; empty where there are no others.
	Then string
	// Commands are lines of a shell, in this order, each whole: a part of a command is another command.
	Commands []string
}

// DoNowFor is what a person can run now: the commands of the manual steps. ok is false while nobody is asked for them,
// and where there are none.
func DoNowFor(inc incident.Incident) (now DoNow, ok bool) {
	if inc.Plan == nil || Outdated(inc) && !FollowUp(inc) || inc.State == incident.StateClosed {
		return DoNow{}, false
	}
	for _, s := range inc.Plan.Steps {
		if s.State == incident.StepProposed {
			now.Commands = append(now.Commands, Commands(s)...)
		}
	}
	if d := inc.Diagnosis; d != nil && len(d.Affected) > 0 && namesPod(now.Commands, d.Affected[0].Pod) {
		first := d.Affected[0]
		now.Of = "pod " + Line(first.Pod)
		if first.Node != "" {
			now.Of += ", node " + Line(first.Node)
		}
		now.Then = after(d.Affected)
	}
	return now, len(now.Commands) > 0
}

// namesPod says that some of the commands are about the pod. One whose name is quoted there speaks for itself.
func namesPod(commands []string, pod string) bool {
	return slices.ContainsFunc(commands, func(line string) bool { return slices.Contains(strings.Fields(line), pod) })
}

// after names the pods that come after the first one.
func after(all []incident.AffectedPod) string {
	var names []string
	for _, p := range all[1:] {
		if name := Line(p.Pod); name != Line(all[0].Pod) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	const most = 3
	switch len(names) {
	case 0:
		return ""
	case 1:
		return "then pod " + names[0]
	}
	return "then pods " + strings.Join(Capped(names, most), ", ") + ", one at a time"
}

// Commands are those of a manual step that can be shown as they are. One with a character that a reader can't see is
// none: what is copied must be what was read.
func Commands(s incident.Step) []string {
	if s.Kind != incident.StepManual {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Commands), func(line string) bool {
		return line == "" || Clean(line) != line || strings.ContainsAny(line, "\n\r\t")
	})
}

// WhyPods says which pods the diagnosis is about, "pod f", and how they differ from the others: "TTFT p95" "75.1 s"
// "0.3 s". Empty where it is about none, or nothing can be compared.
func WhyPods(inc incident.Incident) (pods string, differ []incident.Compared) {
	if inc.Diagnosis == nil || len(inc.Diagnosis.Compared) == 0 {
		return "", nil
	}
	return Line(incident.PodWords(inc.Diagnosis.Affected)), inc.Diagnosis.Compared
}

// LastLine is the last line that a container wrote which the diagnosis is about, and how that ended: "pod f (vllm, exit
// code 1)". Empty where no container ended, or its log was not read.
func LastLine(inc incident.Incident) (of, line string) {
	c, line := lastEnd(inc)
	if line == "" {
		return "", ""
	}
	how := []string{Line(c.Container)}
	if reason := Line(c.Reason); reason != "" && reason != "Error" {
		how = append(how, reason)
	}
	how = append(how, "exit code "+strconv.FormatInt(c.ExitCode, 10))
	return "pod " + Line(c.Pod) + " (" + strings.Join(how, ", ") + ")", line
}

// ToldByLastLine says that a recent change is the end of a container whose last line is shown.
func ToldByLastLine(inc incident.Incident, ch incident.RecentChange) bool {
	c, line := lastEnd(inc)
	return line != "" && ch.Kind == incident.ChangeRestart && ch.Object == "Pod "+c.Pod && ch.At.Equal(c.At)
}

// lastEnd is the newest end of a container that the diagnosis is about, and the last line of its log; without a line
// there is none.
func lastEnd(inc incident.Incident) (c incident.Crash, line string) {
	if inc.Diagnosis == nil {
		return c, ""
	}
	for _, p := range inc.Diagnosis.Affected {
		for _, c := range inc.Cluster.Crashes {
			if p.Container == "" || c.Pod != p.Pod || c.Container != p.Container {
				continue
			}
			for _, text := range slices.Backward(c.Log) {
				if text = Line(text); text != "" {
					return c, Clip(text, lastLine)
				}
			}
		}
	}
	return c, ""
}

// lastLine bounds a line of a log in a message, in characters.
const lastLine = 160
