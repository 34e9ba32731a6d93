package fakeslack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

const (
	// maxUpdateText is chat.update's bound on text (msg_too_long).
	maxUpdateText = 4000
	// maxPostText is where chat.postMessage cuts text off without an error.
	maxPostText = 40000
	// maxMetadata bounds metadata as JSON. Slack documents the error
	// metadata_too_large but no number; this is a guess on the strict side.
	maxMetadata = 16 << 10
)

var metadataName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Metadata is what a message carries for apps.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// readContent reads and checks the content of a new message.
func (s *Server) readContent(r request) (Version, *slackError) {
	v := Version{Text: r.args["text"]}
	var e *slackError
	if v.Blocks, e = s.readBlocks(r); e != nil {
		return v, e
	}
	if v.Text == "" && v.Blocks == nil {
		return v, refuse("no_text")
	}
	s.wantText(r, v)
	if runes := []rune(v.Text); len(runes) > maxPostText {
		s.unexpected = append(s.unexpected,
			fmt.Sprintf("%s: text of %d characters was cut off at %d", r.method, len(runes), maxPostText))
		v.Text = string(runes[:maxPostText])
	}
	if r.has("metadata") {
		if v.Metadata, e = parseMetadata(r.args["metadata"]); e != nil {
			return v, e
		}
	}
	return v, nil
}

// readUpdate applies chat.update's rules to the content so far: text without
// blocks removes the blocks, metadata that is not named stays, {} removes it.
func (s *Server) readUpdate(r request, old Version) (Version, *slackError) {
	v := Version{Text: r.args["text"], Metadata: old.Metadata}
	var e *slackError
	if v.Blocks, e = s.readBlocks(r); e != nil {
		return v, e
	}
	if v.Text == "" && v.Blocks == nil {
		return v, refuse("no_text")
	}
	s.wantText(r, v)
	if r.has("metadata") {
		v.Metadata = nil
		if strings.TrimSpace(r.args["metadata"]) != "{}" {
			v.Metadata, e = parseMetadata(r.args["metadata"])
		}
	}
	return v, e
}

// wantText notes blocks without text. Slack takes them, but screen readers and
// notifications read only the text.
func (s *Server) wantText(r request, v Version) {
	if v.Text == "" {
		s.unexpected = append(s.unexpected,
			r.method+": blocks without text, which is all that screen readers and notifications read")
	}
}

// readBlocks returns nil for absent and for empty blocks.
func (s *Server) readBlocks(r request) (json.RawMessage, *slackError) {
	raw := r.args["blocks"]
	if raw == "" {
		return nil, nil
	}
	tree, e := checkMessageBlocks(raw)
	if e != nil {
		return nil, e
	}
	if len(tree) == 0 {
		return nil, nil
	}
	return s.completeBlocks(tree), nil
}

// parseMetadata checks the shape {event_type, event_payload}: names in snake
// case, values string, number, bool, or one level of objects and lists of them.
// Slack calls the names a guideline; this double holds bots to it.
func parseMetadata(raw string) (*Metadata, *slackError) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(raw), &fields); err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	var md Metadata
	if err := json.Unmarshal([]byte(raw), &md); err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	if len(raw) > maxMetadata {
		return nil, refuse("metadata_too_large")
	}
	for name := range fields {
		if name != "event_type" && name != "event_payload" {
			return nil, refuse("invalid_metadata_format", "unknown field: "+name+" [json-pointer:/metadata]")
		}
	}
	if !metadataName.MatchString(md.EventType) {
		return nil, refuse("invalid_metadata_format", "must be in snake case [json-pointer:/metadata/event_type]")
	}
	if md.EventPayload == nil {
		return nil, refuse("invalid_metadata_format", "missing required field: event_payload [json-pointer:/metadata]")
	}
	if e := checkPayload(md.EventPayload, "/metadata/event_payload"); e != nil {
		return nil, e
	}
	return &md, nil
}

func checkPayload(payload map[string]any, at string) *slackError {
	for name, value := range payload {
		where := at + "/" + name
		if !metadataName.MatchString(name) {
			return refuse("invalid_metadata_format", "name must be in snake case [json-pointer:"+where+"]")
		}
		switch v := value.(type) {
		case map[string]any:
			if !flat(v) {
				return refuse("invalid_metadata_format", "too deep [json-pointer:"+where+"]")
			}
		case []any:
			for _, item := range v {
				if object, ok := item.(map[string]any); (ok && !flat(object)) || (!ok && !scalar(item)) {
					return refuse("invalid_metadata_format", "too deep [json-pointer:"+where+"]")
				}
			}
		default:
			if !scalar(value) {
				return refuse("invalid_metadata_format", "must be a string, number or boolean [json-pointer:"+where+"]")
			}
		}
	}
	return nil
}

func scalar(v any) bool {
	switch v.(type) {
	case string, float64, bool:
		return true
	default:
		return false
	}
}

func flat(object map[string]any) bool {
	for name, v := range object {
		if !metadataName.MatchString(name) || !scalar(v) {
			return false
		}
	}
	return true
}
