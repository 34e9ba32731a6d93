package diagnosis

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// Bot answers what `vllm-medic diagnose` would, with the built-in playbooks.
type Bot struct{ catalog *playbooks.Catalog }

// NewBot loads the built-in playbooks.
func NewBot() (*Bot, error) {
	c, err := catalog.Load(playbooks.Options{})
	return &Bot{c}, err
}

// Question is what the bot is asked, and where it reads.
type Question struct {
	// Pool is its only pool, as a user would write it in medic.yaml. It has a name.
	Pool map[string]any
	// Kubeconfig is the file of the cluster; empty: no Kubernetes is configured.
	Kubeconfig string
	// Prometheus answers queries.
	Prometheus http.RoundTripper
	// At is the time of the question.
	At time.Time
	// Alerts are what fires; without any, the question is about the pool.
	Alerts []incident.Alert
}

// Ask asks a question.
func (b *Bot) Ask(ctx context.Context, q Question) (Answer, error) {
	pool := fmt.Sprint(q.Pool["name"])
	cfg, err := b.config(q)
	if err != nil {
		return Answer{}, err
	}
	named := ""
	if len(q.Alerts) == 0 {
		named = pool
	}
	began := time.Now()
	found, err := app.Diagnose(ctx, app.Options{
		Config: cfg, Catalog: b.catalog, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return q.At },
		Transport: func(service string, rt http.RoundTripper) http.RoundTripper {
			if service == "prometheus" {
				return q.Prometheus
			}
			return rt
		},
	}, named, q.Alerts)
	if err != nil {
		return Answer{}, err
	}
	a, err := answerOf(found, pool)
	a.Took = time.Since(began)
	return a, err
}

// config writes the bot's configuration as a user would, and reads it.
func (b *Bot) config(q Question) (config.Config, error) {
	doc := map[string]any{
		"listen": map[string]any{"api": "127.0.0.1:0"},
		// On a busy machine that Prometheus computes for long, and how long says nothing about an answer.
		"prometheus": map[string]any{"url": "http://prometheus.invalid:9090", "timeout": "5m", "deadline": "10m"},
		"pools":      []any{q.Pool},
	}
	if q.Kubeconfig != "" {
		doc["kubernetes"] = map[string]string{"kubeconfig": q.Kubeconfig}
	}
	data, err := yaml.Dump(doc)
	if err != nil {
		return config.Config{}, fmt.Errorf("write the configuration: %w", err)
	}
	nothing := func(string) (string, bool) { return "", false }
	return config.Parse("medic.yaml", data, config.Options{
		Getenv: nothing, Profiles: b.catalog, DryRun: true, AllowUnauthenticated: true, PrometheusOnly: true,
	})
}

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

// answerOf picks the incident of the pool. Alerts that lead to no pool have an answer too, and it is none.
func answerOf(found []incident.Incident, pool string) (Answer, error) {
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
