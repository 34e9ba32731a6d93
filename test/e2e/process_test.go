package e2e

import (
	"bytes"
	"context"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	programs "github.com/vllm-medic/vllm-medic/test/process"
)

// process is a program that a scenario started. It ends with the test; when the test failed its output is shown.
type process struct {
	name   string
	cmd    *exec.Cmd
	out    *output
	exited chan struct{}
}

// output collects what a program prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

func start(t *testing.T, name, path string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, out: &output{}, exited: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(t.Context()), path, args...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	// The exit status after the test's own signal says nothing.
	if err := programs.Spawn(p.cmd, func(error) { close(p.exited) }); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		p.end(syscall.SIGTERM)
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, p.out)
		}
	})
	return p
}

// end sends a signal and waits; what does not end within twenty seconds is killed.
func (p *process) end(sig os.Signal) {
	if err := p.cmd.Process.Signal(sig); err != nil {
		<-p.exited
		return
	}
	select {
	case <-p.exited:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.exited
	}
}

// waitHTTP waits until the program answers with the code.
func (p *process) waitHTTP(t *testing.T, url string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), programs.Patience)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			got := resp.StatusCode
			if err := resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if got == code {
				return
			}
		}
		select {
		case <-p.exited:
			t.Fatalf("%s ended:\n%s", p.name, p.out)
		case <-ctx.Done():
			t.Fatalf("%s does not answer %d at %s:\n%s", p.name, code, url, p.out)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
