package fakeslack

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// signing says how a request is signed.
type signing struct {
	bad, none bool
	age       time.Duration
}

// Sign returns the value of X-Slack-Signature for a body
// (docs.slack.dev/authentication/verifying-requests-from-slack).
func Sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":"))
	mac.Write(body)
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}

// seal turns a payload into the signed request that is sent. The caller holds the lock.
func (s *Server) seal(sent *sentClick, payload answer, how signing) {
	sent.body = []byte("payload=" + url.QueryEscape(string(encode(payload))))
	sent.header = http.Header{
		"Content-Type": {"application/x-www-form-urlencoded"},
		"User-Agent":   {"Slackbot 1.0 (+https://api.slack.com/robots)"},
		"Accept":       {"application/json,*/*"},
	}
	if how.none {
		return
	}
	secret := s.opts.SigningSecret
	if how.bad {
		secret += "-but-wrong"
	}
	stamp := strconv.FormatInt(s.now().Add(-how.age).Unix(), 10)
	sent.header.Set("X-Slack-Request-Timestamp", stamp)
	sent.header.Set("X-Slack-Signature", Sign(secret, stamp, sent.body))
}

// deliver posts a sealed request and waits for its answer.
func (s *Server) deliver(ctx context.Context, sent *sentClick) (ClickResult, error) {
	s.mu.Lock()
	target, client := s.opts.InteractivityURL, s.opts.HTTPClient
	result := sent.result
	s.mu.Unlock()
	if target == "" {
		return result, fmt.Errorf("%w: no interactivity URL is set", ErrNoAnswer)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, clickTimeout, fmt.Errorf("no answer within %s", clickTimeout))
	defer cancel()
	start := time.Now()
	status, body, err := post(ctx, client, target, sent)
	result.Took = time.Since(start)
	result.Status, result.Body = status, body
	s.mu.Lock()
	sent.result = result
	s.changed()
	s.mu.Unlock()
	switch {
	case err != nil:
		if cause := context.Cause(ctx); cause != nil {
			err = fmt.Errorf("%w (%w)", cause, err)
		}
		return result, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	case status != http.StatusOK:
		return result, fmt.Errorf("%w: status %d: %.200s", ErrRefused, status, body)
	}
	return result, nil
}

func post(ctx context.Context, client *http.Client, target string, sent *sentClick) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(sent.body))
	if err != nil {
		return 0, "", err
	}
	req.Header = sent.header.Clone()
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }() // nothing is written, so closing cannot lose anything
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return 0, "", err
	}
	return resp.StatusCode, string(body), nil
}
