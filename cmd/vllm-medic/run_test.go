package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// call is one run of the program in this process.
type call struct {
	args []string
	env  map[string]string
	in   string
}

func (c call) run(t *testing.T) (code int, out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	term := terminal{
		in: strings.NewReader(c.in), out: &o, err: &e,
		getenv: func(name string) (string, bool) { v, ok := c.env[name]; return v, ok },
	}
	code = run(t.Context(), c.args, term)
	return code, o.String(), e.String()
}

func TestWrongUsageExitsWith2AndNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		env  map[string]string
		want string // in what is said
	}{
		{"", nil, "check"}, // the commands
		{"frobnicate", nil, "frobnicate"},
		{"chek", nil, "check"},
		{"version --frob", nil, "frob"},
		{"version more", nil, "more"},
		{"check --offline --live", nil, "--offline"},
		{"test", nil, "FILE"},
		{"test --run ( x.yaml", nil, "--run"},
		{"incidents", nil, "approve"},
		{"incidents show", nil, "ID"},
		{"incidents approve inc-1", nil, "STEP"},
		{"incidents list -o xml", nil, "xml"},
		{"incidents list --limit 0", nil, "--limit"},
		{"incidents list --state half", nil, "half"},
		{"incidents list", nil, "VLLM_MEDIC_TOKEN"},
		{"incidents list --config a.yaml --server http://b", holder(), "--server"},
		{"incidents close inc-1", holder(), "--reason"},
		{"incidents abort inc-1", holder(), "--reason"},
		{"incidents approve inc-1 p1-s1", holder(), "--digest"}, // nobody can be asked through a pipe
		{"incidents ack inc-1 --server bot:8080", holder(), "bot:8080"},
		{"pause", holder(), "--reason"},
	} {
		code, out, errs := call{args: strings.Fields(tt.args), env: tt.env}.run(t)
		if code != exitUsage || !strings.Contains(out+errs, tt.want) {
			t.Errorf("%q: exit %d, %q %q; want exit 2 and %q", tt.args, code, out, errs, tt.want)
		}
	}
}

func TestTheVersionIsThereForPrograms(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"json", "yaml"} {
		code, out, errs := call{args: []string{"version", "-o", format}}.run(t)
		if code != exitDone || errs != "" {
			t.Fatalf("%s: exit %d, %q", format, code, errs)
		}
		for _, field := range []string{"version", "commit", "go", "os", "arch", "schema"} {
			if !strings.Contains(strings.ReplaceAll(out, `"`, ""), field+": ") {
				t.Errorf("%s lacks %s: %s", format, field, out)
			}
		}
	}
	var got struct {
		Version, Commit, Go string
		Schema              int64
	}
	_, out, _ := call{args: []string{"version", "-o", "json"}}.run(t)
	if err := json.Unmarshal([]byte(out), &got); err != nil || got.Schema < 1 || got.Version != release {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestVersionAndHelpGoToStandardOutput(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"version": "store schema", "--help": "incidents", "help check": "--config", "incidents approve --help": "--digest",
	} {
		code, out, errs := call{args: strings.Fields(args)}.run(t)
		if code != exitDone || errs != "" || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, %q, %q", args, code, out, errs)
		}
	}
}

const soundConfiguration = `
store: {url: "sqlite:///var/lib/vllm-medic/medic.db"}
prometheus: {url: "http://prometheus:9090"}
alertmanager: {auth: {bearer_token_env: AM_TOKEN}}
mode: observe
pools:
  - name: llama-70b
    match: {model_name: llama-70b}
    matchers: {model_name: llama-70b}
`

func TestCheckExitsWith1ForWhatIsWrong(t *testing.T) {
	t.Parallel()
	secrets := map[string]string{"AM_TOKEN": "s3cr3t-value-of-tests"}
	for name, tt := range map[string]struct {
		file string
		args []string
		env  map[string]string
		code int
		want string
	}{
		"sound":                {soundConfiguration, nil, secrets, exitDone, "llama-70b"},
		"without its secrets":  {soundConfiguration, nil, nil, exitFail, "AM_TOKEN"},
		"offline":              {soundConfiguration, []string{"--offline"}, nil, exitDone, "llama-70b"},
		"a field that is none": {soundConfiguration + "colour: red\n", nil, secrets, exitFail, "medic.yaml:10:1"},
		"two errors at once": {
			soundConfiguration + "colour: red\nlinks: {base_url: nowhere}\n", nil, secrets, exitFail,
			"medic.yaml:11",
		},
		"no YAML": {"{", nil, secrets, exitFail, "medic.yaml"},
	} {
		path := filepath.Join(t.TempDir(), "medic.yaml")
		if err := os.WriteFile(path, []byte(tt.file), 0o600); err != nil {
			t.Fatal(err)
		}
		code, out, errs := call{args: append([]string{"check", "--config", path}, tt.args...), env: tt.env}.run(t)
		said := out + errs
		if code != tt.code || !strings.Contains(said, tt.want) || strings.Contains(said, "s3cr3t-value-of-tests") {
			t.Errorf("%s: exit %d, %q, %q; want exit %d and %q", name, code, out, errs, tt.code, tt.want)
		}
	}
	missing := filepath.Join(t.TempDir(), "missing.yaml")
	code, _, errs := call{args: []string{"check", "--config", missing}}.run(t)
	if code != exitFail || !strings.Contains(errs, missing) {
		t.Errorf("a file that is not there: exit %d, %q", code, errs)
	}
}

// holder is the environment of somebody who has a token.
func holder() map[string]string { return map[string]string{"VLLM_MEDIC_TOKEN": "token"} }

// asked is what the bot's API was asked for.
type asked struct {
	Method, Path string
	Body         map[string]any
}

// apiOf answers everything with one status and body, and keeps what was asked.
func apiOf(t *testing.T, status int, answer any) (url string, got *[]asked) {
	t.Helper()
	got = &[]asked{}
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := asked{Method: r.Method, Path: r.URL.Path}
		if err := json.NewDecoder(r.Body).Decode(&a.Body); err != nil && err != io.EOF {
			t.Error(err)
		}
		if r.Header.Get("Authorization") != "Bearer token" {
			t.Errorf("%s %s carries %q", r.Method, r.URL, r.Header.Get("Authorization"))
		}
		*got = append(*got, a)
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(bot.Close)
	return bot.URL, got
}

func TestDecisionsAndVerbsAskTheBot(t *testing.T) {
	t.Parallel()
	after := incident.New("inc-1", "llama", incident.ModeApprove, false, time.Unix(0, 0))
	for args, want := range map[string]asked{
		"approve inc-1 p1-s1 --digest d1 --confirm-restart": {
			"POST", "/api/v1/incidents/inc-1/decision",
			map[string]any{"step": "p1-s1", "digest": "d1", "decision": "approve", "reason": "", "confirmed": true},
		},
		"deny inc-1 p1-s1 --digest d1 --reason no": {
			"POST", "/api/v1/incidents/inc-1/decision",
			map[string]any{"step": "p1-s1", "digest": "d1", "decision": "deny", "reason": "no", "confirmed": false},
		},
		"deny inc-1 --digest d1": {
			"POST", "/api/v1/incidents/inc-1/decision",
			map[string]any{"step": "", "digest": "d1", "decision": "deny", "reason": "", "confirmed": false},
		},
		"deny inc-1 --digest d1 --snooze 90m": {
			"POST", "/api/v1/incidents/inc-1/decision", map[string]any{
				"step": "", "digest": "d1", "decision": "deny", "reason": "", "confirmed": false, "snooze": "1h30m0s",
			},
		},
		"keep inc-1 p1-s1 --reason enough": {
			"POST", "/api/v1/incidents/inc-1/keep",
			map[string]any{"step": "p1-s1", "reason": "enough"},
		},
		"ask inc-1 --reason back": {"POST", "/api/v1/incidents/inc-1/ask", map[string]any{"reason": "back"}},
		"undo inc-1 p1-s1": {
			"POST", "/api/v1/incidents/inc-1/undo",
			map[string]any{"step": "p1-s1", "reason": ""},
		},
		"ack inc-1":                   {"POST", "/api/v1/incidents/inc-1/ack", map[string]any{"reason": ""}},
		"abort inc-1 --reason enough": {"POST", "/api/v1/incidents/inc-1/abort", map[string]any{"reason": "enough"}},
		"close a/b --reason over":     {"POST", "/api/v1/incidents/a/b/close", map[string]any{"reason": "over"}},
	} {
		url, got := apiOf(t, http.StatusOK, after)
		c := call{
			args: append(append([]string{"incidents"}, strings.Fields(args)...), "--server", url),
			env:  holder(),
		}
		code, out, errs := c.run(t)
		if diff := cmp.Diff([]asked{want}, *got); code != exitDone || errs != "" || diff != "" {
			t.Errorf("%s: exit %d, %q, asked (-want +got):\n%s", args, code, errs, diff)
		}
		if !strings.Contains(out, "inc-1") || !strings.Contains(out, string(after.State)) {
			t.Errorf("%s: %q does not say where the incident is now", args, out)
		}
	}
}

func TestASnoozeThatCannotBeMeantIsWrongUsage(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"deny inc-1 p1-s1 --digest d1 --snooze 2h", "deny inc-1 --digest d1 --snooze 200h",
		"deny inc-1 --digest d1 --snooze -1h", "deny inc-1 --digest d1 --snooze tomorrow",
		"approve inc-1 p1-s1 --digest d1 --snooze 2h", "approve inc-1 --digest d1",
	} {
		url, got := apiOf(t, http.StatusOK, nil)
		c := call{args: append(append([]string{"incidents"}, strings.Fields(args)...), "--server", url), env: holder()}
		if code, _, errs := c.run(t); code != exitUsage || len(*got) != 0 || errs == "" {
			t.Errorf("%s: exit %d, asked %v, %q", args, code, *got, errs)
		}
	}
}

func TestPauseAndResumeSayWhatHolds(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_790_000_000, 0).UTC()
	held := []incident.Pause{{
		Pool: "llama", By: incident.Actor{Kind: "kubernetes", ID: "alice"}, Reason: "maintenance",
		At: at,
	}}
	waiting := []incident.Write{{Op: "apply", Incident: "inc-7", StartedAt: at}}
	for _, tt := range []struct {
		args   string
		answer pauseAnswer
		code   int
		path   string
		body   map[string]any
		want   []string
	}{
		{
			"pause --reason maintenance --pool llama",
			pauseAnswer{Pauses: held},
			exitDone, "/api/v1/pause",
			map[string]any{"pool": "llama", "reason": "maintenance"},
			[]string{"llama", "alice", "maintenance"},
		},
		// A write that began before is a finding: whoever pauses must know of it.
		{
			"pause --reason maintenance",
			pauseAnswer{Pauses: held, Waiting: waiting},
			exitFail, "/api/v1/pause",
			map[string]any{"pool": "", "reason": "maintenance"},
			[]string{"inc-7"},
		},
		{
			"resume --pool llama",
			pauseAnswer{},
			exitDone, "/api/v1/resume",
			map[string]any{"pool": "llama"},
			[]string{"Writes"},
		},
	} {
		url, got := apiOf(t, http.StatusOK, tt.answer)
		c := call{args: append(strings.Fields(tt.args), "--server", url), env: holder()}
		code, out, errs := c.run(t)
		if diff := cmp.Diff([]asked{{"POST", tt.path, tt.body}}, *got); code != tt.code || diff != "" {
			t.Errorf("%s: exit %d, asked (-want +got):\n%s", tt.args, code, diff)
		}
		for _, w := range tt.want {
			if !strings.Contains(out+errs, w) {
				t.Errorf("%s: %q %q lack %q", tt.args, out, errs, w)
			}
		}
	}
}

func TestWhatTheBotRefusesIsSaidInItsOwnWords(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		status int
		answer any
		want   string
	}{
		"forbidden":       {http.StatusForbidden, map[string]string{"error": "mallory may not"}, "mallory may not"},
		"unauthenticated": {http.StatusUnauthorized, map[string]string{"error": "unknown token"}, "kubectl create token"},
		"somebody else":   {http.StatusNotFound, "page not found", "404"},
		"another answer":  {http.StatusOK, "hello", "vllm-medic"},
	} {
		url, _ := apiOf(t, tt.status, tt.answer)
		c := call{args: []string{"incidents", "ack", "inc-1", "--server", url}, env: holder()}
		if code, out, errs := c.run(t); code != exitFail || out != "" || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exit %d, %q, %q; want exit 1 and %q", name, code, out, errs, tt.want)
		}
	}
	gone := httptest.NewServer(nil)
	gone.Close()
	code, _, errs := call{args: []string{"incidents", "ack", "inc-1", "--server", gone.URL}, env: holder()}.run(t)
	if code != exitFail || !strings.Contains(errs, gone.URL) || !strings.Contains(errs, "--server") {
		t.Errorf("a bot that is away: exit %d, %q", code, errs)
	}
}

func TestThePlaybooksTestsPassAndFail(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	files, err := filepath.Glob("../../playbooks/catalog/tests/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	junit := filepath.Join(t.TempDir(), "junit.xml")
	code, out, errs := call{args: []string{"test", files[0], "--junit", junit}}.run(t)
	if code != exitDone || out == "" {
		t.Errorf("%s: exit %d, %q, %q", files[0], code, out, errs)
	}
	if b, err := os.ReadFile(junit); err != nil || !strings.Contains(string(b), "<testcase") {
		t.Errorf("JUnit: %s, %v", b, err)
	}
	code, out, _ = call{args: []string{"test", files[0], "-o", "json"}}.run(t)
	if code != exitDone || !json.Valid([]byte(out)) {
		t.Errorf("as JSON: exit %d, %q", code, out)
	}
	code, _, errs = call{args: []string{"test", files[0], "--run", "no such test"}}.run(t)
	if code != exitUsage || !strings.Contains(errs, "no such test") {
		t.Errorf("a name that no test has: exit %d, %q", code, errs)
	}
	bad := filepath.Join(t.TempDir(), "bad.yaml")
	if err := os.WriteFile(bad, []byte("tests: 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs = call{args: []string{"test", bad}}.run(t)
	if code != exitFail || !strings.Contains(out+errs, "bad.yaml:1:") {
		t.Errorf("a file that holds no tests: exit %d, %q, %q", code, out, errs)
	}
}

func TestAPayloadThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "medic.yaml")
	if err := os.WriteFile(path, []byte(soundConfiguration), 0o600); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{"": "payload", "[]": "payload", `{"alerts":[]}`: "payload"} {
		c := call{args: []string{"diagnose", "--config", path, "--alert", "-"}, in: in}
		if code, out, errs := c.run(t); code != exitFail || out != "" || !strings.Contains(errs, want) {
			t.Errorf("%q: exit %d, %q, %q", in, code, out, errs)
		}
	}
}
