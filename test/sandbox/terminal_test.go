package sandbox

import (
	"fmt"
	"os"
	"regexp"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/vllm-medic/vllm-medic/test/program"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// inTerminal runs the sandbox in a terminal of its own, as a person does: a large test.
func inTerminal(t *testing.T, args ...string) *running {
	t.Helper()
	size.Needs(t, size.Large)
	r := prepared(t, program.Build(t, medic), args...)
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tty.Close() }() // the sandbox has its own
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr, r.keys = tty, tty, tty, screen
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	r.cmd.Env = append(r.cmd.Env, "NO_COLOR=")
	r.run(screen)
	return r
}

// In a terminal the person's turn stands out; approve is typed, and Ctrl-C ends it.
func TestATerminalShowsWhoseTurnItIs(t *testing.T) {
	t.Parallel()
	r := inTerminal(t)
	r.until("whose turn it is, in bold", regexp.MustCompile(
		`\] Your turn\. The bot asks: throttle 184 → 1[12]\d, or scale 2 → \d\?\x1b\[0m`).MatchString)
	r.types("approve")
	r.says("Slack, only visible to Alice: Approved.")
	r.says("Bot: Applied: Throttle")
	if _, err := r.keys.Write([]byte{3}); err != nil { // Ctrl-C
		t.Fatal(err)
	}
	r.ends()
}
