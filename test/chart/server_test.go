package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/restmapper"

	"github.com/vllm-medic/vllm-medic/test/helm"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// everything turns on all that the chart has.
const everything = `
config:
  store: {url: null, url_env: STORE_URL}
  slack:
    {mode: http, channel: C0123456789, team: T0123, app_id: A0123, token_env: SLACK_BOT_TOKEN,
     signing_secret_env: SLACK_SIGNING_SECRET}
  access: {client_certificates: true}
  listen: {tls: {api: {cert_file: /tls/tls.crt, key_file: /tls/tls.key}}}
  mode: approve
  pools:
    - name: llama-70b
      match: {namespace: llm, model_name: llama-70b}
      matchers: {namespace: llm, model_name: llama-70b}
      workload: {apiVersion: apps/v1, kind: Deployment, namespace: MODELS, name: llama-70b, container: vllm}
      http_route: {name: llama-70b}
      knobs:
        replicas: {min: 2, max: 8}
        max_num_batched_tokens: {min: 2048, max: 16384}
        throttle:
          {kind: envoy-gateway, namespace: MODELS, name: llama-70b, field: maxParallelRequests, min: 16, max: 1024}
replicas: 3
playbooksConfigMap: mine
ingress: {enabled: true, className: nginx, tlsSecret: medic-tls}
networkPolicy:
  egress:
    - ports: [{port: 53, protocol: UDP}, {port: 443}, {port: 5432}, {port: 9090}]
priorityClassName: system-cluster-critical
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{operator: Exists}]
extraEnv: [{name: GOGC, value: "100"}]
extraVolumes: [{name: tls, secret: {secretName: medic-tls}}]
extraVolumeMounts: [{name: tls, mountPath: /tls, readOnly: true}]
podAnnotations: {example.org/team: ml}
monitoring:
  rules: {enabled: true}
  serviceMonitor: {enabled: true}
  podMonitor: {enabled: true, matchLabels: {app: llama-70b}}
  alertmanagerConfig: {enabled: true, namespaces: [MODELS]}
  dashboards: {enabled: true}
`

// withMonitoring is the cluster with the Prometheus operator's kinds.
func withMonitoring(t *testing.T) *kubetest.Cluster {
	t.Helper()
	c := cluster.Cluster(t)
	c.InstallCRD(t, kubetest.PodMonitors, kubetest.ServiceMonitors, kubetest.PrometheusRules,
		kubetest.AlertmanagerConfigs, kubetest.Alertmanagers, kubetest.BackendTrafficPolicies, kubetest.ScaledObjects)
	return c
}

// The API server knows every field of every object, and would take them. Helm installs them, upgrades them with another
// configuration, and leaves the incidents when it takes the rest away.
func TestTheAPIServerTakesTheChart(t *testing.T) {
	t.Parallel()
	c := withMonitoring(t)
	for name, values := range map[string]string{"fresh": "{}", "everything": everything} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ns, models := c.Namespace(t), c.Namespace(t)
			values := strings.ReplaceAll(values, "MODELS", models)
			tried(t, c, rendered(t, ns, values))
			release(t, c, "install", ns, values)
			release(t, c, "upgrade", ns, values, "--set", "config.mode=observe")
			got, err := c.Client(t).CoreV1().ConfigMaps(ns).Get(t.Context(), "vllm-medic", metav1.GetOptions{})
			must(t, err)
			if !strings.Contains(got.Data["medic.yaml"], "mode: observe") {
				t.Errorf("after the upgrade the configuration is\n%s", got.Data["medic.yaml"])
			}
			if roles, err := c.Client(t).RbacV1().Roles(models).List(t.Context(), metav1.ListOptions{}); err != nil ||
				slices.ContainsFunc(roles.Items, writesAnything) {
				t.Errorf("in mode observe the bot may write: %+v, %v", roles, err)
			}
			release(t, c, "uninstall", ns, "")
			claims, err := c.Client(t).CoreV1().PersistentVolumeClaims(ns).List(t.Context(), metav1.ListOptions{})
			must(t, err)
			if want := map[string]int{"fresh": 1}[name]; len(claims.Items) != want {
				t.Errorf("%d claims are left, want %d", len(claims.Items), want)
			}
		})
	}
}

// tried lets the API server check the objects without keeping them. Unknown fields are errors.
func tried(t *testing.T, c *kubetest.Cluster, all []unstructured.Unstructured) {
	t.Helper()
	asked := discovery.NewDiscoveryClientForConfigOrDie(c.AdminConfig())
	groups, err := restmapper.GetAPIGroupResources(asked)
	must(t, err)
	mapper := restmapper.NewDiscoveryRESTMapper(groups)
	for _, o := range all {
		kind := o.GroupVersionKind()
		at, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		must(t, err)
		_, err = c.Dynamic(t).Resource(at.Resource).Namespace(o.GetNamespace()).Create(t.Context(), &o, metav1.CreateOptions{
			DryRun: []string{metav1.DryRunAll}, FieldValidation: metav1.FieldValidationStrict,
		})
		if err != nil {
			t.Errorf("%s %s: %v", kind.Kind, o.GetName(), err)
		}
	}
}

// release runs one of Helm's commands on the release of a namespace.
func release(t *testing.T, c *kubetest.Cluster, verb, namespace, values string, more ...string) {
	t.Helper()
	args := []string{verb, "vllm-medic"}
	if values != "" {
		file := filepath.Join(t.TempDir(), "values.yaml")
		must(t, os.WriteFile(file, []byte(values), 0o600))
		args = append(args, folder, "--values", file)
	}
	out, errs, err := helmAt(t, c, append(append(args, "--namespace", namespace), more...)...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s%s", verb, err, out, errs)
	}
}

func helmAt(t *testing.T, c *kubetest.Cluster, args ...string) (out, errs string, err error) {
	t.Helper()
	return helm.Run(t, append(args, fmt.Sprintf("--kubeconfig=%s", c.Kubeconfig(t, kubetest.Admin)))...)
}
