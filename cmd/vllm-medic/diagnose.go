package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/webhook"
)

func diagnose(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "diagnose [MODEL]...",
		Short: "print what is wrong with a pool, or with every model of a Prometheus; read-only",
		Long: "Prints evidence, diagnosis and plan for one alert or pool of the configuration, or, with --prometheus and " +
			"without a configuration, the health of every vLLM model that a Prometheus knows, the worst first. Names of " +
			"models narrow that to them, with all that is known.\n\n" +
			"Exit codes with --prometheus: 0 nothing wrong, 1 something is wrong or could not be read, 2 usage error.",
	}
	fs := cmd.Flags()
	path := configFlag(fs, t)
	alert := fs.String("alert", "", "a webhook payload `FILE`; - reads standard input")
	pool := fs.String("pool", "", "diagnose the pool `NAME` without an alert")
	everything := allFlag(fs)
	format := formatFlag(cmd, "text")
	all, given := newSurveyFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if all.access.URL != "" {
			if *alert != "" || *pool != "" || fs.Changed("config") {
				return usageError{"diagnose: --prometheus looks at every model and needs no configuration; " +
					"it excludes --config, --alert and --pool"}
			}
			all.names, all.everything = args, *everything
			return survey(cmd.Context(), t, all, format.value)
		}
		switch wrong := given(); {
		case len(wrong) > 0:
			return usageError{fmt.Sprintf("diagnose: %s needs --prometheus URL", strings.Join(wrong, ", "))}
		case len(args) > 0:
			return unexpected(cmd, args[0], "names of models need --prometheus URL")
		case (*alert == "") == (*pool == ""):
			return usageError{"give either --alert FILE (- reads standard input) or --pool NAME, or --prometheus URL for " +
				"every model that it knows"}
		}
		return diagnoseNow(cmd.Context(), t, *path, *alert, *pool, format.value, *everything)
	}
	return cmd
}

// diagnoseNow answers for the pools that the payload's alerts lead to, or for the one that is named.
func diagnoseNow(ctx context.Context, t terminal, path, alert, pool, format string, all bool) error {
	l, err := load(path, config.Options{DryRun: true, AllowUnauthenticated: true, PrometheusOnly: true}, t)
	if err != nil {
		return err
	}
	var alerts []incident.Alert
	if alert != "" {
		if alerts, err = readAlerts(alert, t); err != nil {
			return err
		}
	}
	// What could not be read stands in the answer, at the place where it is missing.
	found, err := app.Diagnose(ctx, l.options(t), pool, alerts)
	if err != nil {
		return err
	}
	for n := range found {
		// An investigation without an alert has none; the contract says that this is a list.
		found[n].Alerts = append([]incident.Alert{}, found[n].Alerts...)
	}
	nothing := len(found) > 0 && !slices.ContainsFunc(found, func(inc incident.Incident) bool { return !unread(inc) })
	if format != "text" {
		if err := write(t.out, format, found); err != nil {
			return err
		}
	}
	if nothing {
		return nothingRead(found, l.Config, path)
	}
	if format == "text" {
		for _, inc := range found {
			printIncident(newSheet(t), inc, all)
		}
	}
	return nil
}

// unread says that neither Prometheus nor Kubernetes told anything of a pool. "No data" is an answer of Prometheus;
// only its readings have a query.
func unread(inc incident.Incident) bool {
	failed := false
	for _, r := range inc.Readings {
		if r.HasValue() || r.Query != "" && r.Error == "" {
			return false
		}
		failed = failed || r.Error != ""
	}
	return failed && inc.Diagnosis == nil && inc.Cluster.Error != ""
}

// nothingRead says who could not be asked, why, and what to do. The incidents' readings would say the same of each
// signal.
func nothingRead(found []incident.Incident, cfg config.Config, path string) error {
	var pools []string
	for _, inc := range found {
		pools = append(pools, inc.Pool)
	}
	lines := []string{
		"no data for " + strings.Join(pools, ", ") + ", so there is no diagnosis",
		fmt.Sprintf("  Prometheus at %s: %s", cfg.Prometheus.URL, cell(sharedError(found[0].Readings))),
		"    Check prometheus.url and that this machine can reach it; kubectl port-forward helps from a laptop.",
	}
	switch k := cfg.Kubernetes; {
	case k == nil:
		lines = append(lines, "  Kubernetes: not configured")
	case k.Kubeconfig == "":
		lines = append(lines, "  Kubernetes: "+cell(found[0].Cluster.Error))
	default:
		lines = append(lines, "  Kubernetes: "+cell(found[0].Cluster.Error),
			"    Check "+k.Kubeconfig+" and that this machine can reach the API server.")
	}
	return errors.New(strings.Join(append(lines,
		fmt.Sprintf("vllm-medic check --config %s --live queries each of them and reports which one responds.", path)), "\n"))
}

func readAlerts(path string, t terminal) ([]incident.Alert, error) {
	var raw []byte
	var err error
	if path == "-" {
		raw, err = io.ReadAll(io.LimitReader(t.in, webhook.BodyLimit))
	} else {
		raw, err = os.ReadFile(path) //nolint:gosec // the path is the user's own
	}
	if err != nil {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	d, err := webhook.Decode(raw, time.Now())
	if err != nil {
		return nil, fmt.Errorf("the payload %s: %w", path, err)
	}
	if len(d.Alerts) == 0 {
		return nil, errors.New("the payload holds no alerts")
	}
	return d.Alerts, nil
}
