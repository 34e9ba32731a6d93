package rights

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/actions"
	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Whoever holds the token may not scale below the minimum, so the bot may not either: not even back to where its step
// began. The step says so to its approver, in the words that come true.
func TestTheRollbackOfAScaleBelowTheMinimumIsRefusedAsItsStepSays(t *testing.T) {
	t.Parallel()
	g := guard(t)
	g.create(t, groups, object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "grouped",
		map[string]any{"replicas": int64(1), "size": int64(4)}))
	bot, err := actions.New(actions.Config{}, g.rest(), slog.New(slog.DiscardHandler))
	must(t, err)
	p := g.pools[2]
	s, err := bot.Propose(t.Context(), p, incident.StepRequest{Kind: incident.StepReplicas, Add: 1})
	must(t, err)
	if !slices.Contains(s.Cautions(), "the rollback to 1 is below the pool's minimum of 2: where the admission policies "+
		"are in force they refuse it, and 2 stays until someone scales it") {
		t.Errorf("cautions: %q", s.Cautions())
	}
	_, err = bot.Do(t.Context(), p, s, incident.OpApply, "w1")
	must(t, err)
	_, err = bot.Do(t.Context(), p, s, incident.OpUndo, "w1.undo")
	if _, refused := errors.AsType[*incident.RefusedError](err); !refused ||
		!strings.Contains(err.Error(), "and within their limits") {
		t.Errorf("undo: %v", err)
	}
	again, err := bot.Propose(t.Context(), p, incident.StepRequest{Kind: incident.StepReplicas, Add: 1})
	must(t, err)
	if again.From != incident.Set("2") || slices.ContainsFunc(again.Cautions(), func(text string) bool {
		return strings.Contains(text, "rollback")
	}) {
		t.Errorf("the next step begins at %s with %q", again.From, again.Cautions())
	}
}
