package slack

import (
	"cmp"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// unreal is the first thing that a message of a dry run or a drill says, whatever else it says; empty of all others.
func unreal(inc incident.Incident) string {
	if mark := present.Mark(inc); mark != "" {
		return "🧪 [" + mark + "] "
	}
	return ""
}

// headline says what happened and how bad it is; after a change, what is going on. It is one line of a phone where the
// names allow it.
func headline(inc incident.Incident) string {
	return cmp.Or(unreal(inc), icon(inc)+" ") + present.Headline(inc)
}

// icon is the severity while something is wrong. Color never is the only sign: the headline says the same.
func icon(inc incident.Incident) string {
	switch present.LevelOf(inc) {
	case present.LevelResolved:
		return "✅"
	case present.LevelEnded:
		return "⚪"
	case present.LevelHealthy:
		return "🟢"
	case present.LevelCritical:
		return "🔴"
	case present.LevelWarning, present.LevelUnknown:
	}
	return "🟠"
}

// push is the text for notifications, which show no blocks: what is wrong, how bad it is, what is asked, until when. It
// is what a lock screen shows, in times of UTC because nothing is rendered there.
func push(inc incident.Incident) string {
	text := unreal(inc) + present.Headline(inc)
	text = strings.TrimRight(defuse(text, maxHeader*2), ".") + "."
	if ask := present.Asking(inc); ask != "" {
		text += " " + defuse(ask, 300)
	}
	return text + " " + reference(inc.ID, 0)
}
