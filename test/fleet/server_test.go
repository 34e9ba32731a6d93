package fleet_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

func request(t *testing.T, h http.Handler, method, path, body string) (status int, answer string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func newFleet(t *testing.T, o fleet.Options) *fleet.Fleet {
	t.Helper()
	f, err := fleet.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestTheScenarioAndTheFleetChangeOverHTTP(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	if status, answer := request(t, f, http.MethodPost, "/_fleet/scenario",
		`{"name":"high-ttft"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	body := `{"replicas":3,"throttle":90,"rate_limit":12.5,"args":["--max-num-batched-tokens=4096"],"worse":true}`
	status, answer := request(t, f, http.MethodPost, "/_fleet/settings", body)
	if status != http.StatusOK {
		t.Fatalf("%d %s", status, answer)
	}
	var got struct {
		Scenario  string  `json:"scenario"`
		Throttle  int     `json:"throttle"`
		RateLimit float64 `json:"rate_limit"`
		Hurt      bool    `json:"hurt"`
		Demand    float64 `json:"demand"`
		Replicas  []struct {
			Name                string `json:"name"`
			MaxNumBatchedTokens int    `json:"max_num_batched_tokens"`
		} `json:"replicas"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		t.Fatal(err)
	}
	switch {
	case got.Scenario != "high-ttft", got.Throttle != 90, got.RateLimit != 12.5, !got.Hurt, got.Demand != 18,
		len(got.Replicas) != 3:
		t.Errorf("state: %+v", got)
	case got.Replicas[2].Name != "llama-70b-4", got.Replicas[2].MaxNumBatchedTokens != 4096:
		t.Errorf("third replica: %+v", got.Replicas[2])
	}
	// What is left out stays.
	if status, answer := request(t, f, http.MethodPost, "/_fleet/settings", `{"replicas":2}`); status != http.StatusOK ||
		!strings.Contains(answer, `"throttle": 90`) {
		t.Errorf("%d %s", status, answer)
	}
}

func TestWrongRequestsAreRefusedAndChangeNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	before := f.State()
	for path, bodies := range map[string][]string{
		"/_fleet/scenario": {`{"name":"nothing"}`, `{}`, `{"name":1}`, ``, `{"scenario":"idle"}`},
		"/_fleet/levers": {
			`{"traffic":-1}`, `{"prompt":1000}`, `{"prefix_miss":1.1}`, `{"give_up_after":"-1s"}`, `{"give_up_after":"soon"}`,
			`{"answer_within":"-1s"}`,
			`{"pods":{"llama-70b-0":{"slow":-1}}}`, `{"all_pods":{"kv_held":1}}`, `{"all_pods":{"fault":"odd"}}`, `{"x":1}`,
		},
		"/_fleet/crash": {`{"pod":"nobody"}`, `{}`},
		"/_fleet/settings": {
			`{"replicas":-1}`, `{"throttle":-1}`, `{"rate_limit":-1}`, `{"args":["--max-num-batched-tokens=1"]}`,
			`{"pods":[{"name":"a"},{"name":"a"}]}`,
			`{"pods":[{"name":""}]}`, `{"pods":[{"name":"a","args":["--max-num-seqs=x"]}]}`, `{"replica":1}`, `[]`,
		},
	} {
		for _, body := range bodies {
			if status, _ := request(t, f, http.MethodPost, path, body); status != http.StatusBadRequest {
				t.Errorf("POST %s %s: %d, want 400", path, body, status)
			}
		}
	}
	if diff := cmp.Diff(before, f.State()); diff != "" {
		t.Errorf("the fleet changed (-before +after):\n%s", diff)
	}
}

func TestPodsThatStayGoOnAndNewOnesStartCold(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	pods := []fleet.Pod{{Name: "a", IP: "10.0.0.1"}, {Name: "b", IP: "10.0.0.2"}}
	if err := f.SetPods(pods); err != nil {
		t.Fatal(err)
	}
	f.Advance(time.Minute)
	firstTokens := func() map[string]uint64 {
		out := map[string]uint64{}
		for _, r := range f.State().Replicas {
			out[r.Name] = r.FirstTokens
		}
		return out
	}
	before := firstTokens()
	if before["a"] == 0 || before["b"] == 0 {
		t.Fatalf("first tokens: %v", before)
	}
	// b gets other arguments, as in a rollout; c is new.
	pods[1].Args = []string{"--max-num-batched-tokens=4096"}
	if err := f.SetPods(append(pods, fleet.Pod{Name: "c", IP: "10.0.0.3"})); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]uint64{"a": before["a"], "b": 0, "c": 0}, firstTokens()); diff != "" {
		t.Errorf("first tokens (-want +got):\n%s", diff)
	}
	if f.State().Lost == 0 {
		t.Error("the restart of b lost no request")
	}
}

func TestTheSameArgumentsRestartNothing(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{Args: []string{"--max-num-batched-tokens=4096"}})
	f.Advance(time.Minute)
	before := f.State()
	if err := f.SetArgs([]string{"--max-num-batched-tokens=4096"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, f.State()); diff != "" {
		t.Errorf("(-before +after):\n%s", diff)
	}
	if err := f.SetArgs(nil); err != nil {
		t.Fatal(err)
	}
	if n := f.State().Replicas[0].FirstTokens; n != 0 {
		t.Errorf("after a change of the arguments the replica has %d first tokens, want a fresh start", n)
	}
}

func TestNoReplicaMeansNoService(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	if err := f.SetReplicas(0); err != nil {
		t.Fatal(err)
	}
	f.Advance(time.Minute)
	if s := f.State(); s.Rejected == 0 || s.Admitted != 0 || len(s.Replicas) != 0 {
		t.Errorf("state: %+v", s)
	}
	if got := f.Targets("x:1"); len(got) != 0 {
		t.Errorf("targets: %v", got)
	}
}

func TestTheRateLimitLetsSoManyThrough(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	if err := f.SetRateLimit(2); err != nil {
		t.Fatal(err)
	}
	f.Advance(100 * time.Second)
	if s := f.State(); s.Admitted < 198 || s.Admitted > 202 || s.Rejected < 295 {
		t.Errorf("%d admitted and %d rejected in 100 s, want 200 of 500", s.Admitted, s.Rejected)
	}
}

func TestOptionsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]fleet.Options{
		`dialect "v2"`:          {Dialect: "v2"},
		`scenario "chaos"`:      {Scenario: "chaos"},
		"replicas are -1":       {Replicas: -1},
		"ranks are -2":          {Ranks: -2},
		"the V0 engine has one": {Dialect: fleet.V0, Ranks: 2},
		"speed is -3":           {Speed: -3},
		`namespace "A B"`:       {Namespace: "A B"},
		"must be greater than":  {Args: []string{"--max-num-batched-tokens=2"}},
	} {
		if _, err := fleet.New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", o, err, want)
		}
	}
}

func TestScenariosThatCannotBeSimulatedAreRefused(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{})
	before := f.State()
	for name, spoil := range map[string]func(*fleet.Scenario){
		"negative rate":         func(s *fleet.Scenario) { s.Load.Rate = -1 },
		"no prompt":             func(s *fleet.Scenario) { s.Load.Prompt = 0 },
		"no answer":             func(s *fleet.Scenario) { s.Load.Generation = 0 },
		"spread":                func(s *fleet.Scenario) { s.Load.Spread = 1 },
		"cached share":          func(s *fleet.Scenario) { s.Load.CachedShare = 1 },
		"timeless step":         func(s *fleet.Scenario) { s.Engine.Step = 0 },
		"no slot":               func(s *fleet.Scenario) { s.Engine.MaxNumSeqs = 0 },
		"budget below slots":    func(s *fleet.Scenario) { s.Engine.MaxNumBatchedTokens = 10 },
		"request too large":     func(s *fleet.Scenario) { s.Load.Prompt = 80_000 },
		"watermark":             func(s *fleet.Scenario) { s.Engine.Watermark = 1 },
		"fault before the load": func(s *fleet.Scenario) { s.FaultAfter = -1 },
	} {
		s, err := fleet.ScenarioNamed("healthy")
		if err != nil {
			t.Fatal(err)
		}
		spoil(&s)
		if err := f.Apply(s); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if diff := cmp.Diff(before, f.State()); diff != "" {
		t.Errorf("the fleet changed (-before +after):\n%s", diff)
	}
}

func TestStartServesAFleetWhoseTimePasses(t *testing.T) {
	t.Parallel()
	targets := filepath.Join(t.TempDir(), "vllm.json")
	s := fleet.Start(t, fleet.Options{Speed: 60, TargetsFile: targets})
	wantTargets(t, targets, s.Address, "llama-70b-0", "llama-70b-1")
	if err := s.Fleet.SetReplicas(1); err != nil {
		t.Fatal(err)
	}
	wantTargets(t, targets, s.Address, "llama-70b-0")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/pod/llama-70b-0/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("GET %s: %s", r.URL, resp.Status)
	}
	deadline := time.Now().Add(20 * time.Second)
	for poll := time.NewTicker(20 * time.Millisecond); ; <-poll.C {
		if s.Fleet.State().Completed > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nothing was completed: %+v", s.Fleet.State())
		}
	}
}

func wantTargets(t *testing.T, file, address string, pods ...string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var got []fleet.TargetGroup
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	var want []fleet.TargetGroup
	for i, pod := range pods {
		want = append(want, fleet.TargetGroup{Targets: []string{address}, Labels: map[string]string{
			"__metrics_path__": "/pod/" + pod + "/metrics", "job": "vllm", "namespace": "llm", "pod": pod,
			"instance": "10.244.1." + string(rune('1'+i)) + ":8000",
		}})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("targets file (-want +got):\n%s", diff)
	}
}

func TestATargetsFileThatCannotBeWrittenIsTold(t *testing.T) {
	t.Parallel()
	f := newFleet(t, fleet.Options{TargetsFile: filepath.Join(t.TempDir(), "missing", "vllm.json")})
	if err := f.SetAddress("127.0.0.1:1"); err == nil {
		t.Error("no error")
	}
	if f.State().TargetsError == "" {
		t.Error("the state does not say so")
	}
}
