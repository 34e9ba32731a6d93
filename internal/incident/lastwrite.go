package incident

// LastWriteAnnotation is on objects that can carry it and names the last write that a bot has made of them.
const LastWriteAnnotation = "vllm-medic.io/last-write"

// LastWrite is what an object says of the last write that a bot has made of it. Anybody who may change the object may
// have set what it says.
type LastWrite struct {
	// Target is the object, without a field. Resource is what kubectl calls its kind: "deployments.apps".
	Target   Target `json:"target"`
	Resource string `json:"resource"`
	// ID names the write; see ParseWriteID. It is cut off where it is too long for one.
	ID string `json:"id"`
	// Settings are the fields of the object that the pool's knobs change, as they are now.
	Settings []WrittenSetting `json:"settings,omitempty"`
}

// WrittenSetting is a field of an object that a bot may have written.
type WrittenSetting struct {
	// Field is Target.Field.
	Field string `json:"field"`
	Value Value  `json:"value,omitzero"`
	// Unread says why the value can't be read; empty when it can.
	Unread string `json:"unread,omitempty"`
	// Before is the value that the object says a bot has replaced; nil when it says nothing.
	Before *Value `json:"before,omitempty"`
	// Patch is the JSON Patch that sets Before again; empty where it is in place, or isn't a value to set.
	Patch string `json:"patch,omitempty"`
}

// ClipWriteID cuts off what is too long for a WriteID; what is cut off names no write.
func ClipWriteID(text string) string { return ClipBytes(text, longestWriteID+len(ClipMark)) }
