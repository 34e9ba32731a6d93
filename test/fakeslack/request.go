package fakeslack

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// maxBody bounds a request; Slack's own bound is not documented.
const maxBody = 4 << 20

// request is one call after decoding. Structured arguments are JSON text, as in
// a form, whether they came in a form or inside a JSON body.
type request struct {
	method string
	args   map[string]string
	token  string
	// inHeader says that the token came in the Authorization header.
	inHeader bool
}

func (r request) has(name string) bool {
	_, ok := r.args[name]
	return ok
}

// flag reads a boolean the way Slack does: "1", "true".
func (r request) flag(name string) bool {
	v := strings.ToLower(r.args[name])
	return v == "1" || v == "true"
}

// flagPtr is nil when the argument is absent.
func (r request) flagPtr(name string) *bool {
	if !r.has(name) {
		return nil
	}
	v := r.flag(name)
	return &v
}

func (r request) integer(name string, def int, code string) (int, *slackError) {
	raw, ok := r.args[name]
	if !ok || raw == "" {
		return def, nil
	}
	n, err := strconv.Atoi(raw)
	if err != nil {
		return 0, refuse(code)
	}
	return n, nil
}

// decodeRequest reads one Web API call. The error is what Slack answers.
func decodeRequest(w http.ResponseWriter, hr *http.Request) (request, *slackError) {
	r := request{method: hr.PathValue("method"), args: map[string]string{}}
	for k, v := range hr.URL.Query() {
		r.args[k] = v[len(v)-1]
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, hr.Body, maxBody))
	if err != nil {
		return r, refuse("request_timeout")
	}
	if e := r.decodeBody(hr.Header.Get("Content-Type"), body); e != nil {
		return r, e
	}
	r.takeToken(hr.Header.Get("Authorization"))
	return r, nil
}

func (r *request) decodeBody(contentType string, body []byte) *slackError {
	if len(body) == 0 {
		return nil
	}
	if contentType == "" {
		return refuse("missing_post_type")
	}
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return refuse("invalid_post_type")
	}
	switch media {
	case "application/x-www-form-urlencoded":
		return r.decodeForm(body)
	case "application/json":
		return r.decodeJSON(body)
	default:
		// Slack also takes multipart forms; nothing here sends them.
		return refuse("invalid_post_type")
	}
}

func (r *request) decodeForm(body []byte) *slackError {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return refuse("invalid_form_data")
	}
	for k, v := range form {
		r.args[k] = v[len(v)-1]
	}
	return nil
}

func (r *request) decodeJSON(body []byte) *slackError {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return refuse("json_not_object")
		}
		return refuse("invalid_json")
	}
	for k, raw := range fields {
		var text string
		switch {
		case string(raw) == "null":
			continue
		case json.Unmarshal(raw, &text) == nil:
			r.args[k] = text
		default:
			r.args[k] = string(raw)
		}
	}
	return nil
}

// takeToken moves the token out of the arguments, so that no record shows it.
func (r *request) takeToken(authorization string) {
	r.token = r.args["token"]
	delete(r.args, "token")
	if scheme, rest, ok := strings.Cut(authorization, " "); ok && strings.EqualFold(scheme, "Bearer") {
		r.token, r.inHeader = strings.TrimSpace(rest), true
	}
}
