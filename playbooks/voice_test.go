package playbooks_test

import (
	"slices"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

// What the built-in playbooks say of every trouble, and of everything that may be missing in it, keeps to the voice:
// nobody but an author reads a rule or the name of a signal.
func TestWhatPlaybooksSayKeepsToTheVoice(t *testing.T) {
	t.Parallel()
	c := builtin(t, playbooks.Options{})
	var names []string
	for _, s := range c.AllSignals() {
		if s.Label() != s.Name { // max_num_seqs is what vLLM calls it, too
			names = append(names, s.Name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == "max_num_batched_tokens" }) // likewise
	read := map[string]bool{}
	for _, tr := range troubles() {
		evidence := map[string]incident.Evidence{"": tr.evidence(nil)}
		for _, name := range tr.needs {
			for how, missing := range map[string]incident.Reading{"no data for ": {}, "an error at ": {Error: "timeout"}} {
				ev := tr.evidence(nil)
				ev.Readings[name] = missing
				evidence[how+name] = ev
			}
		}
		for what, ev := range evidence {
			for _, text := range said(c.Diagnose(playbooks.Input{Alerts: alerts(tr.alert), Pool: chat(), Evidence: ev})) {
				if read[text] {
					continue // most of what is said does not depend on the reading that is missing
				}
				read[text] = true
				voice.Check(t, tr.diagnosis+", "+what+": "+text, voice.Message(text, names...))
			}
		}
	}
}

// said is every sentence of a result.
func said(r playbooks.Result) []string {
	out := append([]string{r.Note}, r.Unusual...)
	for _, o := range r.Others {
		out = append(out, o.Why)
	}
	for _, s := range r.Steps {
		out = append(out, s.Advice)
	}
	if d := r.Diagnosis; d != nil {
		out = append(out, d.Summary)
		for _, c := range d.Evidence {
			out = append(out, c.Label, c.Seen, c.Threshold)
		}
		for _, n := range d.Never {
			out = append(out, n.Why)
		}
	}
	return out
}
