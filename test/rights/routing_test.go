package rights

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// routes lets the whole bot, with the manifests' rights, take one delivery in which some alerts lead to what it may not
// read: a namespace of others, the operators above its own Deployments, and a Deployment of no pool. Each alert finds
// the pool that can be known; none hides another.
func routes(t *testing.T, c *kubetest.Cluster, rc *rest.Config) {
	t.Helper()
	c.InstallCRD(t, kubetest.VLLMRuntimes)
	c.MakeNamespace(t, "others")
	plain := corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: image}}}
	makeDeployment(t, c, "stacked", plain, operator("production-stack.vllm.ai/v1alpha1", "VLLMRuntime", "stacked"))
	// There is no such kind here.
	makeDeployment(t, c, "served", plain, operator("serving.kserve.io/v1beta1", "InferenceService", "served"))
	makeDeployment(t, c, "stranger", plain)
	// The bot asks once for each notification, so the API server must know its permissions by then.
	kubetest.Eventually(t, "the right to read pods and what owns them", func(ctx context.Context) error {
		cs, err := kubernetes.NewForConfig(rc)
		if err != nil {
			return err
		}
		_, err = cs.CoreV1().Pods("llm").Get(ctx, "stranger-1", metav1.GetOptions{})
		_, owner := cs.AppsV1().ReplicaSets("llm").Get(ctx, "stranger-7d4", metav1.GetOptions{})
		return errors.Join(err, owner)
	})
	b := startBot(t, rc)
	b.deliver(t, "a", map[string]string{"namespace": "others", "pod": "somebody-1"})
	b.deliver(t, "ccc", map[string]string{"namespace": "llm", "pod": "stranger-1"})
	kubetest.Eventually(t, "the alert of a pod outside of the pools", func(ctx context.Context) error {
		return b.told(ctx, "", "The alert leads to ReplicaSet llm/stranger-7d4, which no pool names. However, Deployment "+
			"llm/stranger, which owns ReplicaSet llm/stranger-7d4, can't be read: the right to get deployments.apps in "+
			"namespace llm is missing: grant it to the bot.")
	})
	b.deliver(t, "bb", map[string]string{"namespace": "others", "pod": "somebody-1"},
		map[string]string{"namespace": "llm", "pod": "stacked-1"},
		map[string]string{"namespace": "llm", "pod": "served-1"}, map[string]string{"namespace": "llm", "pod": "llama-70b-1"})
	for pool, said := range map[string]string{
		"": "The pool of vLLMHighTTFT could not be found: the right to get pods in namespace others is missing",
		"stacked": "However, VLLMRuntime llm/stacked, which owns Deployment llm/stacked, can't be read: the right to get " +
			"vllmruntimes.production-stack.vllm.ai in namespace llm is missing",
		"served": "However, InferenceService llm/served, which owns Deployment llm/served, can't be read: this cluster has " +
			"no kind InferenceService in serving.kserve.io/v1beta1",
		"llama-70b": "which belongs to ReplicaSet llama-70b-7d4, then Deployment llama-70b.",
	} {
		kubetest.Eventually(t, "the incident of pool "+pool, func(ctx context.Context) error {
			return b.told(ctx, pool, said)
		})
	}
}

// operator is the reference to the custom resource of an operator, which nobody may read here.
func operator(apiVersion, kind, name string) metav1.OwnerReference {
	return kubetest.Owner(apiVersion, kind,
		&metav1.ObjectMeta{Name: name, UID: "11111111-1111-1111-1111-111111111111"})
}

// bot is the program with a store of its own.
type bot struct{ address string }

func startBot(t *testing.T, rc *rest.Config) bot {
	t.Helper()
	dir := t.TempDir()
	kubeconfig, path := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "medic.yaml")
	must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: rc.Host, CertificateAuthority: rc.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"bot": {Token: rc.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "bot"}},
		CurrentContext: "c",
	}, kubeconfig))
	var pools strings.Builder
	for _, name := range []string{"llama-70b", "stacked", "served"} {
		fmt.Fprintf(&pools,
			"  - {name: %s, match: {model_name: %s}, matchers: {model_name: %s}, workload: {apiVersion: apps/v1, kind: "+
				"Deployment, namespace: llm, name: %s, container: vllm}}\n", name, name, name, name)
	}
	must(t, os.WriteFile(path, []byte(`
listen: {api: "127.0.0.1:0", ops: "127.0.0.1:0"}
store: {url: "sqlite://`+dir+`/medic.db"}
prometheus: {url: "http://127.0.0.1:1", timeout: 1s, deadline: 5s}
alertmanager: {auth: {bearer_token_env: ALERTMANAGER_TOKEN}}
access: {viewer_token_env: VIEW}
kubernetes: {kubeconfig: "`+kubeconfig+`"}
timing: {sweep: 50ms}
pools:
`+pools.String()), 0o600))
	cat, err := catalog.Load(playbooks.Options{})
	must(t, err)
	cfg, err := config.Load(path, config.Options{Profiles: cat, Getenv: func(k string) (string, bool) { return k, true }})
	must(t, err)
	a, err := app.New(t.Context(), app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)})
	must(t, err)
	a.Start(t.Context())
	t.Cleanup(func() {
		if err := a.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return bot{"http://" + a.Addr("api")}
}

// deliver sends one group of alerts as Alertmanager does.
func (b bot) deliver(t *testing.T, group string, labels ...map[string]string) {
	t.Helper()
	var alerts []map[string]any
	for n, l := range labels {
		l["alertname"] = "vLLMHighTTFT"
		alerts = append(alerts,
			map[string]any{
				"status": "firing", "fingerprint": fmt.Sprintf("%016x", len(group)*100+n),
				"startsAt": "2026-11-21T03:00:00Z", "labels": l,
			})
	}
	body, err := json.Marshal(map[string]any{
		"version": "4", "groupKey": group, "status": "firing", "receiver": "medic",
		"alerts": alerts,
	})
	must(t, err)
	const webhook = "/api/v1/alertmanager"
	if _, err := b.ask(t.Context(), http.MethodPost, webhook, "ALERTMANAGER_TOKEN", string(body)); err != nil {
		t.Fatal(err)
	}
}

func (b bot) ask(ctx context.Context, method, path, token, body string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, method, b.address+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	raw, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, raw)
	}
	return raw, err
}

// told says whether a pool has an incident whose journal says something.
func (b bot) told(ctx context.Context, pool, want string) error {
	raw, err := b.ask(ctx, http.MethodGet, "/api/v1/incidents", "VIEW", "")
	if err != nil {
		return err
	}
	var list struct {
		Incidents []incident.Incident `json:"incidents"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	for _, inc := range list.Incidents {
		if inc.Pool != pool {
			continue
		}
		raw, err := b.ask(ctx, http.MethodGet, "/api/v1/incidents/"+inc.ID, "VIEW", "")
		if err != nil {
			return err
		}
		if err := json.Unmarshal(raw, &inc); err != nil {
			return err
		}
		var said strings.Builder
		for _, e := range inc.Journal {
			said.WriteString(e.Text + "\n")
		}
		if strings.Contains(said.String(), want) {
			return nil
		}
		return fmt.Errorf("the journal lacks %q:\n%s", want, said.String())
	}
	return fmt.Errorf("no incident of pool %q in %s", pool, raw)
}
