package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	slackgo "github.com/slack-go/slack"
)

const (
	// pageSize and maxPages bound a search. A search that ends before it has seen everything is an error, not "not there".
	pageSize = 200
	maxPages = 10
)

// FindPosted looks for a message of ours, or a thread entry when entrySeq is not 0, that was posted at or after oldest.
// A nil error promises that all of the channel since then was seen.
func (s *Notifier) FindPosted(ctx context.Context, channel, parentTS, incidentID string, entrySeq int64,
	oldest time.Time,
) (string, bool, error) {
	me, err := s.client.identity(ctx)
	if err != nil {
		return "", false, err
	}
	cursor := ""
	for range maxPages {
		page, next, err := s.page(ctx, channel, parentTS, cursor, oldest)
		if err != nil {
			return "", false, err
		}
		for _, m := range page {
			if m.Timestamp != parentTS && ours(m, me) && refersTo(m, incidentID, entrySeq) {
				return m.Timestamp, true, nil
			}
		}
		if next == "" {
			return "", false, nil
		}
		cursor = next
	}
	return "", false,
		fmt.Errorf("slack: more than %d messages since %s; the search was stopped", pageSize*maxPages,
			oldest.UTC().Format(time.RFC3339))
}

func (s *Notifier) page(ctx context.Context, channel, parentTS, cursor string,
	oldest time.Time) (page []slackgo.Message,
	next string, err error,
) {
	if parentTS != "" {
		err = s.client.repeat(ctx, "conversations.replies", func(ctx context.Context) error {
			var err error
			var hasMore bool
			ask := &slackgo.GetConversationRepliesParameters{
				ChannelID: channel, Timestamp: parentTS, Cursor: cursor, Inclusive: true, Limit: pageSize,
				Oldest: stamp(oldest), IncludeAllMetadata: true,
			}
			page, hasMore, next, err = s.client.api().GetConversationRepliesContext(ctx, ask)
			return wholePage(err, hasMore, next)
		})
		return page, next, err
	}
	err = s.client.repeat(ctx, "conversations.history", func(ctx context.Context) error {
		h, err := s.client.api().GetConversationHistoryContext(ctx, &slackgo.GetConversationHistoryParameters{
			ChannelID: channel, Cursor: cursor, Inclusive: true, Limit: pageSize, Oldest: stamp(oldest),
			IncludeAllMetadata: true,
		})
		if err != nil {
			return err
		}
		page, next = h.Messages, h.ResponseMetaData.NextCursor
		return wholePage(nil, h.HasMore, next)
	})
	return page, next, err
}

// wholePage refuses a page that says there is more and not where.
func wholePage(err error, hasMore bool, next string) error {
	if err == nil && hasMore && next == "" {
		return errors.New("the history says that there is more and not where")
	}
	return err
}

func ours(m slackgo.Message, me Identity) bool {
	return (me.User != "" && m.User == me.User) || (me.BotID != "" && m.BotID == me.BotID)
}

// refersTo compares the metadata, and the reference at the end of the text where the metadata did not survive.
func refersTo(m slackgo.Message, id string, seq int64) bool {
	if m.Metadata.EventType == eventType {
		got, ok := m.Metadata.EventPayload["incident_id"].(string)
		return ok && got == id && seqOf(m.Metadata.EventPayload["seq"]) == seq
	}
	return strings.HasSuffix(strings.TrimSpace(m.Text), reference(id, seq))
}

func seqOf(v any) int64 {
	switch n := v.(type) {
	case float64:
		return int64(n)
	case json.Number:
		if i, err := n.Int64(); err == nil {
			return i
		}
	}
	return -1
}
