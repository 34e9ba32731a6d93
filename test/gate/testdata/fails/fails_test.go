package fails

import "testing"

func TestFails(t *testing.T) {
	t.Run("always", func(t *testing.T) { t.Error("on purpose") })
	t.Run("never", func(*testing.T) {})
}
