package image

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// stages returns the stage that builds and the stage that is shipped.
func stages(t *testing.T) (build, shipped stage) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	s := parse(t, string(raw))
	if len(s) != 2 {
		t.Fatalf("%d stages, want one that builds and one that is shipped", len(s))
	}
	return s[0], s[1]
}

func TestTheImageIsSmallAndUnprivileged(t *testing.T) {
	t.Parallel()
	build, shipped := stages(t)
	if !strings.HasPrefix(build.from, "golang:1.") {
		t.Errorf("the build begins with %s, want a Go of one minor release", build.from)
	}
	if !strings.Contains(shipped.from, "distroless/static") && shipped.from != "scratch" {
		t.Errorf("the image begins with %s, which may hold a shell", shipped.from)
	}
	if got := shipped.all("RUN"); len(got) > 0 {
		t.Errorf("the image runs %q while it is built, but has no shell", got)
	}
	users := shipped.all("USER")
	if len(users) != 1 || !regexp.MustCompile(`^[1-9]\d*:[1-9]\d*$`).MatchString(users[0]) {
		t.Errorf("USER %q, want one number that is not root's: runAsNonRoot cannot read names", users)
	}
	for word, want := range map[string][]string{
		"ENTRYPOINT": {`["/vllm-medic"]`},
		"CMD":        {`["serve", "--config", "/etc/vllm-medic/medic.yaml"]`},
		"EXPOSE":     {"8080 8081 8082"},
		"VOLUME":     {"/var/lib/vllm-medic"},
		"ENV":        {"TMPDIR=/var/lib/vllm-medic"}, // with a read-only root file system SQLite has no other place
	} {
		if diff := cmp.Diff(want, shipped.all(word)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", word, diff)
		}
	}
}

func TestTheVolumeBelongsToTheUser(t *testing.T) {
	t.Parallel()
	_, shipped := stages(t)
	for _, i := range shipped.body {
		if to, _ := target(i.rest); i.word == "COPY" && to == "/var/lib/vllm-medic" {
			if user := shipped.all("USER")[0]; i.flags["chown"] != user {
				t.Errorf("/var/lib/vllm-medic belongs to %q, but the program runs as %s", i.flags["chown"], user)
			}
			return
		}
	}
	t.Error("nothing makes /var/lib/vllm-medic: a new volume would be root's")
}

func TestEveryPathThatIsCopiedReachesTheBuild(t *testing.T) {
	t.Parallel()
	build, _ := stages(t)
	skip := ignored(t)
	for _, rest := range build.all("COPY") {
		_, from := target(rest)
		for _, source := range from {
			if _, err := os.Stat(filepath.Join(root, source)); err != nil {
				t.Errorf("COPY %s: %v", rest, err)
			}
			if slices.ContainsFunc(skip, func(s string) bool { return s == source || strings.HasPrefix(source, s+"/") }) {
				t.Errorf("COPY %s: .dockerignore keeps it out", rest)
			}
		}
	}
}

func TestTheBuildMakesAStaticProgramThatRuns(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Large)
	build, shipped := stages(t)
	folder := t.TempDir()
	build.run(t, folder, map[string]string{"RELEASE": "v1.2.3-test"})

	program := ""
	for _, i := range shipped.body {
		if i.word != "COPY" {
			continue
		}
		if i.flags["from"] != build.name {
			t.Errorf("COPY %s comes from %q, not from the build", i.rest, i.flags["from"])
		}
		to, from := target(i.rest)
		for _, source := range from {
			if _, err := os.Stat(filepath.Join(folder, source)); err != nil {
				t.Errorf("COPY %s: the build did not make it: %v", i.rest, err)
			}
		}
		if to == "/vllm-medic" {
			program = filepath.Join(folder, from[0])
		}
	}

	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the program is linked dynamically: it would not start in the image")
	}
	cmd := exec.CommandContext(t.Context(), program, "version")
	cmd.Env, cmd.Dir = []string{"PATH="}, "/"
	text, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(text), "v1.2.3-test") {
		t.Errorf("version: %v\n%s", err, text)
	}
}

func TestTheTestReadsADockerfileAsDockerDoes(t *testing.T) {
	t.Parallel()
	got := parse(t, "# comment\nFROM a AS b\nRUN one \\\n  two\n\nFROM c\ncopy --from=b --chown=1:1 /x /y\n")
	want := []stage{
		{from: "a", name: "b", body: []instruction{{"RUN", map[string]string{}, "one    two"}}},
		{from: "c", body: []instruction{{"COPY", map[string]string{"from": "b", "chown": "1:1"}, "/x /y"}}},
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(stage{}, instruction{})); diff != "" {
		t.Error(diff)
	}
}
