package kubetest

import (
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

// grace is how long a process may take to end before it is killed.
const grace = 5 * time.Second

// tail is how many of a process's last lines an error shows.
const tail = 25

// process is one running program with its output in a file.
type process struct {
	name    string
	cmd     *exec.Cmd
	logPath string
	exited  chan struct{}
	once    sync.Once
}

func startProcess(name, binary, dir string, args []string) (*process, error) {
	p := &process{name: name, logPath: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	log, err := os.OpenFile(p.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("log of %s: %w", name, err)
	}
	p.cmd = exec.Command(binary, args...) //nolint:gosec,noctx // a tool of the tests; its life is the cluster's
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, log, log
	p.cmd.SysProcAttr = attributes()
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	_ = log.Close() // the process has its own copy
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// run starts the process and waits for its end on one thread: Linux ties the process's life to the thread that started it.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	// Its exit status after our own signal says nothing; an end of its own shows in the log.
	_ = p.cmd.Wait()
	close(p.exited)
}

// stop asks the process to end, insists after a while, and waits for its end. It may be called more than once.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-p.exited:
		case <-time.After(grace):
		}
	})
	p.kill()
}

// kill ends the process without its doing.
func (p *process) kill() {
	select {
	case <-p.exited:
		return
	default:
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
}

func (p *process) ended() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// lastLines are the end of the process's log.
func (p *process) lastLines() string {
	b, err := os.ReadFile(p.logPath)
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	lines := strings.Split(strings.TrimRight(string(b), "\n"), "\n")
	if len(lines) > tail {
		lines = lines[len(lines)-tail:]
	}
	return p.name + " said at last:\n" + strings.Join(lines, "\n")
}
