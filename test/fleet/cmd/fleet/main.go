// Command fleet serves a simulated fleet of vLLM engines: the metrics of each replica, the gateway's metrics, and
// JSON under /_fleet/ to look at it and to change it while it runs. The first line it prints is its address.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fleet"
)

// errUsage marks a mistake on the command line (exit code 2).
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	options, listen, printConfig, err := parse(args, stderr)
	if err != nil {
		return err
	}
	f, err := fleet.New(options)
	if err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	if err := announce(f, listener.Addr().String(), printConfig, stdout); err != nil {
		return errors.Join(err, listener.Close())
	}
	return serve(ctx, f, listener, stderr)
}

// announce says where the fleet is, to people and to Prometheus.
func announce(f *fleet.Fleet, address string, printConfig bool, stdout io.Writer) error {
	if err := f.SetAddress(address); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "http://%s\n", address); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	if !printConfig {
		return nil
	}
	config, err := f.ScrapeConfig(address)
	if err != nil {
		return err
	}
	if _, err := stdout.Write(config); err != nil {
		return fmt.Errorf("print the scrape configuration: %w", err)
	}
	return nil
}

func serve(ctx context.Context, f *fleet.Fleet, listener net.Listener, stderr io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler: f, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.NewTextHandler(stderr, nil), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		f.Run(ctx)
	}()
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", listener.Addr(), err)
	case <-ctx.Done():
		<-stopped
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		return server.Shutdown(end)
	}
}

func parse(args []string, stderr io.Writer) (o fleet.Options, listen string, printConfig bool, err error) {
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&listen, "listen", "127.0.0.1:0", "address to serve on; port 0 picks a free one")
	dialect := flags.String("dialect", string(fleet.V1),
		fmt.Sprintf("how metrics are spelled, one of %q", fleet.Dialects()))
	flags.StringVar(&o.Scenario, "scenario", "healthy", "what goes on at the start: "+scenarioNames())
	flags.StringVar(&o.Model, "model", "llama-70b", "the model_name label")
	flags.StringVar(&o.Namespace, "namespace", "llm", "the namespace label of the scrape targets")
	flags.IntVar(&o.Replicas, "replicas", 2, "replicas at the start")
	flags.IntVar(&o.Ranks, "ranks", 1, "data-parallel engines behind each replica")
	flags.Float64Var(&o.Speed, "speed", 1, "simulated seconds per second")
	flags.StringVar(&o.TargetsFile, "targets-file", "", "keep Prometheus file_sd targets in this file")
	flags.BoolVar(&printConfig, "print-scrape-config", false, "print a Prometheus scrape configuration after the address")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, "", false, err
		}
		return o, "", false, fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return o, "", false, fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}
	o.Dialect = fleet.Dialect(*dialect)
	if o.Replicas == 0 {
		return o, "", false, fmt.Errorf("%w: --replicas must be at least 1", errUsage)
	}
	return o, listen, printConfig, nil
}

func scenarioNames() string {
	var names []string
	for _, s := range fleet.Scenarios() {
		names = append(names, s.Name)
	}
	return strings.Join(names, ", ")
}
