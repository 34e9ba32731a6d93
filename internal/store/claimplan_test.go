package store

import (
	"database/sql"
	"strings"
	"testing"
)

// A claim that sorts, or reads what it does not take, gets slower the more deliveries wait.
func TestAClaimReadsDeliveriesInTheOrderOfAnIndex(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	rows, err := s.write.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+claimable, orderTries, orderTries, 256)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := collect(rows, func(r *sql.Rows) (string, error) {
		var id, parent, unused int
		var detail string
		return detail, r.Scan(&id, &parent, &unused, &detail)
	})
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(plan, "\n")
	for _, want := range []string{
		"SEARCH d USING INDEX deliveries_free (held_until=?)",
		"INDEX deliveries_held (grp=? AND id<?)", "INDEX deliveries_cut (grp=? AND id<?)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN") {
		t.Errorf("the claim sorts or scans:\n%s", text)
	}
}
