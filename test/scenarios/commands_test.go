package scenarios

import (
	"errors"
	"os/exec"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"github.com/vllm-medic/vllm-medic/test/voice"
)

// usage runs vllm-medic, which must exit with 2, print one line that has the pattern on standard error, and nothing
// else: usage PATTERN ARGS...
func usage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: usage PATTERN ARGS...")
	}
	re, err := regexp.Compile(args[0])
	ts.Check(err)
	err = ts.Exec("vllm-medic", args[1:]...)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 2 {
		ts.Fatalf("vllm-medic %q ended with %v, want exit code 2", args[1:], err)
	}
	if out, text := ts.ReadFile("stdout"),
		ts.ReadFile("stderr"); out != "" || strings.Count(text, "\n") != 1 || !re.MatchString(text) {
		ts.Fatalf("vllm-medic %q prints %q and on standard error %q, want one line there with %q", args[1:], out, text,
			args[0])
	}
}

// disk makes the file system refuse every further byte of the running bot, or take them again: disk full, disk free.
func disk(ts *testscript.TestScript, neg bool, args []string) {
	j := of(ts)
	if neg || len(args) != 1 || (args[0] != "full" && args[0] != "free") || j.bot == nil {
		ts.Fatalf("usage: disk full|free, while a bot runs")
	}
	limit := unix.Rlimit{Cur: 0, Max: unix.RLIM_INFINITY}
	if args[0] == "free" {
		limit.Cur = unix.RLIM_INFINITY
	}
	ts.Check(unix.Prlimit(j.bot.cmd.Process.Pid, unix.RLIMIT_FSIZE, &limit, nil))
}

// keepsToTheVoice holds what a command has printed against the words that nothing for people may say: voice stdout,
// with the names of signals that must not be in it.
func keepsToTheVoice(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 || (args[0] != "stdout" && args[0] != "stderr") {
		ts.Fatalf("usage: voice stdout|stderr [NAME...]")
	}
	for _, f := range voice.Terminal(ts.ReadFile(args[0]), args[1:]...) {
		ts.Fatalf("%s: %s", args[0], f)
	}
}
