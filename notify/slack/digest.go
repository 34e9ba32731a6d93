package slack

import (
	"context"

	slackgo "github.com/slack-go/slack"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// PostDigest puts up a digest. It is never repeated by itself.
func (s *Notifier) PostDigest(ctx context.Context, channel string, d incident.Digest) (string, error) {
	return s.postAny(ctx, channel, d.ID, s.digestForms(d))
}

// UpdateDigest draws a digest again. It may be called any number of times.
func (s *Notifier) UpdateDigest(ctx context.Context, channel, ts string, d incident.Digest) error {
	return s.updateAny(ctx, channel, ts, d.ID, s.digestForms(d))
}

// Call adds to a digest's thread that decisions are needed, with the mentions of everybody who is asked for one of
// them.
func (s *Notifier) Call(ctx context.Context, channel, ts string, d incident.Digest, calls []incident.Call,
	last int64,
) error {
	blocks, text := renderCall(d, calls, last)
	return s.replyAny(ctx, channel, ts, reply{d.ID, last, blocks, text, true})
}

// digestForms are the ways to send a digest, the fullest first.
func (s *Notifier) digestForms(d incident.Digest) []rendition {
	text := digestPush(d)
	if s.view.BaseURL != "" {
		text += " " + link(s.view.BaseURL, "Open the incidents")
	}
	return []rendition{
		{View: RenderDigest(d, s.view), name: "full"},
		{View: View{Text: present.Clip(text+" List them with: vllm-medic incidents list", maxText)}, name: "text"},
	}
}

// reply is what is posted to a thread, with what identifies it there.
type reply struct {
	id     string
	seq    int64
	blocks []slackgo.Block
	text   string
	calls  bool // people
}
