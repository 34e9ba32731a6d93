package app

import (
	"github.com/vllm-medic/vllm-medic/notify"
)

func (a *App) buildNotify(owner string, outbox notify.Outbox) error {
	cfg, log := a.opts.Config, a.opts.Logger.With("part", "notify")
	notifier, err := a.newNotifier(owner)
	if err != nil {
		return err
	}
	a.dispatcher, err = notify.New(notify.Config{
		Owner: owner, Sweep: cfg.Timing.Sweep, LookAfter: a.opts.LookAfter,
		Panics: a.panics, Now: a.store.Now,
	}, outbox, a.store, notifier, log)
	return err
}
