package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/webhook"
)

func diagnose(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "diagnose", Short: "evidence, diagnosis and plan for one payload or pool; writes nothing"}
	fs := cmd.Flags()
	path := configFlag(fs, t)
	alert := fs.String("alert", "", "a webhook payload `FILE`; - reads standard input")
	pool := fs.String("pool", "", "look at the pool `NAME` without an alert")
	format := formatFlag(cmd, "text")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if (*alert == "") == (*pool == "") {
			return usageError{"give --alert FILE (- is standard input) or --pool NAME, one of the two"}
		}
		return diagnoseNow(cmd.Context(), t, *path, *alert, *pool, format.value)
	}
	return cmd
}

// diagnoseNow answers for the pools that the payload's alerts lead to, or for the one that is named.
func diagnoseNow(ctx context.Context, t terminal, path, alert, pool, format string) error {
	l, err := load(path, config.Options{DryRun: true, AllowUnauthenticated: true, LookOnly: true}, t)
	if err != nil {
		return err
	}
	var alerts []incident.Alert
	if alert != "" {
		if alerts, err = readAlerts(alert, t); err != nil {
			return err
		}
	}
	// What could not be read stands in the answer, at the place where it is missing; client-go would say it once more on the terminal.
	quiet := slog.New(slog.DiscardHandler)
	app.LogClientGo(quiet)
	found, err := app.Diagnose(ctx, app.Options{Config: l.Config, Catalog: l.catalog, Logger: quiet}, pool, alerts)
	if err != nil {
		return err
	}
	for n := range found {
		// A look without an alert has none; the contract says that this is a list.
		found[n].Alerts = append([]incident.Alert{}, found[n].Alerts...)
	}
	if format != "text" {
		return write(t.out, format, found)
	}
	for _, inc := range found {
		printIncident(t.out, inc)
	}
	return nil
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
