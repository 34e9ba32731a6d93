package app_test

import (
	"os"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/postgres"
)

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }
