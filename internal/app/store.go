package app

import (
	"context"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/internal/remediation"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/web"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/slack"
	"github.com/vllm-medic/vllm-medic/webhook"
)

// Store is everything that the parts of the bot ask of the store.
type Store interface {
	webhook.Inbox
	remediation.Incidents
	remediation.Inbox
	remediation.Ledger
	notify.Outbox
	notify.Incidents
	slack.Lookup
	web.Incidents
	web.Switch
	slack.Clicks
	slack.Digests
	pruner
	counter
	ReportSource
	// Ready says whether the store takes commits, and why not: *store.NotReadyError. It never waits for the writer.
	Ready(ctx context.Context) error
	// Now is the time of the store, in which replicas agree; ClockOffset is how far this machine's clock is ahead of it.
	Now() time.Time
	ClockOffset() time.Duration
	// Close ends the store after the commits under way. It may be called twice.
	Close() error
}

var _ Store = (*store.Store)(nil)

// currentURL is the store's URL as its file has it now, for each new connection; nil when no file has it.
func currentURL(cfg config.Config) func() string {
	if cfg.StoreFile == nil {
		return nil
	}
	return func() string {
		_, _ = cfg.StoreFile.Reload() // the Set that it is in logs what came of it
		return cfg.StoreFile.Value()
	}
}
