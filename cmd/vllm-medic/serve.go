package main

import (
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
)

func serve(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "serve", Short: "run the bot"}
	fs := cmd.Flags()
	path := configFlag(fs, t)
	dry := fs.Bool("dry-run", false, "make every incident a dry run: all reads are real and nothing is changed")
	open := fs.Bool("allow-unauthenticated-webhook", false, "accept alerts from anyone who can reach the API listener")
	format := choiceFlag(cmd, "log-format", "", "the `FORMAT` of the log: text or json", "text", "json")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		ctx, log := cmd.Context(), logger(t.err, format.value)
		// From here on SIGHUP reads files again, as it does for other servers, also before the bot listens to it.
		reload := make(chan os.Signal, 1)
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
		app.LogClientGo(log)
		l, err := load(*path, config.Options{DryRun: *dry, AllowUnauthenticated: *open}, t)
		if err != nil {
			return err
		}
		a, err := app.New(ctx, app.Options{
			Config: l.Config, Catalog: l.catalog, Logger: log, Version: versionText(), Reload: reload,
		})
		if err != nil {
			return err
		}
		log.InfoContext(ctx, "vllm-medic starts", "version", versionText(), "mode", l.Mode, "pools", len(l.Pools))
		return a.Run(ctx)
	}
	return cmd
}

func logger(w io.Writer, format string) *slog.Logger {
	if format == "json" {
		return slog.New(slog.NewJSONHandler(w, nil))
	}
	return slog.New(slog.NewTextHandler(w, nil))
}
