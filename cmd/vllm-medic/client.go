package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// apiClient talks to a running bot.
type apiClient struct{ server, tokenFile *string }

func clientFlags(fs *flag.FlagSet) apiClient {
	return apiClient{
		server:    fs.String("server", "http://127.0.0.1:8080", "the `URL` of the bot's API listener"),
		tokenFile: fs.String("token-file", "", "a `FILE` with the token (default: the environment variable VLLM_MEDIC_TOKEN); kubectl create token NAME --audience vllm-medic makes one"),
	}
}

// callTimeout is above the time for which a pause waits.
const callTimeout = 35 * time.Second

// call sends one request and reads the answer. An error of the bot is its own sentence.
func (c apiClient) call(ctx context.Context, t terminal, method, path string, body, into any) error {
	token, err := c.token(t)
	if err != nil {
		return err
	}
	var payload io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(b)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(*c.server, "/")+path, payload) //nolint:gosec // the address is the user's own
	if err != nil {
		return usageError{"--server is not a URL"}
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req) //nolint:gosec // the address is the user's own
	if err != nil {
		return fmt.Errorf("the bot at %s does not answer: %w", *c.server, err)
	}
	defer resp.Body.Close() //nolint:errcheck // the answer has been read
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return fmt.Errorf("read the bot's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		var e struct {
			Error string `json:"error"`
		}
		if json.Unmarshal(raw, &e) != nil || e.Error == "" {
			e.Error = resp.Status
		}
		return errors.New(e.Error)
	}
	return json.Unmarshal(raw, into)
}

func (c apiClient) token(t terminal) (string, error) {
	if *c.tokenFile != "" {
		b, err := os.ReadFile(*c.tokenFile)
		return strings.TrimSpace(string(b)), err
	}
	if v, ok := t.getenv("VLLM_MEDIC_TOKEN"); ok && v != "" {
		return v, nil
	}
	return "", usageError{"a token is needed: set VLLM_MEDIC_TOKEN or --token-file (kubectl create token NAME --audience vllm-medic)"}
}

func (c apiClient) incident(ctx context.Context, t terminal, id string) (incident.Incident, error) {
	var inc incident.Incident
	err := c.call(ctx, t, http.MethodGet, "/api/v1/incidents/"+url.PathEscape(id), nil, &inc)
	return inc, err
}

// isTerminal says whether a person can answer.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
