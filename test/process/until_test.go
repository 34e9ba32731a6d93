package process_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/vllm-medic/vllm-medic/test/process"
)

// TestUntilSaysWhatItWaitedFor has patience end in the middle of a try. What that try says is only that it was ended.
func TestUntilSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		missing, tries := errors.New("there is no incident"), 0
		err := process.Until(t.Context(), func(ctx context.Context) error {
			if tries++; tries < 3 {
				return missing
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if !errors.Is(err, missing) {
			t.Errorf("it says %v", err)
		}
	})
}
