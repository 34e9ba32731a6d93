package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/webhook"
)

func diagnose(ctx context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("diagnose", flag.ContinueOnError)
	path := fs.String("config", "", "the configuration `FILE`")
	alert := fs.String("alert", "", "a webhook payload `FILE`; - reads standard input")
	pool := fs.String("pool", "", "look at the pool `NAME` without an alert")
	format := fs.String("o", "text", "text or json")
	if _, err := parse(fs, args, t); err != nil {
		return err
	}
	if (*alert == "") == (*pool == "") {
		return usageError{"give --alert FILE or --pool NAME"}
	}
	if *format != "text" && *format != "json" {
		return usageError{"-o is text or json"}
	}
	cfg, cat, err := load(*path, config.Options{DryRun: true, AllowUnauthenticated: true}, t)
	if err != nil {
		return err
	}
	var alerts []incident.Alert
	if *alert != "" {
		if alerts, err = readAlerts(*alert, t); err != nil {
			return err
		}
	}
	found, err := app.Diagnose(ctx, app.Options{Config: cfg, Catalog: cat, Logger: slog.New(slog.DiscardHandler)}, *pool, alerts)
	if err != nil {
		return err
	}
	if *format == "json" {
		return writeJSON(t.out, found)
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

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
