package slacksdk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/fakeslack"
	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/tools"
)

// node is a running script that talks in lines of JSON.
type node struct {
	in  io.WriteCloser
	out *bufio.Reader
	log *bytes.Buffer
}

// run starts a script of this folder with the SDKs that its lock file pins.
func run(t *testing.T, s *fakeslack.Server, script string, env ...string) *node {
	t.Helper()
	// Go keeps the result of a test as long as the files that it looked at stay as they are.
	if _, err := os.Stat(script); err != nil {
		t.Fatal(err)
	}
	modules := tools.Modules(t, "slacksdk")
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Env = append(env, "NODE_PATH="+modules, "PATH="+os.Getenv("PATH"), "HOME="+t.TempDir(),
		"SLACK_API_URL="+s.APIURL(), "SLACK_TOKEN="+s.Token())
	n := &node{log: &bytes.Buffer{}}
	cmd.Stderr = n.log
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.in = in
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	n.out = bufio.NewReader(out)
	process.Tie(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // killed is how it ends
		if t.Failed() && n.log.Len() > 0 {
			t.Logf("%s said: %s", script, n.log)
		}
	})
	return n
}

// next decodes the next line that the script prints.
func (n *node) next(t *testing.T, into any) {
	t.Helper()
	line, err := n.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("the script ended: %v", err)
	}
	if err := json.Unmarshal(line, into); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
}

// answered is what @slack/web-api made of an answer.
type answered struct {
	Data       map[string]any
	Code       string
	Error      string
	RetryAfter float64
}

func (n *node) call(t *testing.T, method string, args map[string]any) answered {
	t.Helper()
	line, err := json.Marshal(map[string]any{"method": method, "args": args})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	var out answered
	n.next(t, &out)
	return out
}
