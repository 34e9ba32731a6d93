package store_test

import (
	"os"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
)

// A dry run was called a drill, and what was written then is still counted by its present name.
func TestAWriteThatEndedDrilledIsADryRun(t *testing.T) {
	t.Parallel()
	for _, e := range storetest.Engines() {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			ctx, url := t.Context(), e.Bare(t)
			storetest.FillVersion2(t, url, os.DirFS("migrations/"+e.Name))
			s := storetest.Open(t, url)
			_, err := raw(t, url).ExecContext(ctx, `UPDATE writes SET drill = 1, result = 'drilled'`)
			ok(t, err)
			writes, err := s.WritesSince(ctx, "llama", time.Time{})
			ok(t, err)
			if len(writes) != 1 || !writes[0].DryRun || writes[0].Result != incident.ResultDryRun {
				t.Errorf("%+v", writes)
			}
		})
	}
}
