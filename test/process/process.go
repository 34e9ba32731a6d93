// Package process runs the programs that tests need beside them. They end with the test process, even when that is
// killed, and an error shows what they said at last.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Patience bounds every wait of every test, and only a failure reaches it: a test that has a shorter one of its own
// asks how busy the machine is. A quiet one needs three seconds for a whole cluster; a busy one with two cores, which
// compiles all tests beside it, sometimes forty times that.
const Patience = 4 * time.Minute

const (
	// poll is how often a wait tries again.
	poll = 25 * time.Millisecond
	// grace is how long a process may take to end before it is killed.
	grace = 5 * time.Second
	// tail is how many of a process's last lines an error shows.
	tail = 25
)

// Process is one running program with its output in a file.
type Process struct {
	// Name is what errors call it.
	Name string

	cmd     *exec.Cmd
	logPath string
	exited  chan struct{}
	once    sync.Once
}

// Start runs a command in dir, with its output in NAME.log there, until Stop or Kill, or until this process ends.
func Start(name, dir string, cmd *exec.Cmd) (*Process, error) {
	p := &Process{Name: name, cmd: cmd, logPath: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	// Its exit status after our own signal says nothing; an end of its own shows in the log.
	err = Spawn(cmd, func(error) { close(p.exited) })
	_ = log.Close() // the process has its own copy
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// Spawn starts a command that ends with this process, even when that is killed, for a caller that keeps the command
// itself. When the command has ended, ended is called with what Wait returned.
func Spawn(cmd *exec.Cmd, ended func(error)) error {
	Tie(cmd)
	started := make(chan error, 1)
	go func() {
		// Linux ties the command's life to the thread that started it.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			ended(cmd.Wait())
		}
	}()
	return <-started
}

// Stop sends the signal, kills the process when it has not ended after a while, and waits for its end. It may be
// called more than once; only the first signal is sent.
func (p *Process) Stop(sig syscall.Signal) {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(sig)
		select {
		case <-p.exited:
		case <-time.After(grace):
		}
	})
	p.Kill()
}

// Kill ends the process without its doing. It may be called more than once.
func (p *Process) Kill() {
	if p.Ended() {
		return
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// Ended says that the process is gone.
func (p *Process) Ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// Await polls until f succeeds. It gives up when the process has ended or Patience is over; its error shows the
// process's last lines.
func (p *Process) Await(ctx context.Context, what string, f func(context.Context) error) error {
	err := Until(ctx, func(ctx context.Context) error {
		if p.Ended() {
			return errEnded
		}
		return f(ctx)
	})
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", what, err, p.lastLines())
	}
	return nil
}

var errEnded = errors.New("the process has ended")

// Until polls f until it succeeds. When Patience is over it returns f's last error, and not that of a try that the end
// itself cut short: that one would hide what was waited for.
func Until(ctx context.Context, f func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var last error
	for {
		err := f(ctx)
		if err == nil || errors.Is(err, errEnded) {
			return err
		}
		if last != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
			err = last
		}
		last = err
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, ctx.Err())
		case <-tick.C:
		}
	}
}

// lastLines are the end of the process's log.
func (p *Process) lastLines() string {
	b, err := os.ReadFile(p.logPath)
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(lines) > tail {
		lines = lines[len(lines)-tail:]
	}
	return p.Name + " said at last:\n" + strings.Join(lines, "\n")
}
