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

// programVersion is what version says, for programs. Its fields stay.
type programVersion struct {
	Version string `json:"version"`
	// Commit is empty for a build without version control.
	Commit string `json:"commit"`
	Go     string `json:"go"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	// Schema is the version of the store's schema that this program writes.
	Schema int64 `json:"schema"`
}

func thisVersion() (programVersion, error) {
	v := programVersion{Version: release, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				v.Commit = s.Value
			}
		}
	}
	var err error
	v.Schema, err = store.SchemaVersion()
	return v, err
}

// text is "v1.2.3 (0123456789ab)".
func (v programVersion) text() string {
	if len(v.Commit) >= 12 {
		return v.Version + " (" + v.Commit[:12] + ")"
	}
	return v.Version
}

func versionText() string {
	v, _ := thisVersion() // the schema is not in it
	return v.text()
}

func versionLine() string {
	v, err := thisVersion()
	schema := strconv.FormatInt(v.Schema, 10)
	if err != nil {
		schema = "unknown: " + err.Error()
	}
	return fmt.Sprintf("vllm-medic %s, %s, store schema %s", v.text(), v.Go, schema)
}

func version(t terminal) *cobra.Command {
	cmd := &cobra.Command{Use: "version", Short: "version, commit, Go, store schema"}
	format := formatFlag(cmd, "text")
	cmd.RunE = func(*cobra.Command, []string) error {
		if format.value == "text" {
			say(t.out, "%s\n", versionLine())
			return nil
		}
		v, err := thisVersion()
		if err != nil {
			return fmt.Errorf("version of the store's schema: %w", err)
		}
		return write(t.out, format.value, v)
	}
	return cmd
}
