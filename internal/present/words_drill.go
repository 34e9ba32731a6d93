package present

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// ofDrill has what is said of a drill.
func ofDrill(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.NoteDrillStarted:
		return "DRILL, started by " + markBy + played(n.Why) + ". The alert and the readings are recorded, and nothing " +
			"will be changed. Respond as you would to a real one."
	case incident.NoteDrillSeen:
		return "First look by " + markBy + "."
	case incident.NoteDrillEnded:
		return drillEnded(n)
	}
	return ""
}

// played is what a drill plays, in the middle of a sentence.
func played(plays string) string {
	if plays = clause(plays); plays == "" {
		return ""
	}
	return ": " + plays
}

// drillEnded says how a drill ended, what was measured, and what would have been written.
func drillEnded(n incident.Note) string {
	if n.Drill == nil {
		return "The drill ended. Nothing was changed."
	}
	return strings.Join(drillLines(*n.Drill), " ")
}

func drillLines(sum incident.DrillSummary) []string {
	lines := []string{drillResult(sum, markBy) + " Nothing was changed."}
	if times := drillTimes(sum); times != "" {
		lines = append(lines, times)
	}
	return append(lines, WouldWrite(sum)...)
}

// Drill says line by line how a drill has ended, what was measured, and what would have been written. It is empty of
// one that goes on, or that never began.
func Drill(inc incident.Incident) [][]Span {
	if inc.Drill == nil || inc.Said.Drill == nil {
		return nil
	}
	var out [][]Span
	for _, line := range drillLines(*inc.Said.Drill) {
		out = append(out, withPeople(line, inc.Said))
	}
	return out
}

// DrillResult says how a drill has ended, in plain words.
func DrillResult(sum incident.DrillSummary) string {
	by := ""
	if sum.DecidedBy != nil {
		by = Person(*sum.DecidedBy)
	}
	return drillResult(sum, by)
}

func drillResult(sum incident.DrillSummary, by string) string {
	switch sum.Result {
	case incident.DrillDecided:
		return "The drill ended: decided by " + by + "."
	case incident.DrillUndecided:
		return "The drill ended: no one decided in time."
	case incident.DrillNotAsked:
		return "The drill ended: there was no step to decide on."
	case incident.DrillStopped:
		return "The drill was stopped."
	case incident.DrillInterrupted:
		return "A real alert arrived; the drill ended."
	case incident.DrillNotStarted:
		return "The drill was not started."
	}
	return "The drill ended."
}

// drillTimes says when people got the message, looked and decided.
func drillTimes(sum incident.DrillSummary) string {
	var times []string
	for _, of := range []struct {
		what  string
		after *time.Duration
		by    string
	}{
		{"message", sum.MessageAfter, ""},
		{"first look", sum.SeenAfter, " by " + markOther},
		{"decision", sum.DecidedAfter, ""},
	} {
		if of.after != nil {
			times = append(times, of.what+" after "+DrillTime(*of.after)+of.by)
		}
	}
	if len(times) == 0 {
		return ""
	}
	return Capital(strings.Join(times, ", ")) + "."
}

// DrillTime is a time that a drill measured. What took less than a second is no number to compare.
func DrillTime(d time.Duration) string {
	if d < time.Second {
		return "less than 1 s"
	}
	d = d.Round(time.Second)
	if seconds := d % time.Minute; d > time.Minute && d < 10*time.Minute && seconds > 0 {
		return incident.FormatDuration(d-seconds) + " " + incident.FormatDuration(seconds)
	}
	return incident.FormatDuration(d)
}

// WouldWrite says of each step of a drill what would have been written, and then of the others why not.
func WouldWrite(sum incident.DrillSummary) []string {
	var out []string
	steps := slices.Clone(sum.Would)
	slices.SortStableFunc(steps, func(a, b incident.WouldWrite) int {
		switch {
		case a.DryRun == b.DryRun:
			return 0
		case a.DryRun:
			return -1
		}
		return 1
	})
	for _, w := range steps {
		change := fmt.Sprintf("set %s from %s to %s", w.Target, ValueText(w.From), ValueText(w.To))
		if w.Target.Kind == "" { // it could not even be worked out
			change = "done: " + w.Title
		}
		switch why := cause(w.Cause, ""); {
		case w.DryRun:
			out = append(out, "Would have "+change+"; "+dryRunBy(w.Checked)+".")
		case w.State == incident.StepProposed || w.State == incident.StepSuperseded:
			out = append(out, "Would not have "+change+": no one approved it.")
		case why != "":
			out = append(out, "Would not have "+change+": "+clause(why)+".")
		default:
			out = append(out, "Would not have "+change+": "+string(w.State)+".")
		}
	}
	return out
}

func dryRunBy(checked bool) string {
	if checked {
		return "the API server accepted the dry run"
	}
	return "not checked by the API server"
}

// ofDrillRefusal has what a person is told who starts a drill where none can be.
func ofDrillRefusal(n incident.Note) string {
	switch n.Kind { //nolint:exhaustive // a part of the kinds; a test holds that each has words
	case incident.RefusedDrillPool:
		return "There is no pool " + n.Pool + "; the pools are " + n.Names + "."
	case incident.RefusedDrillScenario:
		return fmt.Sprintf("There is no scenario %q; the scenarios are %s.", n.Why, n.Names)
	case incident.RefusedDrillOpen:
		return "Pool " + n.Pool + " has a real incident (" + n.Why + "). Start the drill when it is closed."
	case incident.RefusedDrillRunning:
		return "A drill (" + n.Why + ") is in progress on pool " + n.Pool + ". Start the next one when it has ended."
	case incident.RefusedDrillMode:
		return fmt.Sprintf("Pool %s is in mode %s, in which nobody is asked to decide.", n.Pool, n.Mode)
	case incident.RefusedDrillPaused:
		return "In a drill nobody could approve anything: " + why(n) + "."
	case incident.RefusedDrillNoKubernetes:
		return "Without Kubernetes no step can be proposed, so there would be nothing to decide in a drill."
	case incident.RefusedNoDrill:
		return "The drill has already noted this, or there is none."
	}
	return ""
}
