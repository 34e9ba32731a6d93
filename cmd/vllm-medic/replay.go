package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/replay"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
)

// evidenceSource is a source that also has the evidence that was kept.
type evidenceSource interface {
	source
	Snapshots(ctx context.Context, id string) ([]incident.Snapshot, error)
}

// Snapshots asks for the kept evidence of one incident.
func (r *remote) Snapshots(ctx context.Context, id string) ([]incident.Snapshot, error) {
	var got struct {
		Snapshots []incident.Snapshot `json:"snapshots"`
	}
	err := r.api.call(ctx, r.t, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id)+"/snapshots", nil, &got)
	return got.Snapshots, err
}

// replayed is what replay prints for programs.
type replayed struct {
	Summary   replay.Summary    `json:"summary"`
	Incidents []replay.Incident `json:"incidents"`
}

func replayCommand(t terminal) *cobra.Command {
	cmd := &cobra.Command{
		Use: "replay [ID]...", Short: "replay past incidents with other playbooks; shows what would differ",
		Long: "Replay the stored evidence of past incidents with the playbooks of --config, or the built-in ones, and show " +
			"what would differ. Read-only: queries neither Prometheus nor Kubernetes.\n\n" +
			"Exit codes: 0 nothing differs, 1 something differs or nothing could be replayed, 2 usage error.",
	}
	fs := cmd.Flags()
	src := sourceFlags{api: clientFlags(fs, t), config: fs.String("config", "",
		"the configuration `FILE` with the playbooks to replay with, and, without --server, with the store to read")}
	since := durationFlag(fs, "since", "all incidents opened in the last `DURATION` such as 30d, instead of IDs")
	pool := fs.String("pool", "", "with --since: only the pool `NAME`")
	strict := fs.Bool("strict", false, "also exit with 1 if something is undecided because it was not read then")
	format := formatFlag(cmd, "text")
	cmd.RunE = func(cmd *cobra.Command, ids []string) error {
		switch {
		case len(ids) == 0 && *since <= 0:
			return usageError{"replay: give the IDs of incidents, or --since with a duration such as 30d"}
		case len(ids) > 0 && (*since != 0 || *pool != ""):
			return usageError{"replay: give IDs, or --since and --pool, not both"}
		}
		with, err := replaySettings(*src.config, t)
		if err != nil {
			return err
		}
		from, err := src.evidence(cmd, t)
		if err != nil {
			return err
		}
		found, err := chosenIncidents(cmd.Context(), from, ids, time.Now().Add(-*since), *pool)
		var all []replay.Incident
		if err == nil {
			all, err = replayAll(cmd.Context(), from, with, found)
		}
		if err := errors.Join(err, from.Close()); err != nil {
			return fmt.Errorf("replay: %w", err)
		}
		replay.Sort(all)
		out := replayed{Summary: replay.Count(all), Incidents: append([]replay.Incident{}, all...)}
		if format.value != "text" {
			if err := write(t.out, format.value, out); err != nil {
				return err
			}
		} else {
			printReplay(unwrapped(t), out, len(ids) > 0)
		}
		return out.verdict(*strict)
	}
	return cmd
}

// verdict is errFound when somebody must look at what came out. A replay that could replay nothing has shown nothing.
func (r replayed) verdict(strict bool) error {
	if r.Summary.Incidents > 0 && r.Summary.Replayed == 0 {
		return errFound
	}
	for outcome, n := range r.Summary.Outcomes {
		if n > 0 && (outcome.Differs() || strict && outcome == replay.Undecided) {
			return errFound
		}
	}
	return nil
}

// evidence opens the bot when --server or what belongs to it is given, or no configuration, else the store.
func (s sourceFlags) evidence(cmd *cobra.Command, t terminal) (evidenceSource, error) {
	if *s.config == "" || s.api.names(cmd.Flags()) {
		return &remote{api: s.api, t: t}, nil
	}
	return openStore(cmd.Context(), *s.config, t)
}

// replaySettings are the playbooks of a configuration with its pools and its policy, or the built-in playbooks. No
// secret is needed for them.
func replaySettings(path string, t terminal) (replay.Settings, error) {
	if path != "" {
		l, err := load(path, config.Options{Offline: true, AllowUnauthenticated: true}, t)
		if err != nil {
			return replay.Settings{}, err
		}
		return replay.Settings{Playbooks: l.catalog, Pools: l.Pools, Policy: &l.Policy}, nil
	}
	builtin, err := catalog.Load(playbooks.Options{})
	return replay.Settings{Playbooks: builtin}, err
}

// chosenIncidents are those of the ids, with their journals, or the ids of those that were opened since.
func chosenIncidents(
	ctx context.Context, from source, ids []string, since time.Time, pool string,
) ([]string, error) {
	if len(ids) > 0 {
		return ids, nil
	}
	var out []string
	f := incident.Filter{AllPools: pool == "", Pool: pool, Limit: maxList}
	for {
		list, err := from.Incidents(ctx, f)
		if err != nil {
			return nil, err
		}
		for _, inc := range list {
			if inc.OpenedAt.Before(since) {
				return out, nil
			}
			out = append(out, inc.ID)
		}
		if len(list) < f.Limit {
			return out, nil
		}
		f.After = list[len(list)-1].ID
	}
}

func replayAll(
	ctx context.Context, from evidenceSource, with replay.Settings, ids []string,
) ([]replay.Incident, error) {
	var out []replay.Incident
	for _, id := range ids {
		inc, err := from.IncidentWithJournal(ctx, id)
		if errors.Is(err, incident.ErrNotFound) {
			return nil, fmt.Errorf("there is no incident %s; vllm-medic incidents list --state all lists every ID", id)
		}
		if err != nil {
			return nil, err
		}
		kept, err := from.Snapshots(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, with.Replay(inc, kept))
	}
	return out, nil
}
