package store_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/test/postgres"
	"github.com/vllm-medic/vllm-medic/test/process"
)

// owner is a database whose owner needs a password.
type owner struct {
	t    *testing.T
	name string
	url  *url.URL
	// do runs statements as somebody who may do everything.
	do func(statements ...string)
}

func newOwner(t *testing.T) *owner {
	t.Helper()
	db := raw(t, postgres.Server(t))
	o := &owner{t: t, name: "owner_" + strings.ToLower(rand.Text()), do: func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			_, err := db.ExecContext(context.WithoutCancel(t.Context()), s)
			ok(t, err)
		}
	}}
	o.do("DO $$ BEGIN CREATE ROLE "+postgres.WithPassword+"; EXCEPTION WHEN duplicate_object OR unique_violation "+
		"THEN NULL; END $$",
		"CREATE ROLE "+o.name+" LOGIN PASSWORD 'first-s3cret' IN ROLE "+postgres.WithPassword)
	t.Cleanup(func() { o.do("DROP ROLE " + o.name) }) // after its database
	var err error
	o.url, err = url.Parse(storetest.PostgreSQL(t))
	ok(t, err)
	o.do("ALTER DATABASE " + strings.TrimPrefix(o.url.Path, "/") + " OWNER TO " + o.name)
	return o
}

// as is the URL with a password.
func (o *owner) as(password string) string {
	u := *o.url
	u.User = url.UserPassword(o.name, password)
	return u.String()
}

// cut ends the owner's connections, as a failover or a restart does.
func (o *owner) cut() {
	o.t.Helper()
	o.do("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '" + o.name + "'")
}

// A password is rotated while the bot serves, and its file follows: nothing heals but the next connection, and neither
// the old nor the new one is in the log. Before the file follows, /readyz says why nothing is committed; the same when
// the connections of the role are used up.
func TestARotatedPasswordHealsWithTheNextConnection(t *testing.T) {
	t.Parallel()
	o := newOwner(t)
	var log syncBuffer
	var mu sync.Mutex
	file := o.as("first-s3cret")
	s := storetest.Open(t, file, func(opts *store.Options) {
		opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
		opts.URL = func() string {
			mu.Lock()
			defer mu.Unlock()
			return file
		}
	})
	commits := func() error {
		_, err := s.AddDelivery(t.Context(), incident.Delivery{ReceivedAt: now})
		return err
	}
	until := func(what, reason string) {
		t.Helper()
		ok(t, process.Until(t.Context(), func(ctx context.Context) error {
			err := commits()
			ready := s.Ready(ctx)
			switch {
			case reason == "" && err == nil && ready == nil:
				return nil
			case reason != "" && err != nil && ready != nil && strings.Contains(ready.Error(), reason):
				return nil
			}
			return fmt.Errorf("%s: a commit: %w; ready: %w", what, err, ready)
		}))
	}
	ok(t, commits())
	o.do("ALTER ROLE " + o.name + " PASSWORD 'second-s3cret'")
	o.cut()
	until("rotated", "does not accept the bot's user or password")
	mu.Lock()
	file = o.as("second-s3cret")
	mu.Unlock()
	until("the file follows", "")
	o.do("ALTER ROLE " + o.name + " CONNECTION LIMIT 0")
	o.cut()
	until("used up", "too many connections")
	o.do("ALTER ROLE " + o.name + " CONNECTION LIMIT -1")
	until("free again", "")
	if strings.Contains(log.String(), "s3cret") {
		t.Errorf("the log shows a password:\n%s", log.String())
	}
}

// syncBuffer is a log that several goroutines write.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
