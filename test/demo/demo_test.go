package main

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/test/process"
	"github.com/vllm-medic/vllm-medic/test/program"
)

// patience is far above the minute that the README promises; it is only ever reached by a failure.
const patience = 4 * time.Minute

// What make run starts, from its first line to the incident on the page, and its end.
func TestTheDemoShowsAnIncident(t *testing.T) {
	t.Parallel()
	demo, err := program.Build(t.Context(), t.TempDir(), "../demo")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, demo)
	cmd.Dir = filepath.Join("..", "..") // as make runs it
	cmd.Stderr = os.Stderr
	process.Tie(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := bufio.NewScanner(out)
	slack, bot := address(t, said, "stands for Slack"), address(t, said, "own page")
	page := await(ctx, t, slack+"/", "faster than the pool can start")
	if !strings.Contains(page, "DRY RUN") {
		t.Errorf("the message does not say that it is a dry run:\n%s", page)
	}
	own := await(ctx, t, strings.Replace(bot, "http://", "http://any:demo@", 1), "llama-70b")
	if strings.Contains(own, "Slack doesn") {
		t.Errorf("the bot is not connected:\n%s", own)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Error(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after Ctrl-C it ended with %v", err)
	}
	if _, err := get(t.Context(), slack+"/"); err == nil {
		t.Error("the page is still there after the end")
	}
}

var web = regexp.MustCompile(`http://[0-9.:]+/?`)

// address reads on to the line with the words and returns the address in it.
func address(t *testing.T, said *bufio.Scanner, words string) string {
	t.Helper()
	for said.Scan() {
		if strings.Contains(said.Text(), words) {
			return strings.TrimSuffix(web.FindString(said.Text()), "/")
		}
	}
	t.Fatalf("the demo ended without saying %q: %v", words, said.Err())
	return ""
}

// await asks until the answer has the words in it.
func await(ctx context.Context, t *testing.T, url, words string) string {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		body, err := get(ctx, url)
		if err == nil && strings.Contains(body, words) {
			return body
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s does not say %q: %v\n%s", url, words, err, body)
		case <-tick.C:
		}
	}
}

func get(ctx context.Context, url string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close() //nolint:errcheck // read to its end
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}
