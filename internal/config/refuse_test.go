package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const slackSection = "slack: {mode: http, channel: %s, team: T0123, app_id: A0123, token_env: TOKEN, " +
	"signing_secret_env: TOKEN}\n"

// Each of these was accepted, or lowered to something harmless without a word.
func TestWhatCannotWorkIsRefusedWithAWayOut(t *testing.T) {
	t.Parallel()
	workload := func(apiVersion, kind string) string {
		return fmt.Sprintf("workload: {apiVersion: %s, kind: %s, namespace: llm, name: llama, container: vllm}", apiVersion,
			kind)
	}
	have := workload("apps/v1", "Deployment")
	for _, tc := range []struct{ name, old, with, want string }{
		{
			"a channel by its name", "mode: approve\n", "mode: approve\n" + fmt.Sprintf(slackSection, `"#incidents"`),
			`medic.yaml:6:21: slack.channel: "#incidents" is not the id of a channel, ` +
				`such as C0123456789; in Slack open the channel, click its name: the id is at the end of About`,
		},
		{
			"a channel without #", "mode: approve\n", "mode: approve\n" + fmt.Sprintf(slackSection, "CHATOPS"),
			`slack.channel: "CHATOPS" is not the id`,
		},
		{
			"a pool's channel", "  - name: llama\n", "  - name: llama\n    channel: incidents\n",
			`medic.yaml:8:5: pools[0].channel: "incidents" is not the id of a channel`,
		},
		{"a team by its name", "mode: approve\n", "mode: approve\n" + strings.Replace(fmt.Sprintf(slackSection, "C1"),
			"T0123", "acme", 1), `slack.team: "acme" is not the id of a workspace, such as T0123456789`},
		{"an app by its name", "mode: approve\n", "mode: approve\n" + strings.Replace(fmt.Sprintf(slackSection, "C1"),
			"A0123", "medic", 1), `slack.app_id: "medic" is not the id of an app`},
		{
			"a token as a channel", "mode: approve\n", "mode: approve\n" + fmt.Sprintf(slackSection, "xoxb-s3cr3t"),
			"slack.channel: is a token, which must not be in this file",
		},
		{
			"a user by a name", "mode: approve\n", "mode: approve\napprovers: {default: {users: [U0123, alice]}}\n",
			`medic.yaml:6:38: approvers.default.users[1]: "alice" is not the id of a user, ` +
				`such as U0123456789; in Slack open the person's profile`,
		},
		{
			"an autoscaler of no kind", "  - name: llama\n",
			"  - name: llama\n    autoscaler: {kind: HPA, name: llama}\n", `pools[0].autoscaler.kind: unknown kind "HPA"`,
		},
		{
			"an autoscaler of no name", "  - name: llama\n",
			"  - name: llama\n    autoscaler: {kind: ScaledObject, name: \"\"}\n", "pools[0].autoscaler.name: is required",
		},
		{
			"a reminder after the end", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], expire: 10m, remind: 10m}}\n",
			"approvers.default.remind: 10 min before the end of a request that is open for 10 min is too early",
		},
		{
			"four eyes of one person", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], four_eyes: true}}\n",
			"approvers.default.four_eyes: requires two people, and users lists 1",
		},
		{
			"an escalation after the end", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], escalate: [{after: 30m, users: [U02]}]}}\n",
			"approvers.default.escalate[0].after: 30 min is not before the request expires, after 30 min",
		},
		{
			"an escalation after the end of timing", "mode: approve\n", "mode: approve\ntiming: {expire: 5m}\n" +
				"approvers: {default: {users: [U01], escalate: [{after: 6m, users: [U02]}]}}\n",
			"approvers.default.escalate[0].after: 6 min is not before the request expires, after 5 min",
		},
		{
			"an escalation after the end of another kind's request", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], expire: 30m, escalate: [{after: 10m, users: [U02]}]}, " +
				"replicas: {users: [U01], expire: 10m}}\n",
			"approvers.default.escalate[0].after: 10 min is not before the request expires, after 10 min",
		},
		{
			"an escalation after the end of a request without approvers", "mode: approve\n",
			"mode: approve\ntiming: {expire: 5m}\napprovers: {replicas: {users: [U01], expire: 30m, " +
				"escalate: [{after: 6m, users: [U02]}]}}\n",
			"approvers.replicas.escalate[0].after: 6 min is not before the request expires, after 5 min",
		},
		{
			"an escalation at once", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], escalate: [{after: 0s, users: [U02]}]}}\n",
			"approvers.default.escalate[0].after: must be above 0s",
		},
		{
			"escalations in the wrong order", "mode: approve\n", "mode: approve\napprovers: {default: {users: [U01], " +
				"escalate: [{after: 9m, users: [U02]}, {after: 9m, users: [U03]}]}}\n",
			"approvers.default.escalate[1].after: must be later than the one before it",
		},
		{
			"an escalation to nobody", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], escalate: [{after: 9m}]}}\n",
			"approvers.default.escalate[0]: needs users or groups",
		},
		{
			"an escalation from nobody", "mode: approve\n",
			"mode: approve\napprovers: {default: {escalate: [{after: 9m, users: [U02]}]}}\n",
			"approvers.default.escalate: needs users or groups that are asked first",
		},
		{
			"an escalation to a name", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], escalate: [{after: 9m, users: [bob], groups: [U02]}]}}\n",
			`approvers.default.escalate[0].users[0]: "bob" is not the id of a user`,
		},
		{
			"an escalation to a user among the groups", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01], escalate: [{after: 9m, groups: [U02]}]}}\n",
			`approvers.default.escalate[0].groups[0]: "U02" is the id of a user, not of a user group; put it in users`,
		},
		{
			"a user by mention", "mode: approve\n", "mode: approve\napprovers: {default: {users: ['@alice']}}\n",
			`"@alice" is not the id of a user`,
		},
		{
			"an empty user", "mode: approve\n", "mode: approve\napprovers: {default: {users: ['']}}\n",
			`approvers.default.users[0]: is empty`,
		},
		{
			"a group among the users", "mode: approve\n", "mode: approve\napprovers: {default: {users: [S0123]}}\n",
			`"S0123" is the id of a user group, not of a user; put it in groups`,
		},
		{
			"a user among the groups", "mode: approve\n", "mode: approve\napprovers: {default: {groups: [U0123]}}\n",
			`"U0123" is the id of a user, not of a user group; put it in users`,
		},
		{
			"a group by its name", "    knobs:\n", "    approvers: {replicas: {groups: [sre]}}\n    knobs:\n",
			`pools[0].approvers.replicas.groups[0]: "sre" is not the id of a user group, such as S0123456789`,
		},
		{
			"a misspelled kind", have, workload("apps/v1", "Deploymet"),
			`medic.yaml:10:37: pools[0].workload.kind: there is no Deploymet in apps/v1; did you mean "Deployment"?`,
		},
		{"a small letter", have, workload("apps/v1", "deployment"), `did you mean "Deployment"?`},
		{
			"a kind of another group", have, workload("v1", "Deployment"),
			`pools[0].workload.apiVersion: Deployment is in apps/v1, not in v1`,
		},
		{
			"a version of long ago", have, workload("apps/v1beta1", "Deployment"),
			`Deployment is served as apps/v1 today, not as apps/v1beta1`,
		},
		{
			"a group that cannot be", have, workload("app/v1", "Workload"),
			`"app" is not an API group of Kubernetes, and others have a dot in their name; did you mean apps?`,
		},
		{
			"a kind that runs nothing", have, workload("apps/v1", "Service"),
			`there is no Service in apps/v1 that runs pods; there are Deployment, StatefulSet, DaemonSet, ReplicaSet`,
		},
		{
			"a misspelled kind of another group", have, workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerset"),
			`did you mean "LeaderWorkerSet"?`,
		},
		{
			"the API's address", "http://prometheus:9090", "http://prometheus:9090/api/v1",
			`medic.yaml:3:14: prometheus.url: ends in /api/v1, which is added automatically; write http://prometheus:9090`,
		},
		{
			"a call's address", "http://prometheus:9090", "http://mimir/prometheus/api/v1/query",
			`write http://mimir/prometheus`,
		},
		{
			"a page's address", "http://prometheus:9090", "http://prometheus:9090/graph?g0.expr=up",
			`prometheus.url: ends in /graph`,
		},
		{
			"a call below a path", "http://prometheus:9090",
			"http://gateway/api/v1/namespaces/mon/services/prom:9090/proxy/api/v1/query_range",
			`ends in /api/v1, which is added automatically; write http://gateway/api/v1/namespaces/mon/services/prom:9090/proxy`,
		},
		{
			"a page below a path", "http://prometheus:9090", "http://gateway/query/graph",
			`ends in /graph, which is added automatically; write http://gateway/query`,
		},
		{
			"one port twice", `listen: {api: "127.0.0.1:8080"}`, `listen: {api: "127.0.0.1:8080", ops: ":8080"}`,
			`medic.yaml:1:33: listen.ops: :8080 is the address of listen.api (127.0.0.1:8080) too; each listener needs its own`,
		},
		{
			"the default port of another", `listen: {api: "127.0.0.1:8080"}`, `listen: {api: "127.0.0.1:8081"}`,
			`listen.ops: the default :8081 is the address of listen.api (127.0.0.1:8081) too`,
		},
		{
			"no such port", `listen: {api: "127.0.0.1:8080"}`, `listen: {api: "127.0.0.1:80801"}`,
			`listen.api: "127.0.0.1:80801" has no port from 0 to 65535`,
		},
		{
			"a drill that nobody could answer", "kubernetes: {}\nmode: approve\n",
			"mode: observe\ndrills: [{scenario: queue, pool: llama, schedule: 0 10 * * 2}]\n",
			"drills[0].pool: llama is in mode observe, in which nobody is asked to decide",
		},
		{
			"the old name of dry-run", "mode: approve", "mode: drill",
			`medic.yaml:5:1: mode: "drill" is the old name; use dry-run`,
		},
		{
			"approve without a cluster", "kubernetes: {}\n", "",
			"medic.yaml:4:1: mode: approve changes objects in Kubernetes, so it needs the section kubernetes (kubernetes: {} " +
				"is the cluster that the bot runs in); without one use dry-run or observe",
		},
		{
			"auto in a pool without a cluster", "kubernetes: {}\nmode: approve\npools:\n  - name: llama\n",
			"pools:\n  - name: llama\n    mode: auto\n", "medic.yaml:6:5: pools[0].mode: auto changes objects",
		},
		{
			"tokens of no cluster", "kubernetes: {}\nmode: approve\n", "mode: dry-run\naccess: {cluster_tokens: true}\n",
			"access.cluster_tokens: needs the section kubernetes: tokens are checked there",
		},
		{
			"certificates without TLS", "mode: approve\n", "mode: approve\naccess: {client_certificates: true}\n",
			"access.client_certificates: needs listen.tls.api: a client certificate is part of a TLS connection",
		},
		{
			"certificates of no cluster", "kubernetes: {}\nmode: approve\n",
			"mode: dry-run\naccess: {client_certificates: true}\n",
			"access.client_certificates: needs the section kubernetes: permissions are checked there",
		},
		{
			"certificates of two kinds", `listen: {api: "127.0.0.1:8080"}`,
			"access: {client_certificates: true}\nlisten: {tls: {api: {cert_file: a, key_file: b, client_ca_file: c}}}",
			"access.client_certificates: can't be combined with listen.tls.api.client_ca_file",
		},
		{
			"an authority of nothing", "mode: approve\n", "mode: approve\naccess: {client_ca_file: c}\n",
			"access.client_ca_file: needs access.client_certificates: true",
		},
		{
			"a context of nothing", "kubernetes: {}", "kubernetes: {context: prod}",
			"kubernetes.context: needs kubernetes.kubeconfig",
		},
		{"an empty file", sound, "", "medic.yaml:1:1: the file is empty"},
		{"an empty document", sound, "---\n# nothing yet\n", "medic.yaml:1:1: the file is empty"},
		{"a list", sound, "- prometheus\n", "medic.yaml:1:1: the file must be a mapping, not a list"},
		{
			"a tab", "  - name: llama\n", "\t- name: llama\n",
			"medic.yaml:7:1: there is a tab; YAML is indented with spaces only",
		},
		{
			"pools as a mapping", "pools:\n  - name: llama\n", "pools:\n    name: llama\n",
			`medic.yaml:7:5: expected a list (its items begin with "- "), got a mapping`,
		},
		{
			"a wrong key", "    knobs:\n", "    knbos:\n",
			`medic.yaml:11:5: unknown field "knbos"; did you mean "knobs"?`,
		},
		{
			"milliseconds without a unit", "    knobs:\n", "    slo: {ttft: 2500}\n    knobs:\n",
			`medic.yaml:11:17: "2500" has no unit; write 2500ms for milliseconds, 2500s for seconds`,
		},
		{
			"milliseconds with a space", "    knobs:\n", "    slo: {ttft: 2500 ms}\n    knobs:\n",
			`"2500 ms" is not a duration; write 2500ms, without a space`,
		},
		{
			"days in words", "mode: approve\n", "mode: approve\ntiming: {stale: 2 days}\n",
			`"2 days" is not a duration; write 2d`,
		},
		{
			"a time to reopen beyond what is looked for", "mode: approve\n", "mode: approve\ntiming: {reopen: 169h}\n",
			`timing.reopen: 169h0m0s is too long; at most 168h0m0s`,
		},
		{
			"a section that is none", `prometheus: {url: "http://prometheus:9090"}`, "prometheus: http://prometheus:9090",
			"medic.yaml:3:13: expected a mapping, got a single value",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(sound, tc.old) {
				t.Fatalf("%q is not in the sound configuration", tc.old)
			}
			_, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)), opts(nil))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v\nwant %q in it", err, tc.want)
			}
			if tc.name == "a section that is none" && err != nil && strings.Contains(err.Error(), "is required") {
				t.Errorf("what cannot be read is not missing: %v", err)
			}
			if err != nil && (strings.Contains(err.Error(), "config.f") || strings.Contains(err.Error(), "config.p")) {
				t.Errorf("a Go type leaks: %v", err)
			}
		})
	}
}

// What looks odd and can work stays allowed.
func TestWhatCanWorkIsAccepted(t *testing.T) {
	t.Parallel()
	have := "apiVersion: apps/v1, kind: Deployment"
	for _, tc := range []struct{ name, old, with string }{
		{"a kind that nobody here has heard of", have, "apiVersion: serving.example.com/v1alpha1, kind: Deploymet"},
		{"another kind of a known group", have, "apiVersion: ray.io/v1, kind: RayBeam"},
		{"a stateful set", have, "apiVersion: apps/v1, kind: StatefulSet"},
		{"a pod", have, "apiVersion: v1, kind: Pod"},
		{"a Prometheus below a path", "http://prometheus:9090", "http://mimir/prometheus"},
		{"a path that only looks like the API's", "http://prometheus:9090", "http://gateway/api/v1beta/prom"},
		{
			"a Prometheus behind the API server's proxy", "http://prometheus:9090",
			"http://127.0.0.1:8001/api/v1/namespaces/monitoring/services/prometheus:9090/proxy",
		},
		{"a Prometheus below a path that is a page elsewhere", "http://prometheus:9090", "http://gateway/query/team-a"},
		{
			"one port on two hosts", `listen: {api: "127.0.0.1:8080"}`,
			`listen: {api: "127.0.0.1:8080", ops: "127.0.0.2:8080"}`,
		},
		{"free ports", `listen: {api: "127.0.0.1:8080"}`, `listen: {api: "127.0.0.1:0", ops: "127.0.0.1:0"}`},
		{"a listener that is not bound without Slack", `listen: {api: "127.0.0.1:8080"}`, `listen: {api: "127.0.0.1:8082"}`},
		{
			"ids of Slack", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [U01AB23CD, W012], groups: [S0AB1]}}\n" + fmt.Sprintf(slackSection,
				"G012AB"),
		},
		{
			"ids of Slack from before each had a digit", "mode: approve\n",
			"mode: approve\napprovers: {default: {users: [UHJSVUTBM], groups: [SHJSVUTBM]}}\n" + fmt.Sprintf(slackSection,
				"CHJSVUTBM"),
		},
		{"dry run without a cluster", "kubernetes: {}\nmode: approve\n", "mode: dry-run\n"},
		{"observe without a cluster", "kubernetes: {}\nmode: approve\n", "mode: observe\n"},
		{"milliseconds", "    knobs:\n", "    slo: {ttft: 2500ms}\n    knobs:\n"},
		{"a fraction", "    knobs:\n", "    slo: {ttft: 2.5s}\n    knobs:\n"},
		{"days", "mode: approve\n", "mode: approve\ntiming: {stale: 2d, hold: 1h30m}\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if !strings.Contains(sound, tc.old) {
				t.Fatalf("%q is not in the sound configuration", tc.old)
			}
			if _, err := Parse("medic.yaml", []byte(strings.Replace(sound, tc.old, tc.with, 1)), opts(nil)); err != nil {
				t.Error(err)
			}
		})
	}
}

// With Slack its listener is bound too.
func TestTheListenerForSlackCountsWhereSlackIsConfigured(t *testing.T) {
	t.Parallel()
	text := strings.Replace(sound, `listen: {api: "127.0.0.1:8080"}`, `listen: {api: "127.0.0.1:8082"}`,
		1) + fmt.Sprintf(slackSection, "C0123")
	if _, err := Parse("medic.yaml", []byte(text), opts(nil)); err == nil || !strings.Contains(err.Error(),
		"listen.slack: the default :8082 is the address of listen.api") {
		t.Errorf("got %v", err)
	}
}

func TestAKubeconfigIsAskedForWhereItIsAtHand(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	name := filepath.Join(dir, "medic.yaml")
	text := strings.Replace(sound, "kubernetes: {}", "kubernetes: {kubeconfig: my.kubeconfig, context: prod}", 1)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := func(path, context string) error {
		if path != filepath.Join(dir, "my.kubeconfig") || context != "prod" {
			t.Errorf("asked for %s, %s", path, context)
		}
		return errors.New("does not exist")
	}
	if _, err := Load(name, opts(func(o *Options) { o.Kubeconfig = asked })); err == nil || !strings.Contains(err.Error(),
		":4:14: kubernetes.kubeconfig: does not exist") {
		t.Errorf("got %v", err)
	}
	for name, change := range map[string]func(*Options){
		"offline": func(o *Options) { o.Offline = true }, "Prometheus only": func(o *Options) { o.PrometheusOnly = true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("medic.yaml", []byte(text), opts(func(o *Options) {
				o.Kubeconfig = func(string, string) error { return errors.New("it was asked for") }
				change(o)
			}))
			if err != nil {
				t.Error(err)
			}
		})
	}
}
