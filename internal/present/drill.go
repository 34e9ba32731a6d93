package present

import "github.com/vllm-medic/vllm-medic/internal/incident"

// Mark is what every surface says first of an incident in which nothing is changed: "TEST" of a test alert, "DRILL" of
// an exercise, "DRY RUN" of a dry run. It is empty where changes are made.
func Mark(inc incident.Incident) string {
	switch {
	case inc.OnlyTest():
		return "TEST"
	case inc.Drill != nil:
		return "DRILL"
	case inc.DryRun:
		return "DRY RUN"
	}
	return ""
}

// unreal is the same in the middle of a sentence: "drill", "dry run".
func unreal(inc incident.Incident) string {
	if inc.Drill != nil {
		return "drill"
	}
	return "dry run"
}

// NothingChanges says to whoever is about to approve, or has, that it is not meant; empty where it is.
func NothingChanges(inc incident.Incident) string {
	if !inc.DryRun {
		return ""
	}
	return "This is a " + unreal(inc) + ": nothing is changed."
}

// drillNews is what the headline says of a drill that has ended.
func drillNews(inc incident.Incident) string {
	switch inc.Drill.Result {
	case incident.DrillDecided:
		return "drill ended, decided after " + DrillTime(inc.Drill.DecidedAt.Sub(inc.OpenedAt))
	case incident.DrillUndecided:
		return "drill ended, no one decided in time"
	case incident.DrillNotAsked:
		return "drill ended, nothing to decide on"
	case incident.DrillStopped:
		return "drill stopped"
	case incident.DrillInterrupted:
		return "drill ended by a real alert"
	case incident.DrillNotStarted:
		return "drill not started"
	}
	return "drill ended"
}
