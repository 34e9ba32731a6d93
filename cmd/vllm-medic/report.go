package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/report"
)

// How far back a report goes: a week unless asked otherwise. The bot keeps closed incidents for less than the most.
const (
	reportSince = 7 * 24 * time.Hour
	mostSince   = 400 * 24 * time.Hour
)

func reportCommand(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "report", Short: "summarize the incidents of a period for a review",
		Long: "Summarize the incidents of a period for a review: by pool and by cause, what helped, what has not, how long " +
			"people took, and which alert rules were noise.\n\nAsks the bot, or reads its store with --config.",
	}
	fs := cmd.Flags()
	src := newSourceFlags(fs, t)
	since := durationFlag(fs, "since", "how far back, a `DURATION` such as 7d or 30d (default 7d)")
	until := fs.String("until", "",
		"the end of the period, a `TIME` such as 2026-11-23 or 2026-11-23T09:00:00Z (default now)")
	pool := fs.String("pool", "", "only the pool `NAME`")
	format := formatFlag(cmd, "markdown")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		p := report.Period{Until: time.Now().UTC(), Pool: *pool}
		if *until != "" {
			var err error
			if p.Until, err = parseUntil(*until); err != nil {
				return err
			}
		}
		back := reportSince
		if cmd.Flags().Changed("since") {
			back = *since
		}
		if back <= 0 || back > mostSince {
			return usageError{"report: --since is a duration above 0 and of at most 400d"}
		}
		p.Since = p.Until.Add(-back)
		r, err := src.report(cmd, t, p)
		if err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if format.value != "markdown" {
			return write(t.out, format.value, r)
		}
		say(t.out, "%s", r.Markdown())
		return nil
	}
	return cmd
}

// parseUntil reads a time, or a day, which ends when the next one begins in UTC.
func parseUntil(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, usageError{fmt.Sprintf(
			"report: --until %q is not a time such as 2026-11-23 or 2026-11-23T09:00:00Z", text)}
	}
	return at.UTC(), nil
}

// report is made from the store when --config names a configuration, else by the bot.
func (s sourceFlags) report(cmd *cobra.Command, t terminal, p report.Period) (report.Report, error) {
	if *s.config == "" {
		q := url.Values{"since": {p.Since.Format(time.RFC3339Nano)}, "until": {p.Until.Format(time.RFC3339Nano)}}
		if p.Pool != "" {
			q.Set("pool", p.Pool)
		}
		var r report.Report
		err := s.api.call(cmd.Context(), t, http.MethodGet, "/api/v1/report?"+q.Encode(), nil, &r)
		return r, err
	}
	from, err := s.reader(cmd, t)
	if err != nil {
		return report.Report{}, err
	}
	r, err := app.Report(cmd.Context(), from, p, time.Now().UTC())
	return r, errors.Join(err, from.Close())
}
