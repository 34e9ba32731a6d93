package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/vllm-medic/vllm-medic/notify"
)

// methodAnswer names, like a method of the Web API, an answer to a click or a command.
const methodAnswer = "response_url"

// respond answers a click privately and leaves the message as it is. A lost answer is not repeated: seeing it twice is
// worse than not at all, and the message itself shows what happened.
func (c *Client) respond(ctx context.Context, responseURL, text string) error {
	if err := c.trusted(responseURL); err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"text": text, "response_type": "ephemeral", "replace_original": false})
	if err != nil {
		return fmt.Errorf("slack response_url: %w", err)
	}
	return c.repeatUnsent(ctx, func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, responseURL, bytes.NewReader(body))
		if err != nil {
			return &notify.PermanentError{Err: errors.New("the address is not valid"), Next: "No action needed."}
		}
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		resp, err := c.http.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = resp.Body.Close() }() // only read from
		if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK {
			return &notify.PermanentError{
				Err:  fmt.Errorf("HTTP status %d", resp.StatusCode),
				Next: "No action needed: the click is too old to be answered.",
			}
		}
		return nil
	})
}

// trusted refuses addresses that Slack does not hand out. The address comes from a signed payload; this holds should
// that ever fail.
func (c *Client) trusted(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.User != nil {
		return errors.New("slack response_url: the address is not valid")
	}
	if u.Host == c.host && (u.Scheme == "https" || c.plain) {
		return nil
	}
	host := strings.ToLower(u.Hostname())
	if u.Scheme == "https" && (strings.HasSuffix(host, ".slack.com") || strings.HasSuffix(host, ".slack-gov.com")) {
		return nil
	}
	return errors.New("slack response_url: the address does not belong to Slack")
}

// repeatUnsent makes a call again only when it is known that Slack did not see it.
func (c *Client) repeatUnsent(ctx context.Context, call func(context.Context) error) error {
	return c.repeat(ctx, methodAnswer, func(ctx context.Context) error {
		err := call(ctx)
		var permanent *notify.PermanentError
		if err == nil || neverSent(err) || errors.As(err, &permanent) {
			return err
		}
		return &notify.PermanentError{Err: cause(err), Next: "No action needed: the message shows what happened."}
	})
}
