package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
)

// source is where incidents are read: a running bot, or its store.
type source interface {
	Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error)
	IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error)
	Close() error
}

// sourceFlags are the flags that choose between the two.
type sourceFlags struct {
	api    apiClient
	config *string
}

func newSourceFlags(fs *flag.FlagSet) sourceFlags {
	return sourceFlags{
		api:    clientFlags(fs),
		config: fs.String("config", "", "read the store that this configuration `FILE` names, instead of asking the bot; it need not run"),
	}
}

// open returns the store when --config names a configuration, else the bot.
func (s sourceFlags) open(ctx context.Context, fs *flag.FlagSet, t terminal) (source, error) {
	if *s.config == "" {
		return remote{s.api, t}, nil
	}
	var both bool
	fs.Visit(func(f *flag.Flag) { both = both || f.Name == "server" || f.Name == "token-file" || f.Name == "ca-file" })
	if both {
		return nil, usageError{fs.Name() + ": give --config to read the store or --server to ask the bot, not both"}
	}
	raw, err := config.StoreURL(*s.config, config.Options{Getenv: t.getenv})
	if err != nil {
		return nil, asMistakes(err)
	}
	return store.OpenReadOnly(ctx, raw)
}

// asMistakes lets a configuration's mistakes be printed one a line.
func asMistakes(err error) error {
	if bad, ok := errors.AsType[config.LoadErrors](err); ok {
		return mistakes(bad)
	}
	return err
}

// remote asks a running bot.
type remote struct {
	api apiClient
	t   terminal
}

// Incidents asks for one page.
func (r remote) Incidents(ctx context.Context, f incident.Filter) ([]incident.Incident, error) {
	q := url.Values{"limit": {strconv.Itoa(f.Limit)}}
	if f.State != "" {
		q.Set("state", f.State)
	}
	if !f.AllPools {
		q.Set("pool", f.Pool)
	}
	var got struct {
		Incidents []incident.Incident `json:"incidents"`
	}
	err := r.api.call(ctx, r.t, http.MethodGet, "/api/v1/incidents?"+q.Encode(), nil, &got)
	return got.Incidents, err
}

// IncidentWithJournal asks for one incident.
func (r remote) IncidentWithJournal(ctx context.Context, id string) (incident.Incident, error) {
	return r.api.incident(ctx, r.t, id)
}

// Close has nothing to end.
func (remote) Close() error { return nil }

// maxList is what one page of a listing holds at most.
const maxList = 200

func listIncidents(ctx context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("incidents list", flag.ContinueOnError)
	src := newSourceFlags(fs)
	state := &choice{value: "open", allowed: []string{"open", "all"}}
	for _, s := range incident.States() {
		state.allowed = append(state.allowed, string(s))
	}
	fs.Var(state, "state", "only this `STATE`: open, all or the name of one")
	pool := fs.String("pool", "", "only the pool `NAME`")
	limit := fs.Int("limit", 50, fmt.Sprintf("at most this `NUMBER`, the newest first; up to %d", maxList))
	format := formatFlag(fs, "table")
	if _, err := parse(fs, args, t); err != nil {
		return err
	}
	if *limit < 1 || *limit > maxList {
		return usageError{fmt.Sprintf("incidents list: --limit is a number from 1 to %d", maxList)}
	}
	f := incident.Filter{State: state.value, Pool: *pool, AllPools: *pool == "", Limit: *limit}
	if state.value == "all" {
		f.State = ""
	}
	from, err := src.open(ctx, fs, t)
	if err != nil {
		return err
	}
	list, err := from.Incidents(ctx, f)
	if err := errors.Join(err, from.Close()); err != nil {
		return fmt.Errorf("list incidents: %w", err)
	}
	if format.value != "table" {
		return write(t.out, format.value, append([]incident.Incident{}, list...))
	}
	if len(list) == 0 {
		say(t.out, "There are no incidents%s.\n", map[bool]string{true: "", false: " in this view (" + state.value + ")"}[state.value == "all"])
		return nil
	}
	return printTable(t.out, list)
}

func showIncident(ctx context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("incidents show", flag.ContinueOnError)
	src := newSourceFlags(fs)
	format := formatFlag(fs, "text")
	rest, err := parse(fs, args, t, "ID")
	if err != nil {
		return err
	}
	from, err := src.open(ctx, fs, t)
	if err != nil {
		return err
	}
	inc, err := from.IncidentWithJournal(ctx, rest[0])
	err = errors.Join(err, from.Close())
	switch {
	case errors.Is(err, incident.ErrNotFound):
		return fmt.Errorf("show %s: there is no such incident; vllm-medic incidents list --state all has their ids", rest[0])
	case err != nil:
		return fmt.Errorf("show %s: %w", rest[0], err)
	case format.value != "text":
		return write(t.out, format.value, inc)
	}
	printIncident(t.out, inc)
	printJournal(t.out, inc)
	return nil
}
