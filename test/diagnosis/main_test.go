package diagnosis

import (
	"log/slog"
	"os"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/app"
)

func TestMain(m *testing.M) {
	app.LogClientGo(slog.New(slog.DiscardHandler)) // one for the whole process, so before anything runs
	os.Exit(m.Run())
}
