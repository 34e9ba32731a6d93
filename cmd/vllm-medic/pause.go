package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

type pauseAnswer struct {
	Pauses  []incident.Pause `json:"pauses"`
	Waiting []incident.Write `json:"waiting"`
}

func pause(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "pause", Short: "stop all changes, or those of one pool"}
	fs := cmd.Flags()
	c := clientFlags(fs, t)
	reason := fs.String("reason", "", "`WHY`, for whoever is on call next (required)")
	pool := fs.String("pool", "", "only the pool `NAME`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if *reason == "" {
			return usageError{"--reason is required"}
		}
		var got pauseAnswer
		if err := c.call(cmd.Context(), t, "POST", "/api/v1/pause", map[string]string{"pool": *pool, "reason": *reason},
			&got); err != nil {
			return err
		}
		printPauses(t, got)
		if len(got.Waiting) == 0 {
			return nil
		}
		say(t.err, "Paused, but these earlier writes have not ended yet; check them with vllm-medic incidents show ID:\n")
		for _, w := range got.Waiting {
			say(t.err, "  %s %s of %s, since %s\n", w.Op, w.Target, w.Incident, clock(w.StartedAt))
		}
		return errFound
	}
	return cmd
}

func resume(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "resume", Short: "allow changes again"}
	fs := cmd.Flags()
	c := clientFlags(fs, t)
	pool := fs.String("pool", "", "only the pool `NAME`")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var got pauseAnswer
		if err := c.call(cmd.Context(), t, "POST", "/api/v1/resume", map[string]string{"pool": *pool}, &got); err != nil {
			return err
		}
		printPauses(t, got)
		return nil
	}
	return cmd
}

func printPauses(t terminal, got pauseAnswer) {
	if len(got.Pauses) == 0 {
		say(t.out, "Writes are allowed.\n")
	}
	for _, p := range got.Pauses {
		say(t.out, "%s\n", pauseText(p))
	}
}

// pauseText says what is paused, since when, by whom and why.
func pauseText(p incident.Pause) string {
	scope := "all pools"
	if p.Pool != "" {
		scope = "pool " + p.Pool
	}
	return cell(fmt.Sprintf("Writes are paused for %s since %s by %s: %s", scope, clock(p.At), present.Person(p.By),
		p.Reason))
}
