package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/redact"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// configErrors is everything that is wrong with a configuration and its playbooks.
type configErrors []configError

// configError is one of them, on one line. The file is empty when it is in none.
type configError struct{ file, text string }

// Error has one error per line.
func (m configErrors) Error() string {
	lines := make([]string, len(m))
	for n, e := range m {
		lines[n] = e.text
	}
	return strings.Join(lines, "\n")
}

// add adds what was found in files. A value that an error quotes may be a secret in the wrong place.
func (m *configErrors) add(found strictyaml.Problems) {
	for _, p := range found {
		*m = append(*m, configError{p.File, redact.Tokens(p.String())})
	}
}

// where names the files that have errors; the configuration stands for what is in none.
func (m configErrors) where(configuration string) string {
	var files []string
	for _, e := range m {
		if f := cmp.Or(e.file, configuration); !slices.Contains(files, f) {
			files = append(files, f)
		}
	}
	const most = 3
	if n := len(files) - most; n > 0 {
		files = append(files[:most], count(n, "other file"))
	}
	if last := len(files) - 1; last > 0 {
		return strings.Join(files[:last], ", ") + " and " + files[last]
	}
	return strings.Join(files, "")
}

func check(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "check", Short: "check the configuration and the playbooks; reports every error"}
	fs := cmd.Flags()
	path := configFlag(fs, t)
	offline := fs.Bool("offline", false, "skip secrets, for a machine that does not have them")
	open := fs.Bool("allow-unauthenticated-webhook", false,
		"accept a webhook without authentication, as serve does with this flag")
	live := fs.Bool("live", false, "also query Prometheus, Kubernetes and Slack, read-only")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *live && *offline {
			return usageError{"--live needs the secrets that --offline skips; use one of the two"}
		}
		return checkFile(cmd.Context(), t, *path, config.Options{Offline: *offline, AllowUnauthenticated: *open}, *live)
	}
	return cmd
}

func checkFile(ctx context.Context, t terminal, path string, opts config.Options, live bool) error {
	l, err := load(path, opts, t)
	var bad configErrors
	switch {
	case errors.As(err, &bad):
		say(t.out, "%s\n\n%s in %s; `serve` will not start.\n", bad, count(len(bad), "error"), bad.where(path))
		return errFound
	case err != nil:
		return err
	}
	if err := summarize(t.out, path, l, opts.Offline, live); err != nil || !live {
		return err
	}
	return liveChecks(ctx, t, l)
}

// liveChecks prints what external systems report, good and bad.
func liveChecks(ctx context.Context, t terminal, l loaded) error {
	found, err := app.Live(ctx, l.options(t))
	if err != nil {
		return err
	}
	w := t.out
	say(w, "\nLive checks (read-only):\n\n")
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	bad := 0
	var rules []app.RuleFinding
	for _, f := range found {
		mark := "ok"
		switch {
		case f.Unasked:
			mark = "?"
		case !f.Good:
			mark, bad = "BAD", bad+1
		case f.Caution:
			mark = "!"
		}
		say(tw, "  %s\t%s\t%s\n", mark, f.Where, f.Text)
		for _, line := range f.More {
			say(tw, "  \t\t  %s\n", line)
		}
		rules = append(rules, f.Rules...)
	}
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	printRules(w, rules)
	if bad > 0 {
		then := "Non-fatal: `serve` starts and reports this with each incident"
		if slices.ContainsFunc(found, func(f app.Finding) bool { return f.Fatal }) {
			then = "`serve` will not start"
		}
		say(w, "\n%s. %s.\n", count(bad, "finding"), then)
		return errFound
	}
	return nil
}

// summarize says what the bot would do with the configuration, and what was checked.
func summarize(w io.Writer, path string, l loaded, offline, live bool) error {
	say(w, "%s: configuration OK\n\n", path)
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	say(tw, "  mode\t%s\n", modeText(l.Mode))
	say(tw, "  incidents\t%s\n", storeText(l.StoreURL.Reveal(), offline))
	say(tw, "  prometheus\t%s\n", l.Prometheus.URL)
	say(tw, "  webhook\t%s on %s\n", webhookText(l.Config), l.Listen.API)
	say(tw, "  kubernetes\t%s\n", kubernetesText(l.Kubernetes))
	say(tw, "  slack\t%s\n", slackText(l.Slack))
	for _, p := range l.Pools {
		say(tw, "  pool %s\t%s; %s%s\n", p.Name, p.Mode, knobsText(p.Knobs), routeText(p.HTTPRoute))
	}
	for _, d := range l.Drills {
		say(tw, "  drill %s\t%s on pool %s\n", d.Scenario, d.When, d.Pool)
	}
	say(tw, "  playbooks\t%d built in, %d of your own\n", l.builtin, len(l.catalog.Playbooks())-l.builtin)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	for _, why := range warnings(l.Config) {
		say(w, "\nWarning: %s\n", why)
	}
	secrets := "and that every secret is set"
	if offline {
		secrets = "but not the secrets (--offline)"
	}
	say(w, "\nChecked: names, limits and addresses in the file, rules and queries of the playbooks, %s.\n", secrets)
	if !live {
		say(w, "Not checked: Prometheus, Kubernetes, Slack and the store. --live checks the first three.\n")
	}
	return nil
}

// warnings are about settings with which a valid configuration cannot do what its mode promises, or gives away more
// than it should.
func warnings(cfg config.Config) []string {
	var out []string
	if cfg.ClusterTokensInPlainText() {
		out = append(out, "access.cluster_tokens is on and listen.api serves plain HTTP to other machines: whoever can "+
			"read that traffic can use people's tokens with the cluster; set listen.tls.api, or end TLS in front of the bot "+
			"and keep others from reaching listen.api")
	}
	if len(cfg.Pools) == 0 {
		out = append(out, "there are no pools: nothing is diagnosed, and an alert is shown with the pool that would match it")
	}
	for _, p := range cfg.Pools {
		if p.Mode != incident.ModeApprove && p.Mode != incident.ModeAuto && p.Mode != incident.ModeDryRun {
			continue
		}
		if a := p.ApproversFor(""); cfg.Slack != nil && len(a.Users) == 0 && len(a.Groups) == 0 && len(p.Approvers) == 0 {
			out = append(out,
				fmt.Sprintf("no one can approve in Slack for pool %s: approvers is empty; the command line still works", p.Name))
		}
		if p.Mode == incident.ModeAuto && len(cfg.Policy.Automatic) == 0 {
			out = append(out,
				fmt.Sprintf("pool %s is in mode auto, but policy.automatic is empty: every step needs approval", p.Name))
		}
	}
	return out
}

func modeText(m incident.Mode) string {
	switch m {
	case incident.ModeObserve:
		return "observe: diagnoses only; proposes nothing"
	case incident.ModeDryRun:
		return "dry-run: asks for approval as usual; changes nothing"
	case incident.ModeApprove:
		return "approve: makes one change at a time, after approval"
	case incident.ModeAuto:
		return "auto: runs the steps in policy.automatic without approval; asks for all others"
	default:
		return string(m)
	}
}

// storeText names the place without anything that could be a secret.
func storeText(raw string, offline bool) string {
	u, err := url.Parse(raw)
	switch {
	case offline && !strings.Contains(raw, "://"):
		return "as set by store.url_env"
	case err != nil:
		return "PostgreSQL"
	case u.Scheme == "sqlite":
		return "SQLite, " + u.Host + u.Path + " (one bot)"
	default:
		return "PostgreSQL, " + u.Host + u.Path
	}
}

func webhookText(cfg config.Config) string {
	var out []string
	webhook := cfg.Webhook.Current()
	switch {
	case webhook.BearerToken != "":
		out = append(out, "a bearer token")
	case webhook.User != "":
		out = append(out, "username and password")
	}
	switch {
	case len(webhook.ClientNames) > 0:
		out = append(out, "a client certificate of "+strings.Join(webhook.ClientNames, " or "))
	case cfg.Listen.TLS["api"].ClientCAFile != "":
		out = append(out, "any client certificate of "+cfg.Listen.TLS["api"].ClientCAFile)
	}
	if len(out) == 0 {
		return "without authentication"
	}
	return "with " + strings.Join(out, " and ")
}

func kubernetesText(k *config.Kubernetes) string {
	switch {
	case k == nil:
		return "not configured (read-only)"
	case k.Kubeconfig == "":
		return "the cluster that the bot runs in"
	case k.Context != "":
		return k.Kubeconfig + ", context " + k.Context
	default:
		return k.Kubeconfig
	}
}

func slackText(s *config.Slack) string {
	if s == nil {
		return "not configured: messages go to the log and the incident JSON"
	}
	return "channel " + s.Channel + " of " + cmp.Or(s.Team, s.Enterprise)
}

func knobsText(k incident.Knobs) string {
	return cmp.Or(strings.Join(k.Bounds(), ", "), "no knobs (read-only)")
}

func routeText(r incident.RouteRef) string {
	if r.IsZero() {
		return ""
	}
	return "; HTTPRoute " + r.String()
}

// count is "1 error" or "3 errors".
func count(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
