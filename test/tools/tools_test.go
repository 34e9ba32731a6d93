package tools

import (
	"strings"
	"testing"
)

func TestWhatIsMissingIsNamedWithTheCommandThatBuildsIt(t *testing.T) {
	t.Setenv(Variable, t.TempDir())
	if _, err := Path("bin/etcd"); err == nil || !strings.Contains(err.Error(), "make tools") ||
		!strings.Contains(err.Error(), "bin/etcd") {
		t.Errorf("the error is %v", err)
	}
}
