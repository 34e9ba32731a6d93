package diagnosis

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/promembed"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Answer is what the bot said about an incident.
type Answer struct {
	// Got is the name of the diagnosis, or None.
	Got string
	// Why is the bot's reason in one line: its rule, or its note and what was undecided.
	Why string
	// Full is everything that it said.
	Full incident.Incident
	// Took is the time for the diagnosis alone.
	Took time.Duration
}

// Replayer shows incidents to app.Diagnose with the built-in playbooks.
type Replayer struct{ catalog *playbooks.Catalog }

// NewReplayer loads the built-in playbooks.
func NewReplayer() (*Replayer, error) {
	files, err := catalog.Files()
	if err != nil {
		return nil, err
	}
	c, err := playbooks.Load(files, playbooks.Options{})
	if err != nil {
		return nil, err
	}
	return &Replayer{catalog: c}, nil
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
	cfg, err := r.config(inc, api.URL, folder)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", inc.Name, err)
	}
	quiet := slog.New(slog.DiscardHandler)
	name := ""
	if len(inc.Alerts) == 0 {
		name = model
	}
	began := time.Now()
	found, err := app.Diagnose(ctx, app.Options{
		Config: cfg, Catalog: r.catalog, Logger: quiet, Now: func() time.Time { return inc.At },
		Transport: func(service string, rt http.RoundTripper) http.RoundTripper {
			if service == "prometheus" {
				return prom
			}
			return rt
		},
	}, name, inc.alerts())
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", inc.Name, err)
	}
	select {
	case write := <-k.writes:
		return Answer{}, fmt.Errorf("%s: diagnose promises to write nothing and sent %s", inc.Name, write)
	default:
	}
	a, err := AnswerOf(found, model)
	a.Took = time.Since(began)
	return a, err
}

// AnswerOf picks the incident of the pool. Alerts that lead to no pool have an answer too, and it is none.
func AnswerOf(found []incident.Incident, pool string) (Answer, error) {
	if len(found) == 0 {
		return Answer{}, errors.New("there is no answer at all")
	}
	i := slices.IndexFunc(found, func(x incident.Incident) bool { return x.Pool == pool })
	if i < 0 {
		return Answer{Got: None, Why: "no pool was found for the alerts: " + oneLine(found[0].Note), Full: found[0]}, nil
	}
	inc := found[i]
	if inc.Diagnosis != nil {
		return Answer{Got: inc.Diagnosis.Name, Why: oneLine(inc.Diagnosis.Rule), Full: inc}, nil
	}
	why := oneLine(inc.Note)
	var undecided []string
	for _, o := range inc.Others {
		if o.Verdict == incident.Undecided {
			undecided = append(undecided, o.Name)
		}
	}
	if len(undecided) > 0 {
		why += " undecided: " + strings.Join(undecided, ", ")
	}
	return Answer{Got: None, Why: why, Full: inc}, nil
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// matchers are those of the pool.
func (inc *Incident) matchers() map[string]string {
	if len(inc.Matchers) > 0 {
		return inc.Matchers
	}
	return map[string]string{"namespace": namespace, "model_name": model}
}

// config writes the bot's configuration as a user would, and reads it.
func (r *Replayer) config(inc Incident, api, folder string) (config.Config, error) {
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
	doc := map[string]any{
		"listen": map[string]any{"api": "127.0.0.1:0"},
		// On a busy machine that Prometheus computes for long, and how long says nothing about an answer.
		"prometheus": map[string]any{"url": "http://prometheus.invalid:9090", "timeout": "5m", "deadline": "10m"},
		"pools":      []any{pool},
	}
	if !inc.Cluster.Away {
		path, err := Kubeconfig(folder, inc.Name, api, "", nil)
		if err != nil {
			return config.Config{}, err
		}
		doc["kubernetes"] = map[string]string{"kubeconfig": path}
	}
	data, err := yaml.Dump(doc)
	if err != nil {
		return config.Config{}, fmt.Errorf("write the configuration: %w", err)
	}
	nothing := func(string) (string, bool) { return "", false }
	return config.Parse("medic.yaml", data,
		config.Options{Getenv: nothing, Profiles: r.catalog, DryRun: true, AllowUnauthenticated: true, PrometheusOnly: true})
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
