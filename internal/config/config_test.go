package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const sound = `listen: {api: "127.0.0.1:8080"}
store: {url: "sqlite:///tmp/medic.db"}
prometheus: {url: "http://prometheus:9090"}
kubernetes: {}
mode: approve
pools:
  - name: llama
    match: {model_name: llama}
    matchers: {model_name: llama}
    workload: {apiVersion: apps/v1, kind: Deployment, namespace: llm, name: llama, container: vllm}
    knobs:
      replicas: {min: 2, max: 8}
      throttle: {kind: envoy-gateway, namespace: llm, name: llama, field: maxParallelRequests, min: 16, max: 1024}
`

type profiles []string

func (p profiles) ProfileNames() []string { return p }

func (p profiles) Profile(name string) (incident.SLO, bool) {
	return incident.SLO{Profile: name, TTFT: 0.5, TPOT: 0.05}, slices.Contains(p, name)
}

func opts(change func(*Options)) Options {
	o := Options{
		Getenv: func(k string) (string, bool) {
			v, ok := map[string]string{
				"TOKEN": "s3cr3t-value-of-tests", "SHORT": "s3cr3t-value", "EMPTY": " ",
				"XAPP": "xapp-s3cr3t-value", "XOXB": "xoxb-s3cr3t-value",
			}[k]
			return v, ok
		},
		Profiles: profiles{"batch", "chat"},
	}
	if change != nil {
		change(&o)
	}
	return o
}

func TestASoundConfiguration(t *testing.T) {
	t.Parallel()
	c, err := Parse("medic.yaml", []byte(sound), opts(nil))
	if err != nil {
		t.Fatal(err)
	}
	p := c.Pools[0]
	if p.Mode != incident.ModeApprove || p.SLO.TTFT != 0.5 || p.Knobs.Throttle.RevertAfter != 0 ||
		p.Knobs.Has(incident.StepMaxNumBatchedTokens) {
		t.Errorf("%+v", p)
	}
	if a := p.ApproversFor(incident.StepReplicas); len(a.Users)+len(a.Groups) != 0 {
		t.Error("an empty list of approvers is not nobody")
	}
}

func TestWhatTheTokensAreByDefaultIsOptional(t *testing.T) {
	t.Parallel()
	for setting, want := range map[string]incident.ArgumentKnob{
		"{min: 2048, max: 16384}":                               {Min: 2048, Max: 16384},
		"{min: 2048, max: 16384, max_step: 4096, default: 512}": {Min: 2048, Max: 16384, MaxStep: 4096, Default: 512},
		"{min: 2048, max: 16384, chunked_prefill: true}":        {Min: 2048, Max: 16384, ChunkedPrefill: new(true)},
		"{min: 2048, max: 16384, chunked_prefill: false}":       {Min: 2048, Max: 16384, ChunkedPrefill: new(false)},
	} {
		c, err := Parse("medic.yaml", []byte(strings.Replace(sound, "replicas: {min: 2, max: 8}",
			"max_num_batched_tokens: "+setting, 1)), opts(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, c.Pools[0].Knobs.Argument(incident.StepMaxNumBatchedTokens)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", setting, diff)
		}
	}
}

func TestTheDefaultModeIsDryRunAndWithoutAClusterNothingIsChanged(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, old, with string
		dry             bool
		want            incident.Mode
	}{
		{"no mode", "mode: approve\n", "", false, incident.ModeDryRun},
		{"approve", "", "", false, incident.ModeApprove},
		{"dry run", "", "", true, incident.ModeDryRun},
		{"dry run without kubernetes", "kubernetes: {}\n", "", true, incident.ModeDryRun},
		{"a pool is more careful", "  - name: llama\n", "  - name: llama\n    mode: observe\n", false, incident.ModeObserve},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)),
				opts(func(o *Options) { o.DryRun = tc.dry }))
			if err != nil {
				t.Fatal(err)
			}
			if got := c.Pools[0].Mode; got != tc.want {
				t.Errorf("mode %s, want %s", got, tc.want)
			}
		})
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, old, with, want string }{
		{"unknown field", "mode: approve", "mod: approve", "medic.yaml:5:1: "},
		{"duplicate key", "mode: approve", "mode: approve\nmode: dry-run", "medic.yaml:6"},
		{"second document", "mode: approve", "mode: approve\n---\nmode: dry-run", "medic.yaml:"},
		{"unknown mode", "mode: approve", "mode: yolo", `medic.yaml:5:1: mode: "yolo" is not a mode`},
		{"no prometheus", `prometheus: {url: "http://prometheus:9090"}`, "prometheus: {}", "prometheus.url: is required"},
		{"password in a URL", "http://prometheus:9090", "http://u:s3cr3t-value@prometheus:9090", "must not hold a password"},
		{
			"password in the store", "sqlite:///tmp/medic.db", "postgres://u:s3cr3t-value@h/db",
			"store.url: must not hold a password",
		},
		{"open webhook", `listen: {api: "127.0.0.1:8080"}`, `listen: {api: ":8080"}`, "alertmanager.auth: is required"},
		{"bounds", "{min: 2, max: 8}", "{min: 9, max: 8}", "medic.yaml:12:26: pools[0].knobs.replicas.max: 8 is below min 9"},
		{"no upper bound", "{min: 2, max: 8}", "{min: 2}", "pools[0].knobs.replicas.max: is required: the most that the bot"},
		{"floor", "{min: 2, max: 8}", "{min: 0, max: 8}", "pools[0].knobs.replicas.min: must be at least 1"},
		{
			"a default that is nothing", "replicas: {min: 2, max: 8}",
			"max_num_batched_tokens: {min: 2048, max: 8192, default: 0}",
			"pools[0].knobs.max_num_batched_tokens.default: 0 is not between 256 and 1048576",
		},
		{
			"a negative default", "replicas: {min: 2, max: 8}", "max_num_batched_tokens: {min: 2048, max: 8192, default: -8192}",
			"default: -8192 is not between",
		},
		{
			"8 for 8k", "replicas: {min: 2, max: 8}", "max_num_batched_tokens: {min: 2048, max: 8192, default: 8}",
			"default: 8 is not between",
		},
		{
			"a default too big", "replicas: {min: 2, max: 8}",
			"max_num_batched_tokens: {min: 2048, max: 8192, default: 8192000}", "default: 8192000 is not between",
		},
		{
			"bounds of the tokens", "replicas: {min: 2, max: 8}", "max_num_batched_tokens: {min: 2048, max: 1024}",
			"max_num_batched_tokens.max: 1024 is below min 2048",
		},
		{
			"a largest step of the tokens", "replicas: {min: 2, max: 8}",
			"max_num_batched_tokens: {min: 1, max: 2, max_step: -1}", "max_num_batched_tokens.max_step: must not be",
		},
		{
			"a default of replicas", "{min: 2, max: 8}", "{min: 2, max: 8, default: 2}",
			`unknown field "default"; known: min, max, max_step`,
		},
		{"throttle kind", "kind: envoy-gateway", "kind: nginx", `"nginx" is not known`},
		{"throttle field", "field: maxParallelRequests", "field: rps", `"rps" is not maxParallelRequests or requests`},
		{"no matchers", "    matchers: {model_name: llama}\n", "", "pools[0].matchers: is required"},
		{"empty matcher", "matchers: {model_name: llama}", `matchers: {model_name: ""}`, "must not be empty"},
		{
			"two pools of one name", "pools:", "pools:\n  - {name: llama, match: {a: b}, matchers: {a: b}}",
			"(also pools[0])",
		},
		{
			"two pools that match alike", "pools:", "pools:\n  - {name: other, match: {namespace: x}, matchers: {a: b}}",
			"ambiguous with pools[0]",
		},
		{
			"one workload in two pools, as two containers", "pools:",
			"pools:\n  - {name: other, match: {a: b}, matchers: {a: b}, workload: {apiVersion: apps/v1, kind: Deployment, " +
				"namespace: llm, name: llama, container: side}}",
			"duplicate workload Deployment llm/llama (also pools[0])",
		},
		{
			"one throttle in two pools", "pools:",
			"pools:\n  - {name: other, match: {a: b}, matchers: {a: b}, knobs: {throttle: {kind: envoy-gateway, namespace: " +
				"llm, name: llama, field: requests, min: 1, max: 9}}}",
			"duplicate throttle llm/llama (also pools[0], other)",
		},
		{
			"socket mode", "mode: approve",
			"mode: approve\nslack: {mode: socket, channel: C1, team: T1, app_id: A1, token_env: TOKEN}",
			"slack.app_token_env: is required",
		},
		{
			"what HTTP needs, without a mode", "mode: approve",
			"mode: approve\nslack: {channel: C1, team: T1, app_id: A1, token_env: TOKEN, signing_secret_env: TOKEN}",
			"slack.mode: is socket unless set, which needs app_token_env; signing_secret is for mode: http",
		},
		{
			"http without its secret", "mode: approve",
			"mode: approve\nslack: {mode: http, channel: C1, team: T1, app_id: A1, token_env: TOKEN, app_token_env: TOKEN}",
			"slack.signing_secret_env: is required",
		},
		{
			"tokens in each other's place", "mode: approve",
			"mode: approve\nslack: {channel: C1, team: T1, app_id: A1, token_env: XAPP, app_token_env: TOKEN}",
			"slack.token_env: holds a token of another kind (xapp-...), which belongs in slack.app_token_env",
		},
		{
			"the bot token as app token", "mode: approve",
			"mode: approve\nslack: {channel: C1, team: T1, app_id: A1, token_env: TOKEN, app_token_env: XOXB}",
			"slack.app_token_env: holds a token of another kind (xoxb-...), which belongs in slack.token_env",
		},
		{
			"another transport", "mode: approve",
			"mode: approve\nslack: {mode: rtm, channel: C1, team: T1, app_id: A1, token_env: TOKEN, app_token_env: TOKEN}",
			`slack.mode: "rtm" is not http or socket`,
		},
		{
			"no token", "mode: approve",
			"mode: approve\nslack: {mode: http, channel: C1, team: T1, app_id: A1, signing_secret_env: TOKEN}",
			"slack.token_env: is required",
		},
		{"variable not set", "mode: approve", "mode: approve\naccess: {viewer_token_env: NOPE}", "NOPE is unset or empty"},
		{"empty variable", "mode: approve", "mode: approve\naccess: {viewer_token_env: EMPTY}", "EMPTY is unset or empty"},
		{"file missing", "mode: approve", "mode: approve\naccess: {viewer_token_file: /no/such}", "cannot be read"},
		{
			"duration without a unit", "mode: approve", "mode: approve\ntiming: {settle: 30}",
			`"30" has no unit; write 30ms for milliseconds, 30s for seconds`,
		},
		{"negative timing", "mode: approve", "mode: approve\ntiming: {settle: -1s}", `medic.yaml:6:18: "-1s" is negative`},
		{"profile", "    knobs:", "    slo: fast\n    knobs:", `unknown profile "fast"; known: batch, chat`},
		{
			"more approvals than people", "mode: approve", "mode: approve\napprovers: {default: {users: [U1], count: 2}}",
			"requires 2 approvals, and users lists 1",
		},
		{"approvers of nothing", "mode: approve", "mode: approve\napprovers: {reboot: {users: [U1]}}", "approvers.reboot"},
		{
			"automatic restart", "mode: approve", "mode: auto\npolicy: {automatic: [max_num_batched_tokens]}",
			"always needs approval",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(sound, tc.old) {
				t.Fatalf("the sound configuration has no %q", tc.old)
			}
			_, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)), opts(nil))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %q in it", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "s3cr3t-value") {
				t.Errorf("a secret shows: %v", err)
			}
		})
	}
}

// The keys of the configuration are one level down there, and each would be unknown.
func TestValuesOfTheChartAreToldFromAConfiguration(t *testing.T) {
	t.Parallel()
	const values = "config:\n  mode: approve\n  store: {url: sqlite://medic.db}\n"
	const want = "values.yaml:1:1: config: this file has values for the Helm chart"
	_, err := Parse("values.yaml", []byte(values), Options{})
	if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one problem, %q", err, want)
	}
	if !strings.Contains(err.Error(), "--values values.yaml") {
		t.Errorf("got %v, want the command for this file", err)
	}
}

func TestAllMistakesComeAtOnceInTheOrderOfTheFile(t *testing.T) {
	t.Parallel()
	bad := strings.NewReplacer("mode: approve", "mode: yolo", "kind: envoy-gateway", "kind: nginx", "{min: 2, max: 8}",
		"{min: 9, max: 8}").Replace(sound)
	_, err := Parse("medic.yaml", []byte(bad), opts(nil))
	if err == nil {
		t.Fatal("accepted")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], "yolo") || !strings.Contains(lines[1],
		"replicas") || !strings.Contains(lines[2], "nginx") {
		t.Errorf("got %q", lines)
	}
}

// Somebody who wants to see the incidents at night must not be stopped by a mistake in a pool or by a secret that only
// the bot has.
func TestStoreURLNeedsNothingButTheStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "medic.yaml")
	for _, tc := range []struct{ name, text, want, fails string }{
		{
			"mistakes elsewhere", "store: {url: 'sqlite:///x/y.db'}\nslack: {token_env: NOPE}\nmode: yolo\nnonsense: 1\n",
			"sqlite:///x/y.db", "",
		},
		{"the default", "mode: dry-run\n", "sqlite:///var/lib/vllm-medic/medic.db", ""},
		{"an unknown kind", "store: {url: 'mysql://h/db'}\n", "", "medic.yaml:1:9: store.url: must begin with"},
		{"a variable that is not set", "store: {url_env: NOPE}\n", "", "NOPE is unset or empty"},
		{"no YAML", "store: {url\n", "", "medic.yaml:"},
	} {
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := StoreURL(path, opts(nil))
		switch {
		case tc.fails == "" && (err != nil || got != tc.want):
			t.Errorf("%s: got %q and %v, want %q", tc.name, got, err, tc.want)
		case tc.fails != "" && (err == nil || !strings.Contains(err.Error(), tc.fails)):
			t.Errorf("%s: got %v, want %q in it", tc.name, err, tc.fails)
		}
	}
}

// Credentials for the whole cluster open nothing unless somebody says so.
func TestPeoplesOwnCredentialsAreAcceptedOnlyWhenConfigured(t *testing.T) {
	t.Parallel()
	for with, want := range map[string]Access{
		"{}":                          {},
		"{cluster_tokens: true}":      {ClusterTokens: true},
		"{client_certificates: true}": {ClientCertificates: true},
		"{client_certificates: true, client_ca_file: /ca}": {ClientCertificates: true, ClientCAFile: "/ca"},
	} {
		text := strings.Replace(sound, `{api: "127.0.0.1:8080"}`, `{tls: {api: {cert_file: a, key_file: b}}}`, 1) +
			"access: " + with + "\nalertmanager: {auth: {bearer_token_env: TOKEN}}\n"
		cfg, err := Parse("medic.yaml", []byte(text), opts(nil))
		want.Audience, want.SlackUsers = "vllm-medic", map[string]KubernetesUser{}
		if err != nil {
			t.Errorf("%s: %v", with, err)
		}
		if diff := cmp.Diff(want, cfg.Access); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", with, diff)
		}
	}
}

func TestSecretsAreReadAndHidden(t *testing.T) {
	t.Parallel()
	c, err := Parse("medic.yaml", []byte(strings.Replace(sound, "mode: approve",
		"mode: approve\naccess: {viewer_token_env: TOKEN}", 1)), opts(nil))
	if err != nil {
		t.Fatal(err)
	}
	if c.Access.ViewerToken.Reveal() != "s3cr3t-value-of-tests" {
		t.Error("the secret was not read")
	}
	for _, f := range []string{"%v", "%+v", "%#v", "%s"} {
		if out := fmt.Sprintf(f, c); strings.Contains(out, "s3cr3t-value") {
			t.Errorf("%s shows the secret", f)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sound)
	f.Add("pools: [{name: x, slo: {ttft: 3s}}]")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := Parse("medic.yaml", []byte(text), opts(nil))
		if err != nil {
			return
		}
		for _, p := range c.Pools {
			if p.Name == "" || len(p.Matchers) == 0 {
				t.Fatalf("a pool without name or matchers was accepted: %+v", p)
			}
		}
	})
}
