// Package catalog holds the built-in signals, profiles and playbooks as YAML, embedded in the program. It reads nothing
// else.
package catalog

import (
	"embed"
	"fmt"
	"io/fs"
	"path"

	"github.com/vllm-medic/vllm-medic/playbooks"
)

//go:embed *.yaml
var embedded embed.FS

// recorded are the tests whose series drills play.
//
//go:embed tests/queue-backlog.yaml tests/kv-cache-full.yaml tests/preemption.yaml tests/high-tpot.yaml
//go:embed tests/high-ttft.yaml tests/abort-spike.yaml
var recorded embed.FS

// Recorded returns a file of tests whose series drills play, and its name for errors.
func Recorded(name string) (path string, data []byte, err error) {
	path = "tests/" + name
	if data, err = recorded.ReadFile(path); err != nil {
		return "", nil, fmt.Errorf("read the recorded series %s: %w", name, err)
	}
	return "builtin/" + path, data, nil
}

// Files returns the built-in files for playbooks.Load, in a fixed order. The names begin with "builtin/", so that a
// problem in one is not taken for a problem in a file of the user's.
func Files() ([]playbooks.File, error) {
	entries, err := fs.ReadDir(embedded, ".")
	if err != nil {
		return nil, fmt.Errorf("list the built-in playbooks: %w", err)
	}
	files := make([]playbooks.File, 0, len(entries))
	for _, e := range entries {
		data, err := embedded.ReadFile(e.Name())
		if err != nil {
			return nil, fmt.Errorf("read the built-in playbook %s: %w", e.Name(), err)
		}
		files = append(files, playbooks.File{Name: path.Join("builtin", e.Name()), Data: data})
	}
	return files, nil
}

// Load reads the built-in playbooks alone, without any of the user's.
func Load(opts playbooks.Options) (*playbooks.Catalog, error) {
	files, err := Files()
	if err != nil {
		return nil, err
	}
	return playbooks.Load(files, opts)
}
