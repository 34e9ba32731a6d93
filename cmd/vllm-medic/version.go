package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/vllm-medic/vllm-medic/internal/store"
)

// release is set by the linker: -X main.release=v1.2.3.
var release = "dev"

func versionText() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				return release + " (" + s.Value[:12] + ")"
			}
		}
	}
	return release
}

func versionLine() string {
	number, err := store.SchemaVersion()
	schema := strconv.FormatInt(number, 10)
	if err != nil {
		schema = "unknown: " + err.Error()
	}
	return fmt.Sprintf("vllm-medic %s, %s, store schema %s", versionText(), runtime.Version(), schema)
}

func version(t terminal) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "version, commit, Go, store schema", Run: func(*cobra.Command, []string) {
		say(t.out, "%s\n", versionLine())
	}}
}
