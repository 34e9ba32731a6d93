package e2e

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing/synctest"

	"github.com/vllm-medic/vllm-medic/internal/app"
	"github.com/vllm-medic/vllm-medic/internal/config"
	"github.com/vllm-medic/vllm-medic/playbooks"
	"github.com/vllm-medic/vllm-medic/playbooks/catalog"
	"github.com/vllm-medic/vllm-medic/test/bubble"
)

// life is the bot in this process, from a start to an end.
type life struct {
	bot        *app.App
	api, slack *bubble.Wire
	// dead says that it was killed: nothing that it still asks for reaches anybody.
	dead  atomic.Bool
	stop  context.CancelFunc
	ended chan error
}

func (in *inside) startBot() {
	t := in.w.t
	t.Helper()
	l, err := in.build()
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	l.stop = stop
	in.life = l
	go func() { l.ended <- l.bot.Run(ctx) }()
	t.Cleanup(func() {
		if err := l.end(); err != nil {
			t.Error(err)
		}
	})
}

// end ends it; only the first call has something to tell.
func (l *life) end() error {
	l.stop()
	err, open := <-l.ended
	if open {
		close(l.ended)
	}
	return err
}

func (in *inside) build() (*life, error) {
	l := &life{api: bubble.NewWire(), slack: bubble.NewWire(), ended: make(chan error, 1)}
	builtin, err := catalog.Load(playbooks.Options{})
	if err != nil {
		return nil, err
	}
	env := map[string]string{
		"SLACK_BOT_TOKEN": in.w.slack.Token(), "SLACK_SIGNING_SECRET": in.w.slack.SigningSecret(),
	}
	cfg, err := config.Load(in.w.configured(), config.Options{
		Profiles: builtin, Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	})
	if err != nil {
		return nil, err
	}
	cat, err := catalog.Load(playbooks.Options{Window: cfg.Playbooks.Window, MaxWarmUp: cfg.Playbooks.MaxWarmUp})
	if err != nil {
		return nil, err
	}
	l.bot, err = app.New(in.w.t.Context(), app.Options{
		Config: cfg, Catalog: cat, Logger: slog.New(slog.NewTextHandler(&in.log, nil)),
		Transport: func(service string, _ http.RoundTripper) http.RoundTripper {
			return asked(func(r *http.Request) (*http.Response, error) {
				if l.dead.Load() {
					return nil, errRefused
				}
				return in.ask(service, r)
			})
		},
		Listen: func(_ context.Context, address string) (net.Listener, error) {
			switch address {
			case cfg.Listen.API:
				return l.api, nil
			case cfg.Listen.Slack:
				return l.slack, nil
			}
			return bubble.NewWire(), nil // nobody scrapes the bot
		},
	})
	return l, err
}

// asked is a function that answers requests.
type asked func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (a asked) RoundTrip(r *http.Request) (*http.Response, error) { return a(r) }

// killBot ends the bot between two instructions: what it does from now on reaches nobody, and its file is as it was.
func (in *inside) killBot() {
	t := in.w.t
	t.Helper()
	synctest.Wait() // for all of its goroutines, so that nothing is half written
	in.life.dead.Store(true)
	kept, err := readFiles(in.w.dir, stored)
	if err == nil {
		err = errors.Join(in.life.end(), writeFiles(in.w.dir, stored, kept))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// stored are the files of the bot's SQLite, those beside it included.
const stored = "medic.db*"

func readFiles(dir, pattern string) (map[string][]byte, error) {
	paths, err := filepath.Glob(filepath.Join(dir, pattern))
	out := map[string][]byte{}
	for _, path := range paths {
		text, errRead := os.ReadFile(path)
		if err = errors.Join(err, errRead); err == nil {
			out[path] = text
		}
	}
	return out, err
}

// writeFiles makes the files that match what they were.
func writeFiles(dir, pattern string, files map[string][]byte) error {
	now, err := readFiles(dir, pattern)
	for path := range now {
		if errRemove := os.Remove(path); !errors.Is(errRemove, fs.ErrNotExist) {
			err = errors.Join(err, errRemove)
		}
	}
	for path, text := range files {
		err = errors.Join(err, os.WriteFile(path, text, 0o600))
	}
	return err
}
