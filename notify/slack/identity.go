package slack

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"
)

// identityOf is what every delivery of one click, form or command has in common, and no other one has; empty when the
// payload holds nothing that tells. Slack repeats what it got no answer to, in a new envelope. A click has the moment
// at which it was made; a form and a command have their trigger. It is a digest: a trigger can open a form.
func identityOf(payload []byte) string {
	var p payloadJSON
	if err := json.Unmarshal(payload, &p); err != nil {
		return ""
	}
	parts := []string{p.Type, p.App}
	switch {
	case p.Type == "block_actions" && len(p.Actions) == 1 && p.Actions[0].At != "":
		a := p.Actions[0]
		parts = append(parts, p.User.ID, p.Container.ChannelID, p.Container.MessageTS, a.BlockID, a.ActionID, a.At)
	case p.TriggerID != "":
		parts = append(parts, p.TriggerID)
	default:
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}
