package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

func TestItPrintsItsAddressThenTheScrapeConfigurationAndServes(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	reader, writer := io.Pipe()
	ended := make(chan error, 1)
	targets := filepath.Join(t.TempDir(), "targets.json")
	go func() {
		err := run(ctx,
			[]string{
				"--scenario", "high-ttft", "--replicas", "3", "--speed", "60", "--print-scrape-config", "--targets-file",
				targets,
			}, writer, io.Discard)
		ended <- errors.Join(err, writer.Close())
	}()
	lines := bufio.NewReader(reader)
	address, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	// The configuration comes in one piece before the program serves.
	config := make([]byte, 1<<16)
	n, err := lines.Read(config)
	if err != nil {
		t.Fatal(err)
	}
	checkScrapeConfig(t, config[:n], strings.TrimPrefix(address, "http://"))
	for _, path := range []string{"/replica/2/metrics", "/gateway/metrics", "/_fleet/state"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			t.Errorf("GET %s: %s", path, response.Status)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

func checkScrapeConfig(t *testing.T, config []byte, address string) {
	t.Helper()
	var got struct {
		ScrapeConfigs []struct {
			JobName       string `yaml:"job_name"`
			StaticConfigs []struct {
				Targets []string          `yaml:"targets"`
				Labels  map[string]string `yaml:"labels"`
			} `yaml:"static_configs"`
		} `yaml:"scrape_configs"`
	}
	if err := yaml.Unmarshal(config, &got); err != nil {
		t.Fatalf("%v in:\n%s", err, config)
	}
	if len(got.ScrapeConfigs) != 1 || len(got.ScrapeConfigs[0].StaticConfigs) != 3 {
		t.Fatalf("want one job with three targets:\n%s", config)
	}
	first := got.ScrapeConfigs[0].StaticConfigs[0]
	if first.Targets[0] != address || first.Labels["pod"] != "llama-70b-0" || first.Labels["namespace"] != "llm" ||
		first.Labels["instance"] == "" {
		t.Errorf("first target: %+v", first)
	}
}

func TestMistakesOnTheCommandLineAreUsageErrors(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--scenario", "chaos"},
		{"--dialect", "v2"},
		{"--replicas", "0"},
		{"--replicas", "many"},
		{"--unknown"},
		{"extra"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); !errors.Is(err, errUsage) {
			t.Errorf("%q: %v, want a usage error", args, err)
		}
	}
}

func TestAnAddressInUseIsTold(t *testing.T) {
	t.Parallel()
	taken := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(taken.Close)
	address := strings.TrimPrefix(taken.URL, "http://")
	err := run(t.Context(), []string{"--listen", address}, io.Discard, io.Discard)
	if err == nil || errors.Is(err, errUsage) || !strings.Contains(err.Error(), address) {
		t.Errorf("%v, want an error that names the address", err)
	}
}
