package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// part is a module whose packages are linked, or Go's standard library.
type part struct {
	module, root string
	// folders are those of the linked packages.
	folders []string
	texts   []text
}

// platforms are those that are released; what is linked differs between them.
var platforms = []string{"amd64", "arm64"}

// linked asks Go what the program is made of on every platform, in the order of the names.
func linked(root string) ([]part, error) {
	found := map[string]*part{}
	for _, arch := range platforms {
		cmd := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module,Root", "./cmd/vllm-medic")
		cmd.Dir, cmd.Stderr = root, os.Stderr
		cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=-mod=readonly")
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", arch, err)
		}
		if err := collect(found, out); err != nil {
			return nil, fmt.Errorf("go list for %s: %w", arch, err)
		}
	}
	var all []part
	for _, name := range slices.Sorted(maps.Keys(found)) {
		p := *found[name]
		slices.Sort(p.folders)
		p.folders = slices.Compact(p.folders)
		all = append(all, p)
	}
	if len(all) < 2 {
		return nil, errors.New("go list names no module that is linked")
	}
	return all, nil
}

// goItself stands for the standard library and the runtime.
const goItself = "Go"

func collect(found map[string]*part, out []byte) error {
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir, Root string
			Standard  bool
			Module    *struct {
				Path, Dir string
				Main      bool
			}
		}
		switch err := d.Decode(&p); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		name, root := goItself, p.Root
		if !p.Standard {
			if p.Module == nil {
				return fmt.Errorf("%s belongs to no module", p.Dir)
			}
			if p.Module.Main {
				continue
			}
			name, root = p.Module.Path, p.Module.Dir
		}
		if found[name] == nil {
			found[name] = &part{module: name, root: root}
		}
		found[name].folders = append(found[name].folders, p.Dir)
	}
}

// text is the content of one file with a license or a notice.
type text struct {
	// path is relative to the module.
	path, content string
}

// texts are the license files that hold for the linked packages of a part: those of each package's folder and of the
// folders around it, up to the module's own.
func texts(p part) ([]text, error) {
	seen := map[string]bool{}
	var out []text
	for _, folder := range p.folders {
		for dir := folder; ; dir = filepath.Dir(dir) {
			if seen[dir] {
				break
			}
			seen[dir] = true
			here, err := licenseFiles(p.root, dir)
			if err != nil {
				return nil, err
			}
			for _, t := range here {
				if left[p.module+" "+t.path] == "" {
					out = append(out, t)
				}
			}
			if rel, err := filepath.Rel(p.root, dir); err != nil || rel == "." || strings.HasPrefix(rel, "..") {
				break
			}
		}
	}
	slices.SortFunc(out, func(a, b text) int { return strings.Compare(a.path, b.path) })
	return out, nil
}

func licenseFiles(root, dir string) ([]text, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []text
	for _, e := range entries {
		if e.IsDir() || !isLicense(e.Name()) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		path, err := filepath.Rel(root, filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, err
		}
		out = append(out, text{path: filepath.ToSlash(path), content: tidy(string(raw))})
	}
	return out, nil
}

// isLicense goes by the names that are in use.
func isLicense(file string) bool {
	base, ext := strings.ToUpper(file), strings.ToLower(filepath.Ext(file))
	if ext == ".go" || ext == ".sh" || ext == ".yml" || ext == ".yaml" {
		return false
	}
	return slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT", "PATENTS", "UNLICENSE"},
		func(word string) bool { return strings.HasPrefix(base, word) })
}

// tidy makes texts equal that differ in ends of lines only.
func tidy(s string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\f", ""), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \t")
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n")
}
