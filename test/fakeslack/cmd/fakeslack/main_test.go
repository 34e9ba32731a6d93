package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slack-go/slack"
)

func environment(values map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	}
}

func TestProgramPrintsItsAddressServesAndStops(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{
			"--listen", "127.0.0.1:0", "--interactivity-url", "http://127.0.0.1:1/", "--signing-secret-env", "MEDIC_A",
			"--token-env", "MEDIC_B",
		}, environment(map[string]string{"MEDIC_A": "signing", "MEDIC_B": "xoxb-other"}), in, io.Discard)
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address := strings.TrimSpace(first)
	client := slack.New("xoxb-other", slack.OptionAPIURL(address+"/api/"))
	if _, _, err := client.PostMessageContext(t.Context(), "C0INCIDENTS", slack.MsgOptionText("x", false)); err != nil {
		t.Error(err)
	}
	// An open event stream must not keep the program from ending.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/_page/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }() // the program has ended the stream
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run = %v", err)
	}
}

func TestProgramRefusesBadArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		args  []string
		usage bool
		text  string
	}{
		{"unknown flag", []string{"--nope"}, true, "nope"},
		{"left-over argument", []string{"serve"}, true, `"serve"`},
		{"secret that is not set", []string{"--signing-secret-env", "NOWHERE"}, true, "NOWHERE, which is not set"},
		{"token that is empty", []string{"--token-env", "EMPTY"}, true, "EMPTY, which is not set"},
		{"address that cannot be", []string{"--listen", "256.0.0.1:0"}, false, "listen on 256.0.0.1:0"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := run(t.Context(), tt.args, environment(map[string]string{"EMPTY": ""}), io.Discard, io.Discard)
			if err == nil || errors.Is(err, errUsage) != tt.usage || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("run(%q) = %v, want usage %v and %q", tt.args, err, tt.usage, tt.text)
			}
		})
	}
	if err := run(t.Context(), []string{"--help"}, environment(nil), io.Discard, io.Discard); !errors.Is(err,
		flag.ErrHelp) {
		t.Errorf("--help = %v", err)
	}
}
