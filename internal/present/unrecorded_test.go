package present

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/voice"
)

func lastWrite(op incident.Op, settings ...incident.WrittenSetting) incident.LastWrite {
	id := incident.WriteID{
		Incident: "inc-a", Step: "p1-s1", Op: op, Since: time.Date(2026, 3, 1, 3, 40, 0, 0, time.UTC),
	}
	return incident.LastWrite{
		Target:   incident.Target{Kind: "Deployment", Namespace: "llm", Name: "llama"},
		Resource: "deployments.apps", ID: id.String(), Settings: settings,
	}
}

func TestAnUnrecordedWriteSaysWhatIsThereAndWhatWas(t *testing.T) {
	t.Parallel()
	const begin = "A vllm-medic has changed Deployment llm/llama, and this database has no record of it " +
		"(incident inc-a, " +
		"2026-03-01 03:40 UTC). The database is older than that, or it was another installation. "
	const end = " It isn't reverted automatically."
	const unnoted = " What was there before isn't noted: compare with the manifest or the Helm values."
	now := incident.Set("4096")
	for name, tt := range map[string]struct {
		of   incident.LastWrite
		want string
	}{
		"nothing noted": {
			lastWrite(incident.OpApply, incident.WrittenSetting{Field: "f", Value: now}),
			begin + "f is 4096 now." + unnoted + end,
		},
		"another value noted": {
			lastWrite(incident.OpApply, incident.WrittenSetting{Field: "f", Value: now, Before: new(incident.Set("8K"))}),
			begin + `f is 4096 now; a vllm-medic noted that it replaced "8K".` + end,
		},
		"that there was none": {
			lastWrite(incident.OpApply, incident.WrittenSetting{Field: "f", Value: now, Before: new(incident.Value{})}),
			begin + "f is 4096 now; a vllm-medic noted that it replaced no value." + end,
		},
		"the noted value is back": {
			lastWrite(incident.OpApply, incident.WrittenSetting{Field: "f", Value: now, Before: new(now)}),
			begin + "f is 4096 now, as before the change." + end,
		},
		"unreadable": {
			lastWrite(incident.OpApply, incident.WrittenSetting{Field: "f", Unread: "it comes from a ConfigMap."}),
			begin + "f can't be read (it comes from a ConfigMap)." + unnoted + end,
		},
		"a rollback": {
			lastWrite(incident.OpUndo, incident.WrittenSetting{Field: "f", Value: now}),
			strings.Replace(begin, "changed", "rolled back", 1) + "f is 4096 now." + unnoted + end,
		},
	} {
		n := incident.Note{Kind: incident.NoteUnrecorded, Target: tt.of.Target, LastWrite: &tt.of}
		if d := cmp.Diff(tt.want, Said(n)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		voice.Check(t, name, voice.Message(Said(n)))
	}
}

// A person pastes these: each is one command of one shell, whatever is in it.
func TestTheCommandsForAnUnrecordedWrite(t *testing.T) {
	t.Parallel()
	w := lastWrite(incident.OpApply,
		incident.WrittenSetting{
			Field: "f", Before: new(incident.Set("8192")), Patch: `[{"op":"test","path":"/a","value":"it's"}]`,
		},
		incident.WrittenSetting{Field: "g", Value: incident.Set("1")})
	want := `# set f back to 8192
kubectl -n llm patch deployments.apps/llama --type=json -p '[{"op":"test","path":"/a","value":"it'\''s"}]'
# what it was like before
kubectl -n llm rollout history deployments.apps/llama
# when its value is right, so that this isn't reported again
kubectl -n llm annotate deployments.apps/llama vllm-medic.io/last-write-`
	if d := cmp.Diff(want, ByHand(w)); d != "" {
		t.Error(d)
	}
	w.Resource, w.Settings = "backendtrafficpolicies.gateway.envoyproxy.io", nil
	if got := ByHand(w); strings.Contains(got, "rollout") || strings.Contains(got, "patch") {
		t.Errorf("of a policy of which nothing is noted:\n%s", got)
	}
}
