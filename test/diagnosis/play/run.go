package play

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http/httptest"
	"net/url"
	"slices"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/diagnosis"
)

// Result is an incident with what the bot said.
type Result struct {
	Incident Incident
	Answer   diagnosis.Answer
	// Alerts are the names of those that the bot was told of.
	Alerts []string
	// Harm is what it proposed or advised although it is harmful.
	Harm []Harm
	// Took is the time for all of it.
	Took time.Duration
}

// Right says whether the answer is the label or one that is accepted for it.
func (r Result) Right() bool {
	_, accepted := r.Incident.Accept[r.Answer.Got]
	return accepted || r.Answer.Got == r.Incident.Truth
}

// Player plays incidents with the built-in playbooks.
type Player struct {
	bot    *diagnosis.Bot
	advice []advice
}

// NewPlayer loads the built-in playbooks.
func NewPlayer() (*Player, error) {
	bot, err := diagnosis.NewBot()
	if err != nil {
		return nil, err
	}
	classified, err := readAdvice()
	if err != nil {
		return nil, err
	}
	return &Player{bot: bot, advice: classified}, nil
}

// Play plays an incident and asks what is wrong. folder is for what has to be a file.
func (p *Player) Play(ctx context.Context, inc Incident, folder string) (_ Result, err error) {
	began := time.Now()
	s, err := newStage(&inc)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", inc.Name, err)
	}
	defer func() { err = errors.Join(err, s.prom.Close()) }()
	if err := s.play(ctx); err != nil {
		return Result{}, err
	}
	r, err := p.ask(ctx, s, folder)
	if err != nil {
		return Result{}, fmt.Errorf("%s: %w", inc.Name, err)
	}
	if r.Harm, err = p.harm(inc, r.Answer.Full); err != nil {
		return Result{}, fmt.Errorf("%s: %w", inc.Name, err)
	}
	r.Took = time.Since(began)
	return r, nil
}

// ask asks about what has been played.
func (p *Player) ask(ctx context.Context, s *stage, folder string) (Result, error) {
	inc := s.incident
	api := httptest.NewUnstartedServer(s.kube)
	// Connections that the client gives up at the end are no news.
	api.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	api.StartTLS()
	defer api.Close()
	q := diagnosis.Question{Pool: inc.pool(), Prometheus: s.prom, At: askedAt, Alerts: s.alerts()}
	if !inc.WithoutKubernetes {
		authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
		var err error
		if q.Kubeconfig, err = diagnosis.Kubeconfig(folder, inc.Name, api.URL, botToken, authority); err != nil {
			return Result{}, err
		}
	}
	version := s.kube.Version()
	a, err := p.bot.Ask(ctx, q)
	if err != nil {
		return Result{}, err
	}
	if s.kube.Version() != version {
		return Result{}, errors.New("diagnose promises to write nothing, and the cluster has changed")
	}
	r := Result{Incident: *inc, Answer: a}
	for _, alert := range q.Alerts {
		r.Alerts = append(r.Alerts, alert.Labels["alertname"])
	}
	slices.Sort(r.Alerts)
	r.Alerts = slices.Compact(r.Alerts)
	return r, nil
}

// pool is what a user of it would write in medic.yaml.
func (inc *Incident) pool() map[string]any {
	slo := map[string]any{"profile": inc.SLO.Profile}
	for name, d := range map[string]fmt.Stringer{"ttft": inc.SLO.TTFT, "tpot": inc.SLO.TPOT, "e2e": inc.SLO.E2E} {
		if text := d.String(); text != "0s" {
			slo[name] = text
		}
	}
	labels := map[string]string{"namespace": namespace, "model_name": modelName}
	pool := map[string]any{
		"name": modelName, "match": labels, "matchers": labels, "slo": slo,
		"workload": map[string]string{
			"apiVersion": "apps/v1", "kind": "Deployment", "namespace": namespace,
			"name": inc.workloads()[0].name, "container": container,
		},
		"knobs": map[string]any{
			"replicas":               map[string]int{"min": 1, "max": 32},
			"max_num_batched_tokens": map[string]any{"min": 256, "max": 65536, "default": 8192, "chunked_prefill": true},
			"throttle": map[string]any{
				"kind": "envoy-gateway", "namespace": namespace, "name": modelName, "field": "maxParallelRequests", "min": 1,
				"max": 4096,
			},
		},
	}
	if inc.Gateway {
		pool["http_route"] = map[string]string{"namespace": namespace, "name": modelName}
	}
	return pool
}

// alerts are those that fire when the bot is asked, as Alertmanager would send them.
func (s *stage) alerts() []incident.Alert {
	var out []incident.Alert
	for _, key := range slices.Sorted(maps.Keys(s.firing)) {
		a := s.firing[key]
		out = append(out, incident.Alert{
			Fingerprint: fmt.Sprintf("%016x", len(out)), Labels: a.Labels, Annotations: a.Annotations, Firing: true,
			StartsAt: a.StartsAt, SeenAt: askedAt, GeneratorURL: a.GeneratorURL,
		})
	}
	for _, a := range s.incident.Alerts {
		labels := maps.Clone(a.Labels)
		if labels == nil {
			labels = map[string]string{"namespace": namespace, "model_name": modelName, "job": "vllm"}
			if pod := s.pods.Name(a.Pod); pod != "" {
				labels["pod"] = pod
			}
		}
		labels["alertname"] = a.Name
		if labels["severity"] == "" {
			labels["severity"] = "critical"
		}
		alert := incident.Alert{
			Fingerprint: fmt.Sprintf("%016x", len(out)), Labels: labels, Firing: true,
			StartsAt: askedAt.Add(-time.Duration(a.Ago)), SeenAt: askedAt,
		}
		if a.Expr != "" {
			alert.GeneratorURL = "http://prometheus:9090/graph?g0.expr=" + url.QueryEscape(a.Expr) + "&g0.tab=1"
		}
		out = append(out, alert)
	}
	return out
}
