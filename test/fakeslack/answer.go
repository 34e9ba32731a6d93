package fakeslack

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// answer is the JSON object a method returns, without "ok".
type answer map[string]any

// slackError is a refusal: HTTP 200 with ok:false, as Slack does it.
type slackError struct {
	code             string
	details          []string // errors[], each ending in a JSON pointer
	needed, provided string   // for missing_scope
	foreseen         bool     // a correct bot can meet it
}

func refuse(code string, details ...string) *slackError {
	return &slackError{code: code, details: details}
}

func (e *slackError) body() answer {
	out := answer{"ok": false, "error": e.code}
	if len(e.details) > 0 {
		messages := make([]string, len(e.details))
		for i, d := range e.details {
			messages[i] = "[ERROR] " + d
		}
		out["errors"] = e.details
		out["response_metadata"] = answer{"messages": messages}
	}
	if e.needed != "" {
		out["needed"], out["provided"] = e.needed, e.provided
	}
	return out
}

// reply is an answer ready to be sent.
type reply struct {
	status     int
	retryAfter time.Duration
	body       []byte
	html       bool
	drop       bool
}

func jsonReply(status int, v any) reply {
	b, err := json.Marshal(v)
	if err != nil {
		// Every value passed in is built here from strings, numbers and JSON that
		// was decoded before, so this is a mistake in the double itself.
		return reply{
			status: http.StatusInternalServerError, body: []byte("fakeslack: cannot encode answer: " + err.Error()),
			html: true,
		}
	}
	return reply{status: status, body: b}
}

// send writes the reply or cuts the connection.
func (rep reply) send(w http.ResponseWriter) {
	if rep.drop {
		panic(http.ErrAbortHandler) // net/http's way to cut a connection; it is not logged
	}
	if rep.html {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
	} else {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
	}
	if rep.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wholeSeconds(rep.retryAfter)))
	}
	w.WriteHeader(rep.status)
	_, _ = w.Write(rep.body) // the caller may be gone, which is its own affair
}

// wholeSeconds rounds up: Retry-After has no fractions.
func wholeSeconds(d time.Duration) int {
	return int((d + time.Second - 1) / time.Second)
}
