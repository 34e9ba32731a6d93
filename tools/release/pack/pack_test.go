package main

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

const top = "../../.."

// made is a folder as a build leaves it, with the real Dockerfile and a program that is none.
func made(t *testing.T, dockerfile string) build {
	t.Helper()
	b := build{folder: t.TempDir(), programs: map[string]string{}}
	files := map[string]string{"src/Dockerfile": dockerfile, "src/THIRD_PARTY_LICENSES": "licenses"}
	for _, arch := range platforms {
		files["out-"+arch+"/vllm-medic"] = "program for " + arch
		if err := os.MkdirAll(b.made(arch, "data"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		path := filepath.Join(b.folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func ours(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(top, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

var candidate = release{commit: strings.Repeat("ab", 20), version: "v1.2.3", date: time.Unix(1_700_000_000, 0).UTC()}

// The program, the image and the chart have one version, which the chart says.
func TestTheVersionIsTheOneOfTheChart(t *testing.T) {
	t.Parallel()
	const chart = "name: x\nversion: 1.2.3\nappVersion: v1.2.3\n"
	for name, tt := range map[string]struct {
		chart string
		tags  []string
		want  string // none: it is refused
	}{
		"tagged":                     {chart, []string{"v1.2.3"}, "v1.2.3"},
		"not tagged":                 {chart, nil, "v1.2.3-dev-abababababab"},
		"another tag":                {chart, []string{"v1.2.4"}, ""},
		"two tags":                   {chart, []string{"v1.2.3", "v1.2.4"}, ""},
		"a chart of another version": {strings.ReplaceAll(chart, "v1.2.3", "v1.2.4"), []string{"v1.2.3"}, ""},
		"a chart without a version":  {"name: x\nappVersion: v1.2.3\n", nil, ""},
	} {
		got, err := versionOf(tt.chart, tt.tags, candidate.commit)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
	for _, tag := range []string{"", "v9.9.9"} { // a repository with this chart, which says neither
		root := t.TempDir()
		file := filepath.Join(root, chartFile)
		raw, err := os.ReadFile(filepath.Join(top, chartFile))
		if err = errors.Join(err, os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, raw, 0o644)); err != nil {
			t.Fatal(err)
		}
		commands := [][]string{
			{"init", "--quiet"},
			{"add", "."},
			{"-c", "user.name=x", "-c", "user.email=x@example.com", "commit", "--quiet", "--message", "x"},
			{"tag", "v"}, // not that of a version
		}
		if tag != "" {
			commands = append(commands, []string{"tag", tag})
		}
		for _, args := range commands {
			if _, err := git(root, args...); err != nil {
				t.Fatal(err)
			}
		}
		r, err := identify(root)
		if tag == "" && (err != nil || !strings.HasSuffix(r.version, "-dev-"+r.commit[:12])) {
			t.Errorf("without a tag: %q, %v", r.version, err)
		}
		if tag != "" && (err == nil || !strings.Contains(err.Error(), tag)) {
			t.Errorf("with the tag %s: %q, %v", tag, r.version, err)
		}
	}
}

func TestTheImageIsWhatTheDockerfileSays(t *testing.T) {
	t.Parallel()
	first, err := candidate.index(made(t, ours(t)))
	if err != nil {
		t.Fatal(err)
	}
	second, err := candidate.index(made(t, ours(t)))
	if err != nil {
		t.Fatal(err)
	}
	a, errA := first.Digest()
	b, errB := second.Digest()
	if err := errors.Join(errA, errB); err != nil || a != b {
		t.Errorf("two folders with the same content make %s and %s: %v", a, b, err)
	}
	manifest, err := first.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for n, arch := range platforms {
		img, err := first.Image(manifest.Manifests[n].Digest)
		if err != nil {
			t.Fatal(err)
		}
		file, err := img.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		c := file.Config
		got := fmt.Sprint(file.OS, file.Architecture, c.User, c.Entrypoint, c.Cmd, slices.Sorted(maps.Keys(c.ExposedPorts)),
			slices.Sorted(maps.Keys(c.Volumes)), c.Env[len(c.Env)-1], c.Labels["org.opencontainers.image.version"])
		want := fmt.Sprint("linux", arch, "65532:65532", []string{"/vllm-medic"},
			[]string{"serve", "--config", "/etc/vllm-medic/medic.yaml"}, []string{"8080/tcp", "8081/tcp", "8082/tcp"},
			[]string{"/var/lib/vllm-medic"}, "TMPDIR=/var/lib/vllm-medic", "v1.2.3")
		if got != want {
			t.Errorf("linux/%s is\n%s, want\n%s", arch, got, want)
		}
		files := contents(t, img)
		for name, want := range map[string]string{
			"vllm-medic": "755 0 program for " + arch, "licenses/THIRD_PARTY_LICENSES": "755 0 licenses",
			"var/lib/vllm-medic": "755 65532 ", "tmp": "777 0 ", "home/nonroot": "700 65532 ",
		} {
			if files[name] != want {
				t.Errorf("linux/%s: %s is %q, want %q", arch, name, files[name], want)
			}
		}
		if !strings.Contains(files[bundlePath], "BEGIN CERTIFICATE") {
			t.Errorf("linux/%s has no certificates of authorities", arch)
		}
		for name := range files {
			if strings.HasPrefix(filepath.Base(name), "sh") || strings.HasPrefix(name, "bin") {
				t.Errorf("linux/%s has %s, which may be a shell", arch, name)
			}
		}
	}
}

// contents are the files of an image with their modes, owners and contents.
func contents(t *testing.T, img v1.Image) map[string]string {
	t.Helper()
	out := map[string]string{}
	all := mutate.Extract(img)
	defer func() { _ = all.Close() }()
	for r := tar.NewReader(all); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.TrimSuffix(h.Name, "/")] = fmt.Sprintf("%o %d %s", h.FileInfo().Mode().Perm(), h.Uid, text)
	}
}

// What the release cannot do as Docker would is refused: an image that lacks a part of the Dockerfile looks like one
// that has it.
func TestADockerfileThatTheReleaseCannotFollowIsRefused(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]func(string) string{
		"a command in the image": func(s string) string { return s + "\nRUN adduser x\n" },
		"a health check":         func(s string) string { return s + "\nHEALTHCHECK CMD [\"/vllm-medic\"]\n" },
		"a third stage":          func(s string) string { return s + "\nFROM scratch\n" },
		"another source":         func(s string) string { return strings.ReplaceAll(s, "--from=build", "--from=other") },
		"a path outside":         func(s string) string { return strings.ReplaceAll(s, "/src/out/vllm-medic ", "/bin/sh ") },
		"an added archive":       func(s string) string { return s + "\nADD x.tar /\n" },
		"a named user": func(s string) string {
			return strings.ReplaceAll(s, "--chown=65532:65532", "--chown=nonroot")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := edit(ours(t))
			if text == ours(t) {
				t.Fatal("the test changes nothing")
			}
			if _, err := candidate.index(made(t, text)); err == nil {
				t.Error("an image was made")
			}
		})
	}
}

func TestWhatIsNotTheReleaseIsRefused(t *testing.T) {
	t.Parallel()
	b := made(t, ours(t))
	if err := same(b.programs["amd64"], b.made("amd64", "vllm-medic")); err == nil {
		t.Error("a missing file is the same as another")
	}
	if err := same(b.made("amd64", "vllm-medic"), b.made("arm64", "vllm-medic")); err == nil {
		t.Error("two programs that differ are the same")
	}
	if err := candidate.inspect(b.made("amd64", "vllm-medic"), "amd64"); err == nil {
		t.Error("a text is a program")
	}
	self, err := os.Executable() // static, and not of this commit
	if err != nil {
		t.Fatal(err)
	}
	for _, arch := range platforms {
		if err := candidate.inspect(self, arch); err == nil {
			t.Errorf("this test is the program for linux/%s", arch)
		}
	}
	for text, ok := range map[string]bool{
		`{"bomFormat":"CycloneDX","specVersion":"1.6","version":1}`:                                        true,
		`{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[{"name":"x"}]}`:            false,
		`{"bomFormat":"CycloneDX","specVersion":"1.6","version":1,"components":[],"unknown":[{"name":1}]}`: false,
		`{}`: false,
	} {
		if err := valid([]byte(text)); (err == nil) != ok {
			t.Errorf("%s: %v", text, err)
		}
	}
	if err := complete([]byte(`{"components":[]}`), self); err == nil {
		t.Error("an SBOM without a component names all of them")
	}
	if _, err := emptied(b.folder); err == nil {
		t.Error("a folder with files of somebody's was emptied")
	}
}
