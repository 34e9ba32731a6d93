// Command generate writes what the Helm chart has of other folders: alert rules, dashboards, the example of
// Alertmanager's routes, the conditions of admission policies, and the configuration's schema within that of the
// values.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

//go:generate go run .

// chart is where the files go, and root the repository, from here.
const (
	chart = "../vllm-medic"
	root  = "../../.."
)

func main() {
	if err := write(); err != nil {
		panic(err)
	}
}

// write makes the folder of files anew: what has no source any more goes.
func write() error {
	files, err := generated()
	if err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(chart, "files")); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(chart, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), //nolint:gosec // part of the repository
			os.WriteFile(path, files[name], 0o644)); err != nil { //nolint:gosec // part of the repository
			return err
		}
	}
	return nil
}

// generated are the files by their path in the chart.
func generated() (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, copied := range []struct{ from, to string }{
		{"deploy/prometheus/rules/*.yaml", "files/rules"},
		{"deploy/prometheus/alertmanager.example.yml", "files"},
		{"deploy/grafana/*.json", "files/dashboards"},
	} {
		paths, err := fs.Glob(os.DirFS(root), copied.from)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			b, err := fs.ReadFile(os.DirFS(root), path)
			if err != nil {
				return nil, err
			}
			out[filepath.Join(copied.to, filepath.Base(path))] = b
		}
	}
	leaves, err := admissionShapes()
	if err != nil {
		return nil, err
	}
	out["files/admission.yaml"] = leaves
	schema, err := valuesSchema()
	if err != nil {
		return nil, err
	}
	out["values.schema.json"] = schema
	return out, nil
}

// valuesSchema is the schema of the values with that of the configuration in it.
func valuesSchema() ([]byte, error) {
	var values, config map[string]any
	if err := errors.Join(read("values.json", &values),
		read(filepath.Join(root, "docs", "config.schema.json"), &config)); err != nil {
		return nil, err
	}
	values["$defs"] = config["$defs"]
	delete(config, "$defs")
	delete(config, "$schema")
	properties, ok := values["properties"].(map[string]any)
	if !ok {
		return nil, errors.New("values.json has no properties")
	}
	properties["config"] = config
	b, err := json.MarshalIndent(values, "", "  ")
	return append(b, '\n'), err
}

func read(path string, into any) error {
	b, err := os.ReadFile(path) //nolint:gosec // part of the repository
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
