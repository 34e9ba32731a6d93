package image

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the build context, seen from this package.
const root = "../.."

// instruction is one instruction of a Dockerfile: its word, its --flags and the rest.
type instruction struct {
	word  string
	flags map[string]string
	rest  string
}

// stage is a FROM and what follows it.
type stage struct {
	from, name string
	body       []instruction
}

// parse reads the part of the format that our Dockerfile uses: comments, continued lines, --flags. It knows no heredocs
// and no parser directives.
func parse(t *testing.T, text string) []stage {
	t.Helper()
	var stages []stage
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		i := instruction{word: strings.ToUpper(words[0]), flags: map[string]string{}}
		_, i.rest, _ = strings.Cut(strings.TrimSpace(line), " ")
		for strings.HasPrefix(i.rest, "--") {
			var flag string
			flag, i.rest, _ = strings.Cut(i.rest, " ")
			key, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
			i.flags[key] = value
		}
		switch {
		case i.word == "FROM":
			image, name, _ := strings.Cut(i.rest, " AS ")
			stages = append(stages, stage{from: image, name: name})
		case len(stages) == 0:
			t.Fatalf("%s before the first FROM", i.word)
		default:
			last := &stages[len(stages)-1]
			last.body = append(last.body, i)
		}
	}
	return stages
}

// all returns what follows a word, once for each time it stands there.
func (s stage) all(word string) []string {
	var out []string
	for _, i := range s.body {
		if i.word == word {
			out = append(out, i.rest)
		}
	}
	return out
}

// run carries a stage out in a folder that stands for its root, with args in place of the defaults of its ARGs.
// Commands get the environment of the test and run as they stand, so they must use paths of their working folder only.
func (s stage) run(t *testing.T, folder string, args map[string]string) {
	t.Helper()
	env, dir := maps.Clone(args), folder
	for _, i := range s.body {
		switch i.word {
		case "ARG":
			name, value, _ := strings.Cut(i.rest, "=")
			if _, given := env[name]; !given {
				env[name] = value
			}
		case "WORKDIR":
			dir = filepath.Join(folder, i.rest)
			if err := os.MkdirAll(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		case "COPY":
			to, from := target(i.rest)
			for _, source := range from {
				place(t, filepath.Join(root, source), filepath.Join(dir, to), strings.HasSuffix(to, "/"))
			}
		case "RUN":
			cmd := exec.CommandContext(t.Context(), "sh", "-c", i.rest)
			cmd.Dir, cmd.Env = dir, os.Environ()
			for name, value := range env {
				cmd.Env = append(cmd.Env, name+"="+value)
			}
			if text, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("RUN %s: %v\n%s", i.rest, err, text)
			}
		default:
			t.Fatalf("the test cannot carry out %s: teach it", i.word)
		}
	}
}

// target splits what follows COPY.
func target(rest string) (to string, from []string) {
	words := strings.Fields(rest)
	return words[len(words)-1], words[:len(words)-1]
}

// place copies as COPY does: a folder's content, or a file, which keeps its name when the target is a folder.
func place(t *testing.T, from, to string, folder bool) {
	t.Helper()
	info, err := os.Stat(from)
	if err != nil {
		t.Fatalf("COPY: %v", err)
	}
	if info.IsDir() {
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			t.Fatalf("COPY %s: %v", from, err)
		}
		return
	}
	if folder {
		to = filepath.Join(to, filepath.Base(from))
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatalf("COPY %s: %v", from, err)
	}
	raw, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, raw, 0o644)
	}
	if err != nil {
		t.Fatalf("COPY %s: %v", from, err)
	}
}

// ignored reads .dockerignore, which holds plain names of the top folder only.
func ignored(t *testing.T) []string {
	t.Helper()
	raw, err := fs.ReadFile(os.DirFS(root), ".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(raw))
	if n := slices.IndexFunc(names, func(s string) bool { return strings.ContainsAny(s, "*?!#[/") }); n >= 0 {
		t.Fatalf(".dockerignore: %q is more than a name; the test reads names only", names[n])
	}
	return names
}
