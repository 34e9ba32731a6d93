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

// seal turns a payload into what is sent: the signed request, or the envelope in Socket Mode. The caller holds
// the lock.
func (s *Server) seal(sent *sentClick, payload answer, how signing) {
	sent.payload = encode(payload)
	s.sign(sent, []byte("payload="+url.QueryEscape(string(sent.payload))), how)
}

// sign makes the signed request with this form as its body.
func (s *Server) sign(sent *sentClick, body []byte, how signing) {
	sent.body = body
	sent.forged = how.bad || how.none || how.age != 0
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

// deliver sends what was sealed and waits for its answer: over a connection in Socket Mode, else over HTTP.
func (s *Server) deliver(ctx context.Context, sent *sentClick) (ClickResult, error) {
	s.mu.Lock()
	if s.sockets.on {
		s.mu.Unlock()
		return s.deliverEnvelope(ctx, sent)
	}
	target, client, within := s.opts.InteractivityURL, s.opts.HTTPClient, s.opts.ClickWithin
	result := sent.result
	s.mu.Unlock()
	if target == "" {
		return result, fmt.Errorf("%w: no interactivity URL is set", ErrNoAnswer)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("no answer within %s", within))
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
