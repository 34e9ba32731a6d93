package image

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// instruction is one line of the Dockerfile: its word and the rest.
type instruction struct{ word, rest string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	raw, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var out []instruction
	for line := range strings.Lines(strings.ReplaceAll(string(raw), "\\\n", " ")) {
		word, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && !strings.HasPrefix(word, "#") {
			out = append(out, instruction{word, strings.TrimSpace(rest)})
		}
	}
	return out
}

// last returns the last instruction of a kind.
func last(t *testing.T, all []instruction, word string) string {
	t.Helper()
	for n := len(all) - 1; n >= 0; n-- {
		if all[n].word == word {
			return all[n].rest
		}
	}
	t.Fatalf("the Dockerfile has no %s", word)
	return ""
}

func TestTheImageIsSmallAndUnprivileged(t *testing.T) {
	t.Parallel()
	all := dockerfile(t)
	if stages := len(regexp.MustCompile(`(?m)^FROM `).FindAllString(join(all), -1)); stages != 2 {
		t.Errorf("%d stages, want 2", stages)
	}
	if from := last(t, all, "FROM"); !strings.Contains(from, "distroless/static") {
		t.Errorf("the last stage is %q, which may hold a shell", from)
	}
	if user := last(t, all, "USER"); !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(user) {
		t.Errorf("USER %s is not a number other than root, as runAsNonRoot wants", user)
	}
	if v := last(t, all, "VOLUME"); v != "/var/lib/vllm-medic" {
		t.Errorf("VOLUME %s: the root file system is read-only, and the store's default path is /var/lib/vllm-medic", v)
	}
	if e := last(t, all, "ENTRYPOINT"); e != `["/vllm-medic"]` {
		t.Errorf("ENTRYPOINT %s", e)
	}
	for _, i := range all {
		if i.word != "COPY" || strings.Contains(i.rest, "--from=") {
			continue
		}
		parts := strings.Fields(i.rest)
		for _, src := range parts[:len(parts)-1] {
			if _, err := os.Stat(filepath.Join("../..", src)); err != nil {
				t.Errorf("COPY %s: %v", src, err)
			}
		}
	}
}

func join(all []instruction) string {
	var b strings.Builder
	for _, i := range all {
		b.WriteString(i.word + " " + i.rest + "\n")
	}
	return b.String()
}

func TestTheBuildCommandMakesAStaticProgramThatRuns(t *testing.T) {
	t.Parallel()
	command := ""
	for _, i := range dockerfile(t) {
		if i.word == "RUN" && strings.Contains(i.rest, "go build") {
			command = i.rest
		}
	}
	if command == "" {
		t.Fatal("the Dockerfile builds nothing")
	}
	out := filepath.Join(t.TempDir(), "vllm-medic")
	if !strings.Contains(command, "-o /out/vllm-medic ") {
		t.Fatalf("the build does not write /out/vllm-medic, which the last stage copies: %s", command)
	}
	build := exec.CommandContext(t.Context(), "sh", "-ec", strings.Replace(command, "/out/vllm-medic", out, 1))
	build.Dir, build.Env = "../..", append(os.Environ(), "RELEASE=v1.2.3-test")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", command, err, text)
	}
	f, err := elf.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() //nolint:errcheck // only read
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			t.Error("the program is linked dynamically and would not start in the image")
		}
	}
	text, err := exec.CommandContext(t.Context(), out, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(text), "v1.2.3-test") {
		t.Errorf("version: %v\n%s", err, text)
	}
}
