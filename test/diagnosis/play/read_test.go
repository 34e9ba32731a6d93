package play

import (
	"os"
	"strings"
	"testing"
)

const sound = `incidents:
- name: x
  truth: idle
  story: Nobody asks.
  harmful:
  - {do: throttle, why: for nothing}
  version: "0.24.0"
  slo: {profile: chat}
  fleet: {engine: llama-70b, replicas: 2}
  load: {rate: 0.01, prompt: 500, generation: 100}
  timeline:
  - {at: 1m, levers: {traffic: 2}}
  ask: 5m
`

func TestMistakesNameTheirPlace(t *testing.T) {
	t.Parallel()
	if _, err := Parse("x.yaml", []byte(sound)); err != nil {
		t.Fatalf("the sound one is refused: %v", err)
	}
	for _, c := range []struct{ from, to, want string }{
		{"  ask: 5m", "  asks: 5m", `x.yaml:13:3: unknown field "asks"`},
		{"ask: 5m", "ask: 0s", "x.yaml:13:8: x: ask: it is needed"},
		{"name: x", "name: ''", "x.yaml:2:9: an incident without a name: name: it is needed"},
		{"truth: idle", "truth: lazy", "x.yaml:3:10: x: truth: "},
		{"Nobody asks.", "' '", "x.yaml:4:10: x: story: it is needed"},
		{"do: throttle", "do: nothing", "x.yaml:6:5: x: harmful[0]: "},
		{"why: for nothing", "why: ''", "x.yaml:6:5: x: harmful[0]: why is needed"},
		{"  harmful:\n  - {do: throttle, why: for nothing}\n", "", "x.yaml:2:3: x: harmful: it is needed"},
		{`"0.24.0"`, "new", `x.yaml:7:12: x: version: "new" is not a version`},
		{`"0.24.0"`, `"0.11.0"`, "x.yaml:7:12: x: version: version 0.11.0 can't be played"},
		{`"0.24.0"`, `"0.24.0"` + "\n  dialect: klingon", "x.yaml:8:12: x: dialect: "},
		{`"0.24.0"`, `"0.24.0"` + "\n  dialect: nim", "x.yaml:7:12: x: version: nim is only played with"},
		{"profile: chat", "profile: fast", `x.yaml:8:8: x: slo: "fast" is not a profile`},
		{"replicas: 2", "replicas: 0", "x.yaml:9:40: x: fleet.replicas: they must be between"},
		{"llama-70b", "llama-1b", `x.yaml:9:10: x: fleet: engine "llama-1b"`},
		{"prompt: 500", "prompt: 0", "x.yaml:9:10: x: fleet: rate must not be negative, prompt"},
		{"traffic: 2", "traffic: -2", "x.yaml:12:22: x: timeline[0].levers: traffic is -2"},
		{"traffic: 2", "pods: {llama-0: {slow: 2}}", `x.yaml:12:22: x: timeline[0].levers: "llama-0" is not a pod`},
		{"traffic: 2", "trucks: 2", "x.yaml:12:23: unknown field"},
		{"levers: {traffic: 2}", "crash: [pod]", `x.yaml:12:5: x: timeline[0]: "pod" is not a pod`},
		{", levers: {traffic: 2}", "", "x.yaml:12:5: x: timeline[0]: nothing happens"},
		{"at: 1m", "at: 5m", "x.yaml:12:5: x: timeline[0]: 5m is not before the question at 5m"},
		{"at: 1m", "at: 1", "x.yaml:12:10:"},
		{"replicas: 2", "prefill: 2", "x.yaml:9:10: x: fleet: prefill and decode must both be"},
		{"replicas: 2", "replicas: 2, prefill: 1, decode: 1", "x.yaml:9:40: x: fleet.replicas: there are prefill and decode"},
		{"levers: {traffic: 2}", "scale: 2, of: decode", "x.yaml:12:28: x: timeline[0].of: "},
		{"levers: {traffic: 2}", "levers: {}, of: pod", "x.yaml:12:30: x: timeline[0].of: it goes with scale"},
		{"ask: 5m", "ask: 5m\n  past: 30m", "x.yaml:14:9: x: past: 30m is shorter than 1h10m"},
		{"ask: 5m", "ask: 5m\n  alerts: [{ago: 1m}]", "x.yaml:14:12: x: alerts[0]: name is needed"},
		{"ask: 5m", "ask: 5m\n  accept: {light-load: ''}", "x.yaml:14:11: x: accept: light-load needs its reason"},
	} {
		_, err := Parse("x.yaml", []byte(strings.Replace(sound, c.from, c.to, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.to, err, c.want)
		}
	}
}

func TestANameIsUsedOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"a.yaml", "b.yaml"} {
		if err := os.WriteFile(dir+"/"+name, []byte(sound), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want := "b.yaml:2:9: x is the name of the incident at a.yaml:2"
	if _, err := Read(dir); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
	if all, err := Read(dir + "/not-there"); err != nil || len(all) != 0 {
		t.Errorf("a folder that is not there has %d incidents, %v", len(all), err)
	}
}

// FuzzParse: whatever is in a file, it is read or refused with its place, and what is read can be played as far as the
// simulator says.
func FuzzParse(f *testing.F) {
	f.Add([]byte(sound))
	data, err := os.ReadFile("../played/examples.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := Parse("x.yaml", data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "x.yaml") {
				t.Errorf("a mistake without a place: %v", err)
			}
			return
		}
		for _, inc := range all {
			if _, err := inc.scenario(); err != nil {
				t.Errorf("%s was read and can't be played: %v", inc.Name, err)
			}
		}
	})
}
