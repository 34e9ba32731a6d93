package chart

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/vllm-medic/vllm-medic/test/helm"
)

const folder = "../../deploy/helm/vllm-medic"

// rendered are the objects of a release, with these values.
func rendered(t *testing.T, namespace, values string) []unstructured.Unstructured {
	t.Helper()
	return objects(t, helm.Render(t, folder, namespace, values))
}

func objects(t *testing.T, text []byte) []unstructured.Unstructured {
	t.Helper()
	var out []unstructured.Unstructured
	for docs := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		var o unstructured.Unstructured
		err := docs.Decode(&o)
		if errors.Is(err, io.EOF) {
			return out
		}
		must(t, err)
		if len(o.Object) > 0 {
			out = append(out, o)
		}
	}
}

// podOf is the Deployment of a release.
func podOf(t *testing.T, all []unstructured.Unstructured) (d appsv1.Deployment) {
	t.Helper()
	of := ofKind(all, "Deployment")
	if len(of) != 1 {
		t.Fatalf("%d Deployments, want 1", len(of))
	}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(of[0].Object, &d))
	return d
}

func ofKind(all []unstructured.Unstructured, kind string) []unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(all), func(o unstructured.Unstructured) bool { return o.GetKind() != kind })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestHelmFindsNothingToMend(t *testing.T) {
	t.Parallel()
	out, errs, err := helm.Run(t, "lint", "--strict", folder)
	if err != nil || strings.Contains(out, "[WARNING]") || strings.Contains(out, "[ERROR]") {
		t.Errorf("helm lint: %v\n%s%s", err, out, errs)
	}
}

// What cannot work is refused before anything is installed, with the next step.
func TestValuesThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	const pool = `
config:
  pools:
    - name: x
      match: {a: b}
      matchers: {a: b}
      workload: {apiVersion: example.org/v1, kind: EngineSet, namespace: llm, name: x}
`
	for name, tt := range map[string]struct{ values, want string }{
		"two processes on SQLite":            {"replicas: 2", "SQLite is for one process"},
		"a misspelled value":                 {"repliacs: 2", "additional properties 'repliacs' not allowed"},
		"a misspelled setting":               {"config: {mdoe: auto}", "additional properties 'mdoe' not allowed"},
		"a misspelled setting of a pool":     {"config: {pools: [{nam: x}]}", "additional properties 'nam' not allowed"},
		"an unknown mode":                    {"config: {mode: yolo}", "at '/config/mode'"},
		"a secret in place of its key":       {"secret: {keys: {SLACK_BOT_TOKEN: {value: xoxb-1}}}", "want string"},
		"a volume that several may write to": {"persistence: {accessModes: [ReadWriteMany]}", "/persistence/accessModes/0"},
		"a kind without a known resource":    {pool, "set rbac.kinds, such as {EngineSet.example.org: enginesets}"},
		"rights for what can't be read": {
			"existingConfigMap: mine", "apply what vllm-medic rbac --config FILE prints",
		},
		"no port": {"config: {listen: {api: localhost}}", "config.listen.api: \"localhost\" has no port"},
		"a listener that nobody reaches": {
			"config: {listen: {api: \"127.0.0.1:8080\"}}", `only the pod itself reaches 127.0.0.1:8080: use ":8080"`,
		},
		"an account of no name": {"serviceAccount: {create: false}", "serviceAccount.name is required"},
		"pods of no labels":     {"monitoring: {podMonitor: {enabled: true}}", "matchLabels"},
		"a route without a token": {
			"config: {alertmanager: {auth: {bearer_token_env: null, bearer_token_file: /x}}}\n" +
				"monitoring: {alertmanagerConfig: {enabled: true}}",
			"needs config.alertmanager.auth.bearer_token_env",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "values.yaml")
			must(t, os.WriteFile(file, []byte(tt.values), 0o600))
			_, errs, err := helm.Run(t, "template", "vllm-medic", folder, "--values", file)
			if err == nil || !strings.Contains(errs, tt.want) {
				t.Errorf("%v: %s\nwant %q", err, errs, tt.want)
			}
		})
	}
}

// Nobody can put a secret into the values: the pod mounts keys of a Secret, those that config names and no others. They
// are files in a folder, which the kubelet replaces; none is in the environment, and none is mounted by subPath, which
// nobody replaces.
func TestThePodMountsItsSecretsByName(t *testing.T) {
	t.Parallel()
	all := rendered(t, "vllm-medic", `
config:
  store: {url: null, url_env: VLLM_MEDIC_STORE_URL}
  prometheus: {http_config: {authorization: {credentials_file: /etc/vllm-medic-secrets/PROM}}}
  slack: {channel: C0123456789, team: T0123, app_id: A0123, token_env: SLACK_BOT_TOKEN, app_token_env: SLACK_APP_TOKEN}
  notify: [{name: teams, kind: teams, url_env: TEAMS_URL}, {name: mine, kind: teams, url_env: MINE}]
  access: {viewer_token_env: VIEWER}
secret: {name: mine, keys: {SLACK_BOT_TOKEN: bot-token}}
extraEnv: [{name: MINE, value: x}]
`)
	if of := ofKind(all, "Secret"); len(of) > 0 {
		t.Errorf("the chart makes a Secret: %v", of)
	}
	pod := podOf(t, all).Spec.Template.Spec
	for _, e := range pod.Containers[0].Env {
		if e.ValueFrom != nil || e.Name != "MINE" {
			t.Errorf("a secret is in the environment: %+v", e)
		}
	}
	for _, m := range pod.Containers[0].VolumeMounts {
		if m.SubPath != "" || m.SubPathExpr != "" || m.Name == "secrets" && !m.ReadOnly {
			t.Errorf("%+v is never replaced, or can be written to", m)
		}
	}
	got := map[string]string{}
	for _, v := range pod.Volumes {
		if v.Secret == nil {
			continue
		}
		if v.Secret.SecretName != "mine" || *v.Secret.DefaultMode != 0o440 {
			t.Errorf("the volume is %+v", v.Secret)
		}
		for _, item := range v.Secret.Items {
			got[item.Path] = item.Key
		}
	}
	want := map[string]string{
		"AM_TOKEN": "AM_TOKEN", "PROM": "PROM", "SLACK_APP_TOKEN": "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN": "bot-token",
		"TEAMS_URL": "TEAMS_URL", "VIEWER": "VIEWER", "VLLM_MEDIC_STORE_URL": "VLLM_MEDIC_STORE_URL",
	}
	if !maps.Equal(got, want) {
		t.Errorf("the files are %v, want %v", got, want)
	}
	config, _, err := unstructured.NestedString(ofKind(all, "ConfigMap")[0].Object, "data", "medic.yaml")
	must(t, err)
	for _, line := range []string{
		"bearer_token_file: /etc/vllm-medic-secrets/AM_TOKEN", "url_file: /etc/vllm-medic-secrets/VLLM_MEDIC_STORE_URL",
		"token_file: /etc/vllm-medic-secrets/SLACK_BOT_TOKEN", "url_file: /etc/vllm-medic-secrets/TEAMS_URL",
		"viewer_token_file: /etc/vllm-medic-secrets/VIEWER", "url_env: MINE",
	} {
		if !strings.Contains(config, line) {
			t.Errorf("the configuration lacks %q:\n%s", line, config)
		}
	}
	if strings.Count(config, "_env:") != 1 {
		t.Errorf("the configuration names variables that nobody sets:\n%s", config)
	}
}

// A pod may do nothing that the program does not need.
func TestThePodIsUnprivileged(t *testing.T) {
	t.Parallel()
	d := podOf(t, rendered(t, "vllm-medic", ""))
	pod := d.Spec.Template.Spec
	c := pod.Containers[0]
	s, p := c.SecurityContext, pod.SecurityContext
	if !*p.RunAsNonRoot || *p.RunAsUser != 65532 || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault ||
		*s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || !slices.Equal(s.Capabilities.Drop,
		[]corev1.Capability{"ALL"}) || s.Privileged != nil || pod.HostNetwork || pod.HostPID {
		t.Errorf("the pod: %+v\nthe container: %+v", p, s)
	}
	if c.Resources.Limits.Memory().IsZero() || c.Resources.Requests.Memory().IsZero() {
		t.Errorf("the memory is not bounded: %+v", c.Resources)
	}
	if *pod.TerminationGracePeriodSeconds < 30 {
		t.Errorf("the program takes up to 25 s to end, and gets %d", *pod.TerminationGracePeriodSeconds)
	}
}

func TestTheStoreDecidesHowPodsAreReplaced(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		values, strategy string
		claims           int
		replicas         int32
	}{
		"SQLite":                     {"", "Recreate", 1, 1},
		"SQLite without a volume":    {"persistence: {enabled: false}", "Recreate", 0, 1},
		"SQLite on a volume of mine": {"persistence: {existingClaim: mine}", "Recreate", 0, 1},
		"PostgreSQL": {
			"config: {store: {url: null, url_env: STORE_URL}}\nreplicas: 3", "RollingUpdate", 0, 3,
		},
		"PostgreSQL by URL": {
			"config: {store: {url: \"postgres://medic@db/medic\"}}\nreplicas: 2", "RollingUpdate", 0, 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			all := rendered(t, "vllm-medic", tt.values)
			d := podOf(t, all)
			if got := string(d.Spec.Strategy.Type); got != tt.strategy || *d.Spec.Replicas != tt.replicas {
				t.Errorf("%s with %d replicas, want %s with %d", got, *d.Spec.Replicas, tt.strategy, tt.replicas)
			}
			if got := len(ofKind(all, "PersistentVolumeClaim")); got != tt.claims {
				t.Errorf("%d claims, want %d", got, tt.claims)
			}
		})
	}
}

// A changed configuration has to restart the pods, and nothing else may.
func TestTheConfigurationRestartsThePods(t *testing.T) {
	t.Parallel()
	checksum := func(values string) string {
		d := podOf(t, rendered(t, "vllm-medic", values))
		return d.Spec.Template.Annotations["checksum/config"]
	}
	first := checksum("")
	same, other := checksum("monitoring: {rules: {enabled: true}}"), checksum("config: {mode: observe}")
	if first == "" || first != same || first == other {
		t.Error("the checksum does not follow the configuration")
	}
}
