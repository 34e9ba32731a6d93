package process_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/size"
)

// What turns this test binary into a test that is killed: the function that it starts a program with, and a folder.
const (
	startWith = "PROCESS_TEST_START_WITH"
	startIn   = "PROCESS_TEST_START_IN"
)

func TestMain(m *testing.M) {
	with := os.Getenv(startWith)
	if with == "" {
		os.Exit(m.Run())
	}
	err := start(with, os.Getenv(startIn))
	if err == nil {
		_, err = fmt.Fprintln(os.Stdout, "started")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	select {} // until it is killed
}

// start starts a program that holds this process's output open for as long as it runs.
func start(with, dir string) error {
	cmd := exec.CommandContext(context.Background(), "sleep", "600")
	cmd.ExtraFiles = []*os.File{os.Stdout}
	if with == "Spawn" {
		return process.Spawn(cmd, func(error) {})
	}
	_, err := process.Start("sleep", dir, cmd)
	return err
}

func TestAProgramEndsWithTheTestThatIsKilled(t *testing.T) {
	t.Parallel()
	size.Needs(t, size.Medium)
	for _, with := range []string{"Start", "Spawn"} {
		t.Run(with, func(t *testing.T) {
			t.Parallel()
			parent := exec.CommandContext(t.Context(), os.Args[0])
			parent.Env = append(os.Environ(), startWith+"="+with, startIn+"="+t.TempDir())
			parent.Stderr = os.Stderr
			out, err := parent.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			process.Tie(parent)
			if err := parent.Start(); err != nil {
				t.Fatal(err)
			}
			said := bufio.NewReader(out)
			if line, err := said.ReadString('\n'); err != nil || line != "started\n" {
				t.Fatalf("the parent said %q: %v", line, err)
			}
			if err := parent.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			// The output ends when nobody holds it open any more: neither the parent nor its program.
			ended := make(chan error, 1)
			go func() {
				_, err := io.Copy(io.Discard, said)
				ended <- err
			}()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(process.Patience):
				t.Error("the program outlives the test that started it")
			}
			if err := parent.Wait(); err == nil {
				t.Error("the parent ended by itself")
			}
		})
	}
}
