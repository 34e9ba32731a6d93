package app

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/notify/slack"
)

// clicks fits the store to what the Slack package asks for.
type clicks struct {
	store clickStore
	owner string
}

// clickStore is the store's part for clicks.
type clickStore interface {
	AddClick(ctx context.Context, at time.Time, payload []byte) error
	ClaimClick(ctx context.Context, owner string, now time.Time, lease time.Duration) (store.Click, bool, error)
	FinishClick(ctx context.Context, c store.Click) error
}

var _ slack.Clicks = clicks{}

// AddClick keeps an interaction until it is finished.
func (c clicks) AddClick(ctx context.Context, at time.Time, payload []byte) error {
	return c.store.AddClick(ctx, at, payload)
}

// ClaimClick takes the oldest interaction that nobody works on.
func (c clicks) ClaimClick(ctx context.Context, now time.Time, lease time.Duration) (slack.AcceptedClick, bool, error) {
	got, found, err := c.store.ClaimClick(ctx, c.owner, now, lease)
	return slack.AcceptedClick(got), found, err
}

// FinishClick forgets a claimed interaction.
func (c clicks) FinishClick(ctx context.Context, k slack.AcceptedClick) error {
	return c.store.FinishClick(ctx, store.Click(k))
}
