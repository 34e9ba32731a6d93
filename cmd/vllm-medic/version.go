package main

import (
	"context"
	"flag"
	"runtime"
	"runtime/debug"

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

func version(_ context.Context, args []string, t terminal) error {
	if _, err := parse(flag.NewFlagSet("version", flag.ContinueOnError), args, t); err != nil {
		return err
	}
	say(t.out, "vllm-medic %s, %s, store schema %d\n", versionText(), runtime.Version(), store.SchemaVersion)
	return nil
}
