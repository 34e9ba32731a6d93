// Command generate writes the Grafana dashboards of the folder above it: one of vLLM's pools, one of the bot itself.
// Queries, layout and what all panels have in common are written once, here; test/grafana holds the files against
// Grafana's own types, the metrics that there are, and a simulated fleet.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

//go:generate go run .

// files are the dashboards by the name of their file.
func files() map[string]dashboard {
	return map[string]dashboard{"vllm.json": pools(), "vllm-medic.json": bot()}
}

func main() {
	for name, d := range files() {
		if err := write(filepath.Join("..", name), d); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(path string, d dashboard) error {
	text, err := render(d)
	if err != nil {
		return fmt.Errorf("render %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644) //nolint:gosec // a file of the repository, which everybody reads
}

func render(d dashboard) ([]byte, error) {
	text, err := json.MarshalIndent(d, "", "  ")
	return append(text, '\n'), err
}
