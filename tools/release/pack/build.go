package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// build is a folder with the commit as src, and with what was made in it for each platform.
type build struct {
	folder   string
	programs map[string]string
}

func (b build) source(name string) string { return filepath.Join(b.folder, "src", name) }

// made is a path below out/ as the build for a platform left it. It is not in the tree, which stays what was committed.
func (b build) made(arch, name string) string { return filepath.Join(b.folder, "out-"+arch, name) }

// build makes every program in a folder of its own, by the commands of the Dockerfile. With a cache it starts from an
// empty one there.
func (r release) build(folder, cache string) (build, error) {
	b := build{folder: folder, programs: map[string]string{}}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return b, err
	}
	if _, err := git(r.root, "clone", "--quiet", "--shared", "--no-checkout", r.root, b.source("")); err != nil {
		return b, err
	}
	if _, err := git(b.source(""), "checkout", "--quiet", "--detach", r.commit); err != nil {
		return b, err
	}
	d, err := readDockerfile(b.source("Dockerfile"))
	if err != nil {
		return b, err
	}
	for _, arch := range platforms {
		for _, command := range d.builds {
			if err := r.command(command, b.source(""), arch, cache); err != nil {
				return b, err
			}
		}
		if err := os.Rename(b.source("out"), b.made(arch, "")); err != nil {
			return b, err
		}
		b.programs[arch] = b.made(arch, "vllm-medic")
	}
	return b, nil
}

// command runs a RUN of the Dockerfile. The environment of whoever calls has no say in what is compiled.
func (r release) command(command, folder, arch, cache string) error {
	cmd := exec.Command("sh", "-c", command)
	cmd.Dir = folder
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(name, "GO") || slices.Contains(places, name) {
			cmd.Env = append(cmd.Env, v)
		}
	}
	// The commit stands in the program, and whether the tree was that commit.
	cmd.Env = append(cmd.Env, "GOFLAGS=-mod=readonly -buildvcs=true", "GOOS=linux", "GOARCH="+arch, "RELEASE="+r.version)
	if cache != "" {
		cmd.Env = append(cmd.Env, "GOCACHE="+cache)
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, text)
	}
	return nil
}

// places are the variables of Go that say where something is, and not what is made.
var places = []string{
	"GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GONOPROXY", "GOPRIVATE", "GOSUMDB", "GONOSUMDB", "GOTMPDIR", "GOENV",
}

// same compares two files.
func same(a, b string) error {
	x, err := digest(a)
	if err != nil {
		return err
	}
	y, err := digest(b)
	if err != nil {
		return err
	}
	if x != y {
		return fmt.Errorf("two builds of one commit differ: %s in %s, %s in %s", x, a, y, b)
	}
	return nil
}

func digest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), errors.Join(err, f.Close())
}

// inspect refuses a program that is not what the release says it is.
func (r release) inspect(program, arch string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; f.Machine != want {
		return fmt.Errorf("the program is for %v, want %v", f.Machine, want)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return errors.New("the program is linked dynamically")
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	for key, want := range map[string]string{
		"vcs.revision": r.commit, "vcs.modified": "false", "CGO_ENABLED": "0", "-trimpath": "true",
	} {
		if i := slices.IndexFunc(info.Settings, func(s debug.BuildSetting) bool { return s.Key == key }); i < 0 ||
			info.Settings[i].Value != want {
			return fmt.Errorf("the program does not say that its %s is %s", key, want)
		}
	}
	if arch != runtime.GOARCH || runtime.GOOS != "linux" {
		return nil
	}
	return r.says(exec.Command(program, "version"))
}

// says runs the program, which has to name the version and the commit.
func (r release) says(cmd *exec.Cmd) error {
	cmd.Env, cmd.Dir = []string{"PATH="}, "/"
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("version: %w\n%s", err, out)
	}
	if want := "vllm-medic " + r.version + " (" + r.commit[:12] + ")"; !strings.HasPrefix(string(out), want) {
		return fmt.Errorf("the program says %q, want %q", out, want)
	}
	return nil
}
