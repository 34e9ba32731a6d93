package docs

import (
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/size"
)

// fresh says whether a line brings the sources to a machine that has nothing, as they can be had. No such machine is at
// hand, so the line is held against what the project says of itself: the path of its module, and the packages that its
// own tests ask for.
func fresh(t *testing.T, line string) bool {
	t.Helper()
	module := strings.Fields(read(t, "go.mod"))[1]
	if line == "git clone https://"+module || line == "cd "+path.Base(module) {
		return true
	}
	packages, ok := strings.CutPrefix(line, "apt-get update && apt-get install -y ")
	if !ok {
		return false
	}
	var asked []string
	for _, m := range regexp.MustCompile(`need (\S+) |missing\+=\((\S+)\)`).FindAllStringSubmatch(read(t,
		"scripts/prepare.sh"), -1) {
		asked = append(asked, m[1]+m[2])
	}
	for p := range strings.FieldsSeq(packages) {
		if !slices.Contains(asked, p) {
			t.Errorf("scripts/prepare.sh does not ask for the package %s; it asks for %v", p, asked)
		}
	}
	return true
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Somebody without the rights to install anything gets one list, not one item a run.
func TestEverythingThatTheTestsMissIsListedAtOnce(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	bin := t.TempDir()
	for _, tool := range []string{"bash", "dirname"} {
		found, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(found, filepath.Join(bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(bin, "id"), []byte("#!"+filepath.Join(bin, "bash")+"\necho 1000\n"),
		0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "bash"), "scripts/prepare.sh")
	cmd.Dir, cmd.Env = filepath.Join("..", ".."), []string{"PATH=" + bin, "HOME=" + t.TempDir()}
	out, err := cmd.CombinedOutput()
	if err == nil {
		t.Fatalf("a machine without Go was good enough:\n%s", out)
	}
	for _, want := range []string{"Go 1.26", "git", "make", "gcc"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is not in:\n%s", want, out)
		}
	}
}
