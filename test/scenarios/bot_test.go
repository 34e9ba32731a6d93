package scenarios

import (
	"bytes"
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	programs "github.com/vllm-medic/vllm-medic/test/process"
)

// process is the running bot.
type process struct {
	cmd    *exec.Cmd
	out    *output
	exited chan struct{}
	err    error
}

// output collects what the bot prints.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
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

var listening = regexp.MustCompile(
	`msg=listening listener=api address=(\S+)\n(?:.*\n)*?.*msg=listening listener=ops address=(\S+)`,
)

// serve starts the bot and waits until it answers; API and OPS are then its addresses: serve [FLAGS].
func serve(ts *testscript.TestScript, neg bool, args []string) {
	j := of(ts)
	if neg || j.bot != nil {
		ts.Fatalf("usage: serve [FLAGS], while no bot runs; for one that refuses use ! exec vllm-medic serve")
	}
	p := &process{out: &output{}, exited: make(chan struct{})}
	p.cmd = exec.CommandContext(context.WithoutCancel(j.t.Context()), filepath.Join(bin, "vllm-medic"),
		append([]string{"serve", "--config", "medic.yaml"}, args...)...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = ts.MkAbs("."), p.out, p.out
	p.cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "HOME=" + ts.Getenv("HOME")}
	for _, name := range []string{
		"GORACE", "AM_TOKEN", "VIEWER_TOKEN", "SLACK_BOT_TOKEN", "SLACK_APP_TOKEN", "EVENTS_SECRET", "EVENTS_URL",
		"CARDS_URL", "SLOW_URL", "GOOD_URL",
	} {
		if v := ts.Getenv(name); v != "" {
			p.cmd.Env = append(p.cmd.Env, name+"="+v)
		}
	}
	ts.Check(programs.Spawn(p.cmd, func(err error) {
		p.err = err
		close(p.exited)
	}))
	j.bot = p
	poll(ts, "the bot to answer", func() bool {
		select {
		case <-p.exited:
			ts.Fatalf("the bot ended: %v\n%s", p.err, p.out)
		default:
		}
		m := listening.FindStringSubmatch(p.out.String())
		if m == nil {
			return false
		}
		ts.Setenv("API", map[bool]string{false: "http://", true: "https://"}[j.https != nil]+m[1])
		ts.Setenv("OPS", "http://"+m[2])
		code, _, err := request(ts, "GET", "/api/v1/incidents", nil, nil)
		return err == nil && code == 401
	})
}

// sigterm ends the bot with SIGTERM; it must end by itself and without an error.
func sigterm(ts *testscript.TestScript, neg bool, args []string) {
	j := of(ts)
	if neg || len(args) != 0 || j.bot == nil {
		ts.Fatalf("usage: sigterm, while a bot runs")
	}
	ts.Check(j.bot.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-j.bot.exited:
	case <-time.After(programs.Patience):
		ts.Fatalf("the bot did not end %s after SIGTERM:\n%s", programs.Patience, j.bot.out)
	}
	if j.bot.err != nil {
		ts.Fatalf("after SIGTERM the bot ended with %v:\n%s", j.bot.err, j.bot.out)
	}
	j.gone()
}

// kill9 ends the bot with SIGKILL, as a lost node does.
func kill9(ts *testscript.TestScript, neg bool, args []string) {
	j := of(ts)
	if neg || len(args) != 0 || j.bot == nil {
		ts.Fatalf("usage: kill9, while a bot runs")
	}
	ts.Check(j.bot.cmd.Process.Kill())
	<-j.bot.exited
	j.gone()
}

func (j *journey) gone() {
	j.before += j.bot.out.String()
	j.bot = nil
}

func (j *journey) log() string {
	if j.bot == nil {
		return j.before
	}
	return j.before + j.bot.out.String()
}

// end kills what still runs, and fails the journey when a secret was logged.
func (j *journey) end() {
	if j.bot != nil {
		if err := j.bot.cmd.Process.Kill(); err != nil {
			j.t.Log(err)
		}
		<-j.bot.exited
		j.gone()
	}
	j.terminalsTellTheTruth()
	if strings.Contains(j.before, secret) {
		j.t.Errorf("a secret is in the log:\n%s", j.before)
	}
	if strings.Contains(j.before, "DATA RACE") {
		j.t.Errorf("the bot has a data race:\n%s", j.before)
	}
	if j.t.Failed() {
		j.t.Logf("the bot's log:\n%s", j.before)
	}
}

// poll asks until the answer is yes.
func poll(ts *testscript.TestScript, what string, done func() bool) {
	deadline := time.NewTimer(programs.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline.C:
			ts.Fatalf("waited %s for %s", programs.Patience, what)
		case <-tick.C:
		}
	}
}
