package alertmanager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/prometheus/alertmanager/alert"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/common/model"
)

// message is the body of a delivery, version 4 of Alertmanager's webhook.
type message struct {
	*template.Data

	Version         string `json:"version"`
	GroupKey        string `json:"groupKey"`
	TruncatedAlerts uint64 `json:"truncatedAlerts"`
}

// statusError is an answer that is no success.
type statusError struct {
	code int
	said string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("unexpected status code %d: %s", e.code, e.said)
}

// retryable says whether another attempt may help: after no answer at all, and after the receiver's own failure.
func retryable(err error) bool {
	status, answered := errors.AsType[*statusError](err)
	return !answered || status.code >= http.StatusInternalServerError
}

// keptOfAnswer is how much of an answer that is no success is kept for the log.
const keptOfAnswer = 500

func (a *Alertmanager) post(ctx context.Context, g *group, alerts alert.AlertSlice, reason string) (err error) {
	body, err := json.Marshal(message{
		Data:    a.template.Data(a.cfg.Receiver, g.labels, model.LabelSet{}, reason, alerts...),
		Version: "4", GroupKey: g.key(),
	})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.cfg.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if a.cfg.Token != "" {
		req.Header.Set("Authorization", "Bearer "+a.cfg.Token)
	}
	resp, err := a.cfg.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	said, err := io.ReadAll(io.LimitReader(resp.Body, keptOfAnswer))
	if resp.StatusCode/100 != 2 {
		return &statusError{code: resp.StatusCode, said: strings.TrimSpace(string(said))}
	}
	return err
}
