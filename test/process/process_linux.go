package process

import (
	"os/exec"
	"syscall"
)

// Tie puts the command into a process group of its own, so that an interrupt at the terminal reaches only the test,
// and has it killed when the thread that starts it ends, which it does when the test is killed.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = !cmd.SysProcAttr.Setsid // the leader of a session has a group of its own
	if cmd.SysProcAttr.Pdeathsig == 0 {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
}
