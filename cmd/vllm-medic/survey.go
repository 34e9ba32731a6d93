package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/evidence"
	"github.com/vllm-medic/vllm-medic/internal/nearest"
	"github.com/vllm-medic/vllm-medic/internal/prometheus"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// surveyFlags are those of diagnose that need no configuration.
type surveyFlags struct {
	promFlags

	match map[string]string
	slo   string
	at    string
	watch bool
	every time.Duration
	// reportTo is a file for the report; empty: none.
	reportTo string
	names    []string
	// everything folds nothing away.
	everything bool
}

// newSurveyFlags adds the flags; given says which of them were used.
func newSurveyFlags(cmd *cobra.Command) (f *surveyFlags, given func() []string) {
	f = &surveyFlags{}
	own := pflag.NewFlagSet("survey", pflag.ContinueOnError)
	f.add(own, "diagnose every vLLM model that the Prometheus at this `URL` knows; needs no configuration")
	own.StringToStringVar(&f.match, "match", nil, "only models whose series have this `LABEL=VALUE`")
	own.StringVar(&f.slo, "slo", "chat", "the `PROFILE` of targets: agentic, batch, chat, completion or rag")
	own.StringVar(&f.at, "at", "", "look at this `TIME` instead of now, such as 2026-11-23T03:10:00Z")
	own.BoolVar(&f.watch, "watch", false, "look again and again until interrupted")
	own.DurationVar(&f.every, "every", 30*time.Second, "with --watch, the `DURATION` from one look to the next")
	own.StringVar(&f.reportTo, "report", "", "also write one HTML `FILE` that holds everything, to send to a colleague")
	cmd.Flags().AddFlagSet(own)
	return f, func() []string {
		var out []string
		own.VisitAll(func(one *pflag.Flag) {
			if cmd.Flags().Changed(one.Name) {
				out = append(out, "--"+one.Name)
			}
		})
		return out
	}
}

// survey prints what is found, once or until interrupted.
func survey(ctx context.Context, t terminal, f *surveyFlags, format string) error {
	opts, s, err := f.options()
	if err != nil {
		return err
	}
	var file *reportFile
	if f.reportTo != "" {
		if file, err = newReportFile(f.reportTo); err != nil {
			return err
		}
		defer file.abandon()
	}
	show := func(ctx context.Context, w io.Writer, s app.SurveyOptions) error {
		found, err := app.Examine(ctx, opts, s)
		if err != nil {
			return f.explained(err)
		}
		if format == "text" {
			page := newSheet(t)
			page.to = w
			printSurvey(page, found, surveyView{
				full: len(f.names) > 0 || f.everything, all: f.everything, brief: f.watch,
			})
		} else if err := write(w, format, found); err != nil {
			return err
		}
		if file != nil {
			if err := file.write(f.report(found)); err != nil {
				return err
			}
			say(t.err, "vllm-medic: the report is in %s\n", f.reportTo)
		}
		if found.Wrong() {
			return errFound
		}
		return nil
	}
	if !f.watch {
		s.Progress = newProgress(t).counting("models")
		return show(ctx, t.out, s)
	}
	return f.watching(ctx, t, format, func(ctx context.Context, w io.Writer) error { return show(ctx, w, s) })
}

// watching looks again and again. That nothing could be read is said and is no end; an interrupt is one, and no error.
func (f *surveyFlags) watching(
	ctx context.Context, t terminal, format string, look func(context.Context, io.Writer) error,
) error {
	tick := time.NewTicker(f.every)
	defer tick.Stop()
	redraw := format == "text" && isTerminal(t.out)
	for n := 0; ; n++ {
		var page bytes.Buffer
		err := look(ctx, &page)
		var missing *app.NoModelError
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.As(err, &missing) && missing.Asked != "" && n == 0:
			return err
		case err != nil && !errors.Is(err, errFound):
			say(t.err, "vllm-medic: %v\nNext look in %s.\n", err, f.every)
		default:
			head := ""
			switch {
			case redraw:
				head = "\x1b[H\x1b[2J"
			case n > 0 && format == "yaml":
				head = "---\n"
			case n > 0 && format == "text":
				head = "\n"
			}
			if _, err := io.WriteString(t.out, head+page.String()); err != nil {
				return fmt.Errorf("print the result: %w", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// options checks the flags and loads the built-in playbooks.
func (f *surveyFlags) options() (app.Options, app.SurveyOptions, error) {
	var opts app.Options
	fail := func(text string) (app.Options, app.SurveyOptions, error) {
		return opts, app.SurveyOptions{}, usageError{"diagnose: " + text}
	}
	builtin, err := catalog.Load(playbooks.Options{})
	if err != nil {
		return opts, app.SurveyOptions{}, err
	}
	slo, ok := builtin.Profile(f.slo)
	if !ok {
		return fail(fmt.Sprintf("--slo must be %s", either(slices.Sorted(slices.Values(builtin.ProfileNames())))))
	}
	for label, value := range f.match {
		if value == "" {
			return fail(fmt.Sprintf("--match %s= has no value; it would match every series without that label", label))
		}
	}
	if f.at != "" {
		at, err := time.Parse(time.RFC3339, f.at)
		switch {
		case err != nil:
			return fail(fmt.Sprintf("--at %q is not a time such as 2026-11-23T03:10:00Z", f.at))
		case f.watch:
			return fail("--at looks at one time, and --watch at now: use one of the two")
		}
		opts.Now = func() time.Time { return at }
	}
	if f.watch && f.reportTo != "" {
		return fail("--report is of one look, and --watch looks again and again: use one of the two")
	}
	if f.every < time.Second {
		return fail("--every must be at least 1s")
	}
	opts.Config.Prometheus, err = f.access.Prometheus()
	if wrong := new(config.FlagError); errors.As(err, &wrong) {
		return fail(strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	opts.Config.Prometheus.Deadline = max(evidence.DefaultDeadline, 3*f.access.Timeout)
	opts.Catalog, opts.Logger = builtin, slog.New(slog.DiscardHandler)
	//nolint:gosec // the names of the flags
	opts.Settings = prometheus.Settings{URL: "--prometheus", Credentials: "--token-file, or --user and --password-file"}
	return opts, app.SurveyOptions{SLO: slo, Match: f.match, Names: f.names}, err
}

// explained adds the next step to an error for which there is one.
func (f *surveyFlags) explained(err error) error {
	var missing *app.NoModelError
	switch {
	case errors.As(err, &missing) && missing.Asked != "":
		return fmt.Errorf("%w; %s", err, meant(missing))
	case errors.As(err, &missing):
		return fmt.Errorf("no vLLM model has metrics in the Prometheus at %s%s, now or in the last hour.\n"+
			"Check that it scrapes the vLLM servers (/metrics on their API port), and --match if you gave it",
			f.shownURL(), matched(f.match))
	}
	if why, away := prometheus.Unreached(err); away {
		return fmt.Errorf("can't reach Prometheus at %s: %s.\nkubectl port-forward helps from a laptop; --prometheus takes "+
			"the address", f.shownURL(), why)
	}
	return fmt.Errorf("nothing could be read from the Prometheus at %s: %w", f.shownURL(), err)
}

// meant names the model that may have been meant, or those that there are.
func meant(e *app.NoModelError) string {
	for _, known := range [][]string{e.Known, e.Short} {
		if near := nearest.Name(e.Asked, known); near != "" {
			return fmt.Sprintf("did you mean %q?", near)
		}
	}
	const most = 8
	if len(e.Known) > most {
		return fmt.Sprintf("without a name all %d models are listed", len(e.Known))
	}
	return "the models are " + strings.Join(e.Known, ", ")
}

// shownURL is the address without a user's name: some proxies take a secret there.
func (f *surveyFlags) shownURL() string {
	u, err := url.Parse(f.access.URL)
	if err != nil {
		return "this address"
	}
	u.User = nil
	return u.String()
}

// matched is " with namespace=llm".
func matched(match map[string]string) string {
	var pairs []string
	for _, label := range slices.Sorted(maps.Keys(match)) {
		pairs = append(pairs, label+"="+match[label])
	}
	if len(pairs) == 0 {
		return ""
	}
	return " with " + strings.Join(pairs, ", ")
}
