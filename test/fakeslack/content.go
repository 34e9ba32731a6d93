package fakeslack

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
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

// Metadata is what a message carries for apps.
type Metadata struct {
	EventType    string         `json:"event_type"`
	EventPayload map[string]any `json:"event_payload"`
}

// readContent reads and checks the content of a message, which replaces old where there is one: text without blocks
// removes the blocks, metadata that is not named stays, {} removes it.
func (s *Server) readContent(r request, old *Version) (Version, *slackError) {
	v := Version{Text: r.args["text"]}
	var e *slackError
	if v.Blocks, e = s.readBlocks(r); e != nil {
		return v, e
	}
	switch n := utf8.RuneCountInString(v.Text); {
	case n == 0 && v.Blocks == nil:
		return v, refuse("no_text")
	case n == 0: // Slack takes it
		s.unexpected = append(s.unexpected,
			r.method+": blocks without text, which is all that screen readers and notifications read")
	case n > maxPostText:
		s.unexpected = append(s.unexpected, fmt.Sprintf("%s: Slack cuts text off: it has %d characters", r.method, n))
	}
	switch {
	case !r.has("metadata") && old != nil:
		v.Metadata = old.Metadata
	case r.has("metadata") && (old == nil || strings.TrimSpace(r.args["metadata"]) != "{}"):
		v.Metadata, e = parseMetadata(r.args["metadata"])
	}
	return v, e
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
	if e := s.refuseUnknown(tree); e != nil {
		return nil, e
	}
	if len(tree) == 0 {
		return nil, nil
	}
	return s.completeBlocks(tree), nil
}

// refuseUnknown answers as Slack does about a type that it has never heard of.
func (s *Server) refuseUnknown(tree []any) *slackError {
	e := &slackError{code: "invalid_blocks", foreseen: true}
	for i, v := range tree {
		block, _ := v.(object)
		if kind := text(block, "type"); slices.Contains(s.unknownBlocks, kind) {
			e.details = append(e.details, fmt.Sprintf("unsupported type: %s [json-pointer:/blocks/%d]", kind, i))
		}
	}
	if len(e.details) == 0 {
		return nil
	}
	return e
}

// parseMetadata checks the shape {event_type, event_payload} with names in snake case. Slack calls the names a
// guideline, and takes objects and lists as values too; this double holds bots to flat values.
func parseMetadata(raw string) (*Metadata, *slackError) {
	var o object
	if err := json.Unmarshal([]byte(raw), &o); err != nil {
		return nil, refuse("invalid_metadata_format")
	}
	if len(raw) > maxMetadata {
		return nil, refuse("metadata_too_large")
	}
	var c checker
	metadata.check(&c, o, "/metadata")
	if len(c.details) > 0 {
		return nil, refuse("invalid_metadata_format", c.details...)
	}
	payload, _ := o["event_payload"].(object)
	return &Metadata{EventType: text(o, "event_type"), EventPayload: payload}, nil
}

var metadataName = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

var metadata = shape{must: props{
	"event_type": simple{"in snake case", func(v any) bool {
		s, _ := v.(string)
		return metadataName.MatchString(s)
	}},
	"event_payload": simple{"an object of strings, numbers and booleans, named in snake case", flat},
}}

func flat(v any) bool {
	o, ok := v.(object)
	for name, value := range o {
		switch value.(type) {
		case string, float64, bool:
			ok = ok && metadataName.MatchString(name)
		default:
			ok = false
		}
	}
	return ok
}
