package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/internal/setup"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// targetsWindow is the time that the targets of a new configuration are compared with.
const targetsWindow = 24 * time.Hour

// initFlags are those of init.
type initFlags struct {
	prometheus promFlags
	app.SetupOptions

	file        string
	force, helm bool
	// named says that --prometheus was given, be it empty: a variable of the shell that isn't set must not count as none.
	named bool
}

func initCommand(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "init", Short: "propose a medic.yaml from what the cluster and Prometheus show; read-only"}
	f := &initFlags{}
	fs := cmd.Flags()
	f.prometheus.add(fs, "the `URL` of the Prometheus that scrapes vLLM; without it only the cluster is read")
	fs.StringToStringVar(&f.Match, "match", nil, "only models whose series have this `LABEL=VALUE`")
	fs.StringVar(&f.Login.Kubeconfig, "kubeconfig", "",
		"a kubeconfig `FILE`; by default the pod's service account, else KUBECONFIG or ~/.kube/config")
	fs.StringVar(&f.Login.Context, "context", "", "the kubeconfig's context `NAME` instead of the current one")
	fs.StringSliceVarP(&f.Namespaces, "namespace", "n", nil, "only this `NAMESPACE`; can be repeated")
	fs.StringVar(&f.Given.SlackChannel, "slack-channel", "", "the `ID` of the Slack channel, such as C0123456789")
	fs.StringVar(&f.Given.SlackTeam, "slack-team", "", "the `ID` of the Slack workspace, such as T0123456789")
	fs.StringVar(&f.Given.SlackApp, "slack-app", "", "the `ID` of the Slack app, such as A0123456789")
	fs.StringSliceVar(&f.Given.Approvers, "approver", nil,
		"the `ID` of a Slack user (U...) or user group (S...) who may approve; can be repeated")
	fs.StringVar(&f.Given.WebhookTokenFile, "webhook-token-file", "",
		"where the bot will find the token that Alertmanager sends, a `PATH` in its pod")
	fs.StringVarP(&f.file, "output", "o", "", "the `FILE` to write; by default the result is printed")
	fs.BoolVar(&f.helm, "helm", false, "write values for the Helm chart instead of a medic.yaml")
	fs.BoolVar(&f.force, "force", false, "overwrite the file if it exists")
	f.Login.Env = t.env("KUBECONFIG")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f.named = fs.Changed("prometheus")
		for _, name := range []string{"token-file", "user", "ca-file", "cert-file", "tls-server-name"} {
			if fs.Changed(name) {
				f.Connection = append(f.Connection, "--"+name)
			}
		}
		return f.run(cmd.Context(), t)
	}
	return cmd
}

func (f *initFlags) run(ctx context.Context, t terminal) error {
	if err := f.free(); err != nil {
		return err
	}
	opts, err := f.options()
	if err != nil {
		return err
	}
	f.Progress = newProgress(t).counting("models")
	p, err := app.Setup(ctx, opts, f.SetupOptions)
	if nothing := new(setup.NothingError); errors.As(err, &nothing) {
		return fmt.Errorf("init: %w", err)
	} else if err != nil {
		return fmt.Errorf("init: nothing could be proposed: %w", err)
	}
	text := setup.Write(p)
	if err := f.valid(text, opts.Catalog); err != nil {
		return err
	}
	next := "vllm-medic check --offline --config " + f.file
	if f.helm {
		text = setup.WriteValues(p)
		next = setup.Install(p, f.file)
	}
	if f.file == "" {
		say(t.out, "%s", text)
		return nil
	}
	if err := f.write(text); err != nil {
		return err
	}
	say(t.err, "%s: %s, %s to answer. Nothing was changed in the cluster. Next:\n  %s\n",
		f.file, count(len(p.Pools), "pool"), count(setup.Questions(text), "question"), next)
	return nil
}

// free refuses early to overwrite a file: reading a cluster takes time.
func (f *initFlags) free() error {
	if f.file == "" || f.force {
		return nil
	}
	if _, err := os.Lstat(f.file); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("init: %s exists already; choose another file, or --force to overwrite it", f.file)
	}
	return nil
}

// options checks the flags and loads the built-in playbooks, with the rates of a whole day.
func (f *initFlags) options() (app.Options, error) {
	day, err := catalog.Load(playbooks.Options{Window: targetsWindow})
	if err != nil {
		return app.Options{}, err
	}
	opts := app.Options{Catalog: day, Logger: slog.New(slog.DiscardHandler)}
	for label, value := range f.Match {
		if value == "" {
			return opts, usageError{fmt.Sprintf("init: --match %s= has no value; it would match every series without that "+
				"label", label)}
		}
	}
	if g := f.Given; (g.SlackChannel == "") != (g.SlackTeam == "") || (g.SlackTeam == "") != (g.SlackApp == "") {
		return opts, usageError{"init: --slack-channel, --slack-team and --slack-app are given together"}
	}
	if !f.named {
		return opts, nil
	}
	opts.Config.Prometheus, err = f.prometheus.access.Prometheus()
	if wrong := new(config.FlagError); errors.As(err, &wrong) {
		return opts, usageError{"init: " + strings.ReplaceAll(err.Error(), "\n", "; ")}
	}
	opts.Config.Prometheus.Deadline = max(evidence.DefaultDeadline, 3*f.prometheus.access.Timeout)
	//nolint:gosec // the names of the flags
	opts.Settings = prometheus.Settings{URL: "--prometheus", Credentials: "--token-file, or --user and --password-file"}
	return opts, err
}

// valid holds what is about to be written against what check wants. Only what a flag gave can be wrong with it.
func (f *initFlags) valid(text []byte, profiles config.Profiles) error {
	name := f.file
	if name == "" {
		name = "medic.yaml"
	}
	if _, err := config.Parse(name, text, config.Options{Offline: true, Profiles: profiles}); err != nil {
		return fmt.Errorf("init: the configuration would not be valid:\n%w", err)
	}
	return nil
}

// write makes the file, for its owner to read.
func (f *initFlags) write(text []byte) error {
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	out, err := os.OpenFile(f.file, mode, 0o644) //nolint:gosec // the path is the operator's own, and no secret is in it
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Close())
}
