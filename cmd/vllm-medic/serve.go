package main

import (
	"context"
	"flag"
	"io"
	"log/slog"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
)

func serve(ctx context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	path := fs.String("config", "", "the configuration `FILE`")
	dry := fs.Bool("dry-run", false, "make every incident a drill: all reads are real and nothing is changed")
	open := fs.Bool("allow-unauthenticated-webhook", false, "take alerts from anybody who can reach the API listener")
	format := &choice{value: "text", allowed: []string{"text", "json"}}
	fs.Var(format, "log-format", "the `FORMAT` of the log: text or json")
	if _, err := parse(fs, args, t); err != nil {
		return err
	}
	log := logger(t.err, format.value)
	app.LogClientGo(log)
	l, err := load(*path, config.Options{DryRun: *dry, AllowUnauthenticated: *open}, t)
	if err != nil {
		return err
	}
	a, err := app.New(ctx, app.Options{Config: l.Config, Catalog: l.catalog, Logger: log})
	if err != nil {
		return err
	}
	log.InfoContext(ctx, "vllm-medic starts", "version", versionText(), "mode", l.Mode, "pools", len(l.Pools))
	return a.Run(ctx)
}

func logger(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
