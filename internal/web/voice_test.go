package web_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// The pages keep to the words that messages, the terminal and the documents keep to.
func TestPagesKeepToTheVoice(t *testing.T) {
	t.Parallel()
	inc := rich()
	names := append(slices.Collect(maps.Keys(inc.Readings)), inc.Diagnosis.Name)
	for _, o := range inc.Others {
		names = append(names, o.Name)
	}
	voice.Check(t, "an incident", voice.Page(show(t, inc), names...))
	inc.State, inc.ClosedAt, inc.AlertsLeftOut, inc.JournalLeftOut = incident.StateClosed, now.Add(time.Hour), 3, 7
	inc.AppliedEarlier, inc.Plan = inc.Plan.Steps, nil
	inc.LastLeftOut = &incident.Entry{At: now, Text: "Firing again: vLLMHighTTFT."}
	inc.Cluster = incident.Cluster{Error: "connection refused"}
	voice.Check(t, "a closed incident", voice.Page(show(t, inc), names...))

	for name, list := range map[string][]incident.Incident{"the list": {inc, rich()}, "an empty list": {}} {
		s := newSite(t)
		s.listed(list, nil, pauseOf(""))
		voice.Check(t, name, voice.Page(s.look("/"), names...))
	}
}
