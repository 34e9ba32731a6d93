package main

import (
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/sandbox"
)

func sandboxCommand(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sandbox", Short: "see the whole loop on this machine: a simulated fleet, its alerts, and the bot",
		Long: "Run the bot on a simulated fleet, in one process and on loopback, unless --listen says otherwise. A page " +
			"shows the Slack channel with " +
			"working buttons, the fleet, and levers that break it. docs/sandbox.md describes it.",
	}
	fs := cmd.Flags()
	listen := fs.String("listen", "127.0.0.1:0", "the `ADDRESS` of the page; port 0 takes a free one. "+
		"Beyond loopback, everyone who can reach it can press its buttons")
	script := fs.Bool("script", false, "play both rounds without hands, then end; exit 1 when one of them fails")
	free := fs.Bool("free", false, "leave the guide out: nothing breaks but what you break")
	logFile := fs.String("log-file", "", "write the log of the bot and of everything around it to `FILE`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if *free && *script {
			return usageError{"--free leaves out what --script plays; use one of them"}
		}
		log := slog.New(slog.DiscardHandler)
		if *logFile != "" {
			f, err := os.OpenFile(*logFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				return err
			}
			defer f.Close() //nolint:errcheck // a log
			log = logger(f, "")
		}
		app.LogClientGo(log)
		// Whoever closes the terminal has seen enough: the sandbox ends as with Ctrl-C.
		ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
		defer stop()
		return sandbox.Run(ctx, sandbox.Options{
			Listen: *listen, Script: *script, Free: *free, In: t.in, Out: t.out,
			Styled: colored(isTerminal(t.out), t.getenv), Log: log,
		})
	}
	return cmd
}
