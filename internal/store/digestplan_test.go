package store

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Messages are kept for a quarter of a year: to look through all of them at each new incident, or each time a digest is
// drawn, gets slower with them.
func TestDigestsAreReadThroughTheirIndexes(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	for name, c := range map[string]struct {
		query string
		args  []any
		want  []string
	}{
		"what came of late": {cameAround, []any{incident.SinkSlack, "C1", 1, 2, 5}, []string{"messages_joined"}},
		"what can be joined": {
			joinable,
			[]any{incident.SinkSlack, "C1", incident.KindDigest, 1, 2, 100, 1},
			[]string{"messages_joined", "messages_of_digest"},
		},
		"its incidents": {members, []any{"d", incident.SinkSlack}, []string{"messages_of_digest"}},
		"their bodies": {
			foldedBodies, []any{"d", incident.SinkSlack, "d", incident.SinkSlack, 20}, []string{"messages_of_digest"},
		},
		"how fast they came": {cameWithin, []any{incident.SinkSlack, "C1", 1, 2}, []string{"messages_joined"}},
		"what is unfolded":   {unfoldable, []any{"d", incident.SinkSlack, "", ""}, []string{"messages_of_digest"}},
		"what is pruned":     {emptyDigests, []any{incident.KindDigest, 1, 200}, []string{"messages_of_digest"}},
	} {
		rows, err := s.write.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+c.query, c.args...)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		plan, err := collect(rows, func(r *sql.Rows) (string, error) {
			var id, parent, unused int
			var detail string
			return detail, r.Scan(&id, &parent, &unused, &detail)
		})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := strings.Join(plan, "\n")
		for _, want := range c.want {
			if !strings.Contains(text, "INDEX "+want) {
				t.Errorf("%s does not use %s:\n%s", name, want, text)
			}
		}
		if name != "what is pruned" && strings.Contains(text, "SCAN m") { // that is done once an hour
			t.Errorf("%s looks through all messages:\n%s", name, text)
		}
	}
}
