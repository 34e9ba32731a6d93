package store

import (
	"context"
	"fmt"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// Recorded says whether this database has ever had a write: its row is there, or its incident was removed after its
// time together with all its writes.
func (s *Store) Recorded(ctx context.Context, w incident.WriteID) (bool, error) {
	var known int64
	err := s.row(ctx, s.read, []any{&known}, `SELECT COUNT(*) FROM (
		SELECT id FROM writes WHERE id = ?
		UNION ALL SELECT incident FROM chains WHERE incident = ? AND removed_at > 0) AS found`, w.String(), w.Incident)
	if err != nil {
		return false, fmt.Errorf("look for the write %s: %w", w, err)
	}
	return known > 0, nil
}
