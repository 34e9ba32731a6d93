package main

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// The terminal keeps to the words that messages, the pages and the documents keep to.
func TestTheTerminalKeepsToTheVoice(t *testing.T) {
	t.Parallel()
	inc := known()
	inc.Others = []incident.Other{
		{Name: "kv_cache_full", Verdict: incident.True, Why: "KV cache 97%, above 90%"},
		{Name: "abort_spike", Verdict: incident.Undecided, Why: "no data for Aborts"},
		{Name: "engine_dead", Verdict: incident.Undecided, NotEvaluated: "Kubernetes is not configured"},
	}
	inc.State, inc.UndoOffered = incident.StateDeciding, "p1-s1"
	inc.AppliedEarlier, inc.AlertsLeftOut, inc.JournalLeftOut = inc.Plan.Steps[:1], 2, 3
	inc.Journal = []incident.Entry{{At: inc.ReadAt, Text: "Investigation started."}}
	inc.LastLeftOut = &inc.Journal[0]
	names := append(slices.Collect(maps.Keys(inc.Readings)), "kv_cache_full", "abort_spike", "engine_dead")

	var b strings.Builder
	printIncident(&b, inc, true)
	printJournal(&b, inc)
	printIncident(&b, inc, false)
	printTable(&b, []incident.Incident{inc}, inc.OpenedAt)
	voice.Check(t, "incidents show and list", voice.Terminal(b.String(), names...))
}
