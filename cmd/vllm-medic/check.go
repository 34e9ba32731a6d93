package main

import (
	"context"
	"flag"

	"github.com/vllm-medic/vllm-medic/internal/config"
)

func check(_ context.Context, args []string, t terminal) error {
	fs := flag.NewFlagSet("check", flag.ContinueOnError)
	path := fs.String("config", "", "the configuration `FILE`")
	offline := fs.Bool("offline", false, "do not read the values of secrets")
	open := fs.Bool("allow-unauthenticated-webhook", false, "as for serve")
	if _, err := parse(fs, args, t); err != nil {
		return err
	}
	cfg, cat, err := load(*path, config.Options{Offline: *offline, AllowUnauthenticated: *open}, t)
	if err != nil {
		return err
	}
	say(t.out, "%s is sound: mode %s, %d pools, %d playbooks.\n", *path, cfg.Mode, len(cfg.Pools), len(cat.Playbooks()))
	return nil
}
