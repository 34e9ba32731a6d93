package diagnosis

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
)

// Replayer shows incidents to the bot.
type Replayer struct{ bot *Bot }

// NewReplayer loads the built-in playbooks.
func NewReplayer() (*Replayer, error) {
	b, err := NewBot()
	return &Replayer{b}, err
}

// Replay generates an incident's metrics and cluster and asks what is wrong, at the time of the incident. folder is for
// what has to be a file.
func (r *Replayer) Replay(ctx context.Context, inc Incident, folder string) (_ Answer, err error) {
	prom, err := promembed.New(promembed.Options{})
	if err != nil {
		return Answer{}, err
	}
	defer func() { err = errors.Join(err, prom.Close()) }()
	if err := inc.Generate(prom); err != nil {
		return Answer{}, err
	}
	k := inc.kube()
	api := httptest.NewServer(k)
	defer api.Close()
	q := Question{Pool: inc.pool(), Prometheus: prom, At: inc.At, Alerts: inc.alerts()}
	if !inc.Cluster.Away {
		if q.Kubeconfig, err = Kubeconfig(folder, inc.Name, api.URL, "", nil); err != nil {
			return Answer{}, err
		}
	}
	a, err := r.bot.Ask(ctx, q)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", inc.Name, err)
	}
	select {
	case write := <-k.writes:
		return Answer{}, fmt.Errorf("%s: diagnose promises to write nothing and sent %s", inc.Name, write)
	default:
		return a, nil
	}
}

// matchers are those of the pool.
func (inc *Incident) matchers() map[string]string {
	if len(inc.Matchers) > 0 {
		return inc.Matchers
	}
	return map[string]string{"namespace": namespace, "model_name": model}
}

// pool is what a user of it would write in medic.yaml.
func (inc *Incident) pool() map[string]any {
	pool := map[string]any{
		"name": model, "match": map[string]string{"namespace": namespace, "model_name": model}, "matchers": inc.matchers(),
		"slo": inc.SLO,
		"workload": map[string]string{
			"apiVersion": "apps/v1", "kind": inc.Workload, "namespace": namespace, "name": model,
			"container": container,
		},
	}
	if inc.HTTPRoute != "" {
		pool["http_route"] = map[string]string{"name": inc.HTTPRoute}
	}
	return pool
}

// Kubeconfig writes how the API server at an address is reached, and returns the file. Without an authority, the PEM of
// a certificate, nobody in particular asks without TLS.
func Kubeconfig(folder, name, api, token string, authority []byte) (string, error) {
	cluster, user := map[string]any{"server": api}, map[string]any{}
	if authority != nil {
		cluster["certificate-authority-data"] = base64.StdEncoding.EncodeToString(authority)
		user["token"] = token
	}
	data, err := yaml.Dump(map[string]any{
		"apiVersion": "v1", "kind": "Config", "current-context": "incident",
		"clusters": []any{map[string]any{"name": "incident", "cluster": cluster}},
		"contexts": []any{map[string]any{
			"name":    "incident",
			"context": map[string]string{"cluster": "incident", "user": "medic"},
		}},
		"users": []any{map[string]any{"name": "medic", "user": user}},
	})
	if err != nil {
		return "", fmt.Errorf("write the kubeconfig: %w", err)
	}
	path := filepath.Join(folder, name+".kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return "", fmt.Errorf("write the kubeconfig: %w", err)
	}
	return path, nil
}

// alerts are as Alertmanager sends them.
func (inc *Incident) alerts() []incident.Alert {
	out := make([]incident.Alert, 0, len(inc.Alerts))
	for _, a := range inc.Alerts {
		pod := a.Pod
		if pod == "" {
			pod = inc.Pods[0]
		}
		i := slices.Index(inc.Pods, pod)
		labels := map[string]string{
			"instance": inc.instance(i), "namespace": namespace, "pod": pod, "model_name": model,
			"job": "vllm",
		}
		switch {
		case a.Labels != nil:
			labels = maps.Clone(a.Labels)
		case instanceOnly(a.Name):
			labels = map[string]string{"instance": inc.instance(i)}
		}
		labels["alertname"] = a.Name
		if labels["severity"] == "" {
			labels["severity"] = "critical"
		}
		ago := a.Ago
		if ago == 0 {
			ago = 180
		}
		alert := incident.Alert{
			Fingerprint: fmt.Sprintf("%016x", seed(inc.Name+a.Name+pod)), Labels: labels, Firing: !a.Resolved,
			StartsAt: inc.At.Add(-ago.duration()), SeenAt: inc.At,
		}
		if a.Resolved {
			alert.EndsAt = inc.At.Add(-30 * time.Second)
		}
		if expr := inc.expr(a); expr != "" {
			alert.GeneratorURL = "http://prometheus:9090/graph?g0.expr=" + url.QueryEscape(expr) + "&g0.tab=1"
		}
		out = append(out, alert)
	}
	return out
}
