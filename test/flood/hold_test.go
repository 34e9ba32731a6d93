package flood_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// holder makes a process of this program the flood: what it holds is no memory of the bot, and its file descriptors are
// its own.
const holder = "VLLM_MEDIC_TEST_FLOOD"

// spare are the descriptors that a process needs for itself.
const spare = 200

func TestMain(m *testing.M) {
	if task := os.Getenv(holder); task != "" {
		if err := hold(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// hold opens connections until there are so many, says so, and holds them until its input ends. It opens a
// quarter of them anew meanwhile, in place of the oldest. A task is a number, the targets, and the addresses that they
// come from.
func hold(task string) error {
	fields := strings.Fields(task)
	many, err := strconv.Atoi(fields[0])
	if err != nil {
		return err
	}
	targets, from := strings.Split(fields[1], ","), strings.Split(fields[2], ",")
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer stop()
		if _, err := io.Copy(io.Discard, os.Stdin); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	open := make([]net.Conn, 0, many)
	for n := 0; n < many+many/4 && ctx.Err() == nil; n++ {
		// The kind goes on with each round through the targets and addresses, so that each has all kinds.
		c, err := one(ctx, targets[n%len(targets)], from[n/len(targets)%len(from)], n/len(targets)/len(from))
		if err != nil {
			return err
		}
		if len(open) < many {
			if open = append(open, c); len(open) == many {
				fmt.Println("held") //nolint:forbidigo // to the test
			}
			continue
		}
		if err := open[n%many].Close(); err != nil {
			return err
		}
		open[n%many] = c
	}
	<-ctx.Done()
	return nil
}

// one is a connection that says nothing, begins to say something, says garbage, or has asked for something without any
// credentials.
func one(ctx context.Context, target, from string, kind int) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(ctx, "tcp", target)
	if ctx.Err() != nil {
		return nil, nil //nolint:nilnil,nilerr // it is over
	}
	if err != nil {
		return nil, fmt.Errorf("from %s: %w", from, err)
	}
	says := []string{
		"", "POST /api/v1/pause HTTP/1.1\r\nHost: slow", "\x16\x03\x01garbage",
		"GET /api/v1/incidents HTTP/1.1\r\nHost: x\r\n\r\n",
	}
	_, err = io.WriteString(c, says[kind%len(says)])
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
		return nil, err
	}
	return c, nil
}

// flood starts processes that hold so many connections, and returns when all are held.
func flood(t *testing.T, many int, targets, from []string) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	each := max(1, min(many/2, int(min(limit.Cur, 1<<20))-spare))
	for left := many; left > 0; left -= each {
		start(t, fmt.Sprintf("%d %s %s", min(left, each), strings.Join(targets, ","), strings.Join(from, ",")))
	}
}

// start starts one of them, and returns when it holds its connections.
func start(t *testing.T, task string) {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), os.Args[0])
	cmd.Env = append(os.Environ(), holder+"="+task)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			t.Errorf("the flood: %v", err)
		}
	})
	if _, err := io.ReadFull(out, make([]byte, len("held\n"))); err != nil {
		t.Fatalf("the flood ended early: %v", err)
	}
}
