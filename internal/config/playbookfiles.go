package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/vllm-medic/vllm-medic/internal/boundedfile"
)

// PlaybookFile is one YAML file of a playbook folder.
type PlaybookFile struct {
	Name string
	Data []byte
}

// maxPlaybook bounds what is read of one file, in bytes. That is above what a playbook may have, so that the one who
// reads it says how large it is.
const maxPlaybook = 2 << 20

// PlaybookFiles reads the *.yaml and *.yml files of the folders, by name.
func PlaybookFiles(dirs []string) ([]PlaybookFile, error) {
	var out []PlaybookFile
	for _, dir := range dirs {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("playbooks.dirs: %s is not a readable directory", dir)
		}
		var names []string
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			found, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				return nil, fmt.Errorf("playbooks.dirs: %s: %w", dir, err)
			}
			names = append(names, found...)
		}
		slices.Sort(names)
		for _, name := range names {
			data, err := boundedfile.ReadRegular(name, maxPlaybook)
			if err != nil {
				return nil, fmt.Errorf("playbooks.dirs: %w", err)
			}
			out = append(out, PlaybookFile{Name: name, Data: data})
		}
	}
	return out, nil
}
