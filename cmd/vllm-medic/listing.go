package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/strictyaml"
)

// source is where incidents are read: a running bot, or its store.
type source interface {
	Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error)
	IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error)
	// Pauses are those in force when incidents were read last.
	Pauses(ctx context.Context) ([]incident.Pause, error)
	Close() error
}

// sourceFlags are the flags that choose between the two.
type sourceFlags struct {
	api    apiClient
	config *string
}

func newSourceFlags(fs *pflag.FlagSet, t terminal) sourceFlags {
	return sourceFlags{
		api:    clientFlags(fs, t),
		config: fs.String("config", "", "read the store of this configuration `FILE` directly; the bot need not run"),
	}
}

// open returns the store when --config names a configuration, else the bot.
func (s sourceFlags) open(cmd *cobra.Command, t terminal) (source, error) {
	if *s.config == "" {
		return &remote{api: s.api, t: t}, nil
	}
	return s.reader(cmd, t)
}

// reader reads the store of the configuration that --config names.
func (s sourceFlags) reader(cmd *cobra.Command, t terminal) (*store.Reader, error) {
	if s.api.names(cmd.Flags()) {
		return nil, usageError{path(cmd) + ": give --config to read the store or --server to ask the bot, not both"}
	}
	return openStore(cmd.Context(), *s.config, t)
}

// openStore opens the store of a configuration to read only.
func openStore(ctx context.Context, path string, t terminal) (*store.Reader, error) {
	raw, err := config.StoreURL(path, config.Options{Getenv: t.getenv})
	if err != nil {
		return nil, asConfigErrors(err)
	}
	return store.OpenReadOnly(ctx, raw)
}

// asConfigErrors lets the errors of a configuration be printed one a line.
func asConfigErrors(err error) error {
	if bad, ok := errors.AsType[strictyaml.Problems](err); ok {
		var found configErrors
		found.add(bad)
		return found
	}
	return err
}

// remote asks a running bot.
type remote struct {
	api    apiClient
	t      terminal
	paused []incident.Pause
}

// Incidents asks for one page.
func (r *remote) Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error) {
	q := url.Values{"limit": {strconv.Itoa(f.Limit)}}
	if f.State != "" {
		q.Set("state", f.State)
	}
	if !f.AllPools {
		q.Set("pool", f.Pool)
	}
	if f.After != "" {
		q.Set("after", f.After)
	}
	var got struct {
		Incidents []incident.Incident `json:"incidents"`
		Pauses    []incident.Pause    `json:"pauses"`
	}
	err := r.api.call(ctx, r.t, http.MethodGet, "/api/v1/incidents?"+q.Encode(), nil, &got)
	r.paused = got.Pauses
	return got.Incidents, err
}

// Pauses are those that the newest page named; none where a bot of an older version names none.
func (r *remote) Pauses(context.Context) ([]incident.Pause, error) { return r.paused, nil }

// IncidentWithJournal asks for one incident.
func (r *remote) IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error) {
	return r.api.incident(ctx, r.t, id)
}

// Close has nothing to end.
func (*remote) Close() error { return nil }

// maxList is what one page of a listing holds at most.
const maxList = 200

func listIncidents(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "list", Short: "list open incidents, or those in another state"}
	fs := cmd.Flags()
	src := newSourceFlags(fs, t)
	states := []string{"open", "all"}
	for _, s := range incident.States() {
		states = append(states, string(s))
	}
	state := choiceFlag(cmd, "state", "", "only this `STATE`: open, all or the name of one", states...)
	pool := fs.String("pool", "", "only the pool `NAME`")
	limit := fs.Int("limit", 50, fmt.Sprintf("at most this `NUMBER`, the newest first; up to %d", maxList))
	format := formatFlag(cmd, "table")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *limit < 1 || *limit > maxList {
			return usageError{fmt.Sprintf("incidents list: --limit is a number from 1 to %d", maxList)}
		}
		f := incident.Filter{State: state.value, Pool: *pool, AllPools: *pool == "", Limit: *limit}
		if state.value == "all" {
			f.State = ""
		}
		from, err := src.open(cmd, t)
		if err != nil {
			return err
		}
		list, more, err := page(cmd.Context(), from, f)
		var paused []incident.Pause
		if err == nil && format.value == "table" {
			paused, err = from.Pauses(cmd.Context())
		}
		if err := errors.Join(err, from.Close()); err != nil {
			return fmt.Errorf("list incidents: %w", err)
		}
		if more {
			say(t.err, "vllm-medic: only the newest %d are shown; there are more: --limit (up to %d), --state and --pool "+
				"choose others\n", len(list), maxList)
		}
		if format.value != "table" {
			return write(t.out, format.value, append([]incident.Incident{}, list...))
		}
		for _, p := range paused {
			if *pool == "" || p.Covers(*pool) {
				say(t.out, "%s\n", pauseText(p))
			}
		}
		if len(list) == 0 {
			say(t.out, "There are no incidents%s.\n", view(state.value, *pool))
			return nil
		}
		printTable(newSheet(t), list, time.Now())
		return nil
	}
	return cmd
}

// view is what a list was narrowed to, for the sentence that it is empty; a misspelled pool shows here.
func view(state, pool string) string {
	switch {
	case state == "all" && pool == "":
		return ""
	case pool == "":
		return " in this view (" + state + ")"
	}
	return fmt.Sprintf(" in this view (%s, pool %s)", state, pool)
}

// page reads one page, and says whether there are more incidents behind it.
func page(ctx context.Context, from source, f incident.Filter) (list []incident.Incident, more bool, err error) {
	list, err = from.Incidents(ctx, f)
	if err != nil || len(list) < f.Limit {
		return list, false, err
	}
	f.After, f.Limit = list[len(list)-1].ID, 1
	rest, err := from.Incidents(ctx, f)
	return list, len(rest) > 0, err
}

func showIncident(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "show ID", Short: "show an incident: diagnosis, readings, plan and journal"}
	src := newSourceFlags(cmd.Flags(), t)
	all := allFlag(cmd.Flags())
	format := formatFlag(cmd, "text")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		from, err := src.open(cmd, t)
		if err != nil {
			return err
		}
		inc, err := from.IncidentWithJournal(cmd.Context(), args[0])
		err = errors.Join(err, from.Close())
		switch {
		case errors.Is(err, incident.ErrNotFound):
			return fmt.Errorf("show %s: there is no such incident; vllm-medic incidents list --state all lists every ID",
				args[0])
		case err != nil:
			return fmt.Errorf("show %s: %w", args[0], err)
		case format.value != "text":
			return write(t.out, format.value, inc)
		}
		page := newSheet(t)
		printIncident(page, inc, *all)
		printJournal(page, inc)
		return nil
	}
	return cmd
}
