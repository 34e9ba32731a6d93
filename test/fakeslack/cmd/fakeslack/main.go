// Command fakeslack serves the strict double of Slack as a program: the Web API
// under /api/ and the channel as a page at /.
// The first line it prints is its address.
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
	"syscall"
	"time"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
)

// errUsage marks a mistake on the command line (exit code 2).
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		fmt.Fprintln(os.Stderr, "fakeslack:", err)
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "fakeslack:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, env func(string) (string, bool), stdout, stderr io.Writer) error {
	options, listen, err := parse(args, env, stderr)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", listen, err)
	}
	address := "http://" + listener.Addr().String()
	workspace := fakeslack.New(options)
	workspace.SetBaseURL(address)
	server := &http.Server{
		Handler: workspace, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    slog.NewLogLogger(slog.NewTextHandler(stderr, nil), slog.LevelWarn),
	}
	if _, err := fmt.Fprintln(stdout, address); err != nil {
		return fmt.Errorf("print the address: %w", err)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve on %s: %w", address, err)
	case <-ctx.Done():
		// Open event streams end with ctx, so this does not wait for them.
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
		defer cancel()
		return server.Shutdown(end)
	}
}

func parse(args []string, env func(string) (string, bool), stderr io.Writer) (fakeslack.Options, string, error) {
	var o fakeslack.Options
	flags := flag.NewFlagSet("fakeslack", flag.ContinueOnError)
	flags.SetOutput(stderr)
	listen := flags.String("listen", "127.0.0.1:0", "address to serve on; port 0 picks a free one")
	flags.StringVar(&o.InteractivityURL, "interactivity-url", "", "where clicks are sent, the app's Request URL")
	secretEnv := flags.String("signing-secret-env", "", "environment variable that holds the signing secret")
	flags.BoolVar(&o.SocketMode, "socket-mode", false, "send clicks through connections that the app opens")
	appTokenEnv := flags.String("app-token-env", "", "environment variable that holds the app-level token")
	tokenEnv := flags.String("token-env", "", "environment variable that holds the bot token")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, "", err
		}
		return o, "", fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return o, "", fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}
	var err error
	if o.SigningSecret, err = fromEnv(env, "signing-secret-env", *secretEnv); err != nil {
		return o, "", err
	}
	if o.Token, err = fromEnv(env, "token-env", *tokenEnv); err != nil {
		return o, "", err
	}
	if o.AppToken, err = fromEnv(env, "app-token-env", *appTokenEnv); err != nil {
		return o, "", err
	}
	if o.SocketMode && o.InteractivityURL != "" {
		return o, "", fmt.Errorf("%w: in Socket Mode nothing is sent to --interactivity-url", errUsage)
	}
	return o, *listen, nil
}

func fromEnv(env func(string) (string, bool), flagName, name string) (string, error) {
	if name == "" {
		return "", nil // the documented default of the double
	}
	value, ok := env(name)
	if !ok || value == "" {
		return "", fmt.Errorf("%w: --%s names %s, which is not set", errUsage, flagName, name)
	}
	return value, nil
}
