package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

const (
	// testAlertLasts is when Alertmanager resolves a test alert by itself.
	testAlertLasts = 5 * time.Minute
	// testAlertTimeout bounds the request; Alertmanager only keeps the alert before it answers.
	testAlertTimeout = 10 * time.Second
)

// testAlertFlags are those of test-alert.
type testAlertFlags struct {
	url, tokenFile string
	config, pool   *string
	plain          *bool
	labels         map[string]string
}

func testAlert(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "test-alert", Short: "post a marked alert to Alertmanager, to test its way to Slack; nothing is changed",
	}
	f := testAlertFlags{}
	fs := cmd.Flags()
	fs.StringVar(&f.url, "alertmanager", "", "the `URL` of Alertmanager")
	fs.StringVar(&f.tokenFile, "token-file", "", "a `FILE` with a bearer token for Alertmanager")
	f.plain = plainHTTPFlag(fs, t)
	f.config = configFlag(fs, t)
	f.pool = fs.String("pool", "", "the pool `NAME` whose labels the alert has; not needed if there is only one")
	fs.StringToStringVar(&f.labels, "label", nil, "a `LABEL=VALUE` of the alert, instead of --config; can be repeated")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), t) }
	return cmd
}

func (f testAlertFlags) run(ctx context.Context, t terminal) error {
	if f.url == "" {
		return usageError{"test-alert: --alertmanager URL is required"}
	}
	to := f.labels
	if len(to) == 0 {
		pool, err := f.poolOf(t)
		if err != nil {
			return err
		}
		to = pool.Match
	}
	labels := map[string]string{"severity": "warning"}
	maps.Copy(labels, to)
	labels["alertname"] = incident.TestAlertName
	now := time.Now().UTC()
	if err := f.post(ctx, []map[string]any{{
		"labels": labels, "startsAt": now, "endsAt": now.Add(testAlertLasts),
		"annotations": map[string]string{"summary": "A test of vllm-medic: nothing is wrong."},
	}}); err != nil {
		return fmt.Errorf("test-alert: %w", err)
	}
	say(t.out, "Alertmanager has the alert %s with %s. It sends it after its group_wait; the bot shows it as a test and "+
		"changes nothing. It resolves in %s.\n", incident.TestAlertName, strings.TrimPrefix(matched(to), " with "),
		incident.FormatDuration(testAlertLasts))
	return nil
}

// poolOf is the pool whose labels the alert gets.
func (f testAlertFlags) poolOf(t terminal) (incident.Pool, error) {
	l, err := load(*f.config, config.Options{Offline: true}, t)
	if wrong := new(usageError); errors.As(err, wrong) {
		return incident.Pool{}, usageError{"test-alert: --label LABEL=VALUE, or --config FILE, is required"}
	} else if err != nil {
		return incident.Pool{}, err
	}
	for _, p := range l.Pools {
		switch {
		case *f.pool != p.Name && (*f.pool != "" || len(l.Pools) > 1):
		case len(p.Match) == 0:
			return p, fmt.Errorf("test-alert: pool %s has no match labels; give the alert's labels with --label", p.Name)
		default:
			return p, nil
		}
	}
	names := make([]string, len(l.Pools))
	for i, p := range l.Pools {
		names[i] = p.Name
	}
	return incident.Pool{}, usageError{"test-alert: --pool must be " + either(names)}
}

// post hands alerts to Alertmanager's API. Its answer says that it has them, and no more.
func (f testAlertFlags) post(ctx context.Context, alerts any) error {
	body, err := json.Marshal(alerts)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, testAlertTimeout)
	defer cancel()
	url := strings.TrimSuffix(f.url, "/") + "/api/v2/alerts"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return usageError{fmt.Sprintf("test-alert: --alertmanager %q is not a URL", f.url)}
	}
	req.Header.Set("Content-Type", "application/json")
	if f.tokenFile != "" {
		if err := keepsToken(req.URL, "--alertmanager", *f.plain); err != nil {
			return err
		}
		token, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return fmt.Errorf("--token-file: %w", err)
		}
		req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not respond; check --alertmanager: %w", url, err)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	err = errors.Join(err, res.Body.Close())
	switch res.StatusCode {
	case http.StatusOK:
		return err
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s wants other credentials (%s); see --token-file", url, res.Status)
	}
	return fmt.Errorf("%s answered %s: %s; is it Alertmanager's address?", url, res.Status,
		strings.Join(strings.Fields(string(text)), " "))
}
