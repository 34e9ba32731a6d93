package efficacy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

// client is a person's way to the bot: its HTTP API.
type client struct {
	http *http.Client
	// refused counts what the bot did not take, such as an approval of a plan that has just changed.
	refused int
}

// known is what is read of an incident before it is known whether it has changed.
type known struct {
	ID      string `json:"id"`
	Version int64  `json:"version"`
}

// incidents are those that there are, in the order of the list, as far as they have changed since they were seen.
func (c *client) incidents(seen map[string]int64) ([]incident.Incident, error) {
	var list struct {
		Incidents []json.RawMessage `json:"incidents"`
	}
	if err := c.call(http.MethodGet, "/api/v1/incidents?state=all", nil, &list); err != nil {
		return nil, err
	}
	var out []incident.Incident
	for _, raw := range list.Incidents {
		var k known
		if err := json.Unmarshal(raw, &k); err != nil {
			return nil, err
		}
		if seen[k.ID] == k.Version {
			continue
		}
		seen[k.ID] = k.Version
		var inc incident.Incident
		if err := json.Unmarshal(raw, &inc); err != nil {
			return nil, err
		}
		out = append(out, inc)
	}
	return out, nil
}

// whole is an incident with its journal.
func (c *client) whole(id string) (incident.Incident, error) {
	var inc incident.Incident
	err := c.call(http.MethodGet, "/api/v1/incidents/"+id, nil, &inc)
	return inc, err
}

func (c *client) approve(inc incident.Incident, s incident.Step) error {
	return c.decide("/api/v1/incidents/"+inc.ID+"/decision", map[string]any{
		"step": s.ID, "digest": inc.Plan.Digest, "decision": incident.Approve, "confirmed": true,
	})
}

func (c *client) undo(id, step string) error {
	return c.decide("/api/v1/incidents/"+id+"/undo", map[string]any{"step": step})
}

// decide sends a decision. One that the bot refuses is made again when the person looks the next time.
func (c *client) decide(path string, body map[string]any) error {
	err := c.call(http.MethodPost, path, body, nil)
	if no, ok := errors.AsType[*answerError](err); ok && no.code == http.StatusConflict {
		c.refused++
		return nil
	}
	return err
}

// answerError is an answer that is no success.
type answerError struct {
	code int
	text string
}

func (e *answerError) Error() string { return fmt.Sprintf("the bot answers %d: %s", e.code, e.text) }

func (c *client) call(method, path string, body, into any) (err error) {
	var payload io.Reader = http.NoBody
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return err
		}
		payload = bytes.NewReader(text)
	}
	req, err := http.NewRequest(method, "http://vllm-medic"+path, payload) //nolint:noctx // the client has a limit
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+personToken)
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &answerError{resp.StatusCode, string(text)}
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
