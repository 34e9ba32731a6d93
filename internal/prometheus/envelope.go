package prometheus

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/vllm-medic/vllm-medic/internal/redact"
)

// envelope is the outer part of an answer. IsPartial is VictoriaMetrics'.
type envelope struct {
	Status    string          `json:"status"`
	Data      json.RawMessage `json:"data"`
	ErrorType string          `json:"errorType"`
	Error     string          `json:"error"`
	IsPartial bool            `json:"isPartial"`
}

// checkEnvelope refuses what client_golang would take for an empty answer (no status, a null result) or would not see
// (isPartial).
func checkEnvelope(resp *http.Response, body []byte) error {
	env, err := openEnvelope(resp, body)
	if err != nil {
		return err
	}
	var data struct {
		ResultType string          `json:"resultType"`
		Result     json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal(env.Data, &data); err != nil {
		return errors.New("the answer has no data: check that this is the address of Prometheus")
	}
	if len(data.Result) == 0 || string(data.Result) == "null" {
		return errors.New("the answer has no result, which is not the same as an empty one")
	}
	if data.ResultType == "string" {
		return errors.New("the query gives a text, it must give one number")
	}
	return nil
}

// checkList refuses what could be taken for an empty list.
func checkList(resp *http.Response, body []byte) error {
	env, err := openEnvelope(resp, body)
	if err != nil {
		return err
	}
	if len(env.Data) == 0 || string(env.Data) == "null" {
		return errors.New("the answer has no list, which is not the same as an empty one")
	}
	return nil
}

// openEnvelope returns the envelope of an answer that is complete and no error.
func openEnvelope(resp *http.Response, body []byte) (envelope, error) {
	var env envelope
	if err := json.Unmarshal(body, &env); err != nil {
		kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
		return env, fmt.Errorf(
			"the answer is not JSON (Content-Type %q): check that this is the address of Prometheus and not a login page",
			redact.Line(kind),
		)
	}
	switch {
	case env.Status == "error":
		return env, fmt.Errorf("prometheus answered an error: %s: %s", redact.Line(env.ErrorType), redact.Line(env.Error))
	case env.Status != "success":
		return env, errors.New("the answer has no status: check that this is the address of Prometheus")
	case env.IsPartial:
		return env, fmt.Errorf("%w: isPartial is set, a part of the storage did not answer", errPartial)
	}
	return env, nil
}

// sortWarnings separates harmless notes from signs of missing data. PromQL's own annotations carry a prefix (prometheus
// util/annotations). "No StoreAPIs matched" is Thanos' way to say that no store has the time range. Everything else
// that Prometheus and its relatives put among the warnings says that some storage did not answer or that a result was
// truncated.
func sortWarnings(warnings []string) (notes string, err error) {
	var harmless, bad []string
	for _, w := range warnings {
		lower := strings.ToLower(w)
		if strings.HasPrefix(lower, "promql warning:") || strings.HasPrefix(lower, "promql info:") ||
			strings.Contains(lower, "no storeapis matched") {
			harmless = append(harmless, w)
		} else {
			bad = append(bad, w)
		}
	}
	if len(bad) > 0 {
		err = fmt.Errorf("%w: %s", errPartial, redact.Line(strings.Join(bad, "; ")))
	}
	return redact.Line(strings.Join(harmless, "; ")), err
}
