package hook_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/store"
	"github.com/vllm-medic/vllm-medic/internal/store/storetest"
	"github.com/vllm-medic/vllm-medic/notify"
	"github.com/vllm-medic/vllm-medic/notify/cloudevents"
	"github.com/vllm-medic/vllm-medic/notify/teams"
)

// inbox is a receiver that takes everything, and can lose its answer on the way.
type inbox struct {
	mu   sync.Mutex
	got  []string
	lose func(what string) bool
}

// ServeHTTP keeps the id of an event, or the text of a card.
func (i *inbox) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	what := r.Header.Get("webhook-id")
	if what == "" {
		var card struct {
			Attachments []struct {
				Content struct {
					Body []struct{ Inlines []struct{ Text string } }
				}
			}
		}
		if err := json.Unmarshal(body, &card); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		what = card.Attachments[0].Content.Body[1].Inlines[0].Text
	}
	i.mu.Lock()
	i.got = append(i.got, what)
	lost := i.lose != nil && i.lose(what)
	i.mu.Unlock()
	if lost {
		panic(http.ErrAbortHandler) // it has the body, and the sender no answer
	}
	w.WriteHeader(http.StatusAccepted)
}

func (i *inbox) all() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.got)
}

// dying is the store of a process that is killed after it has posted something: its outcome is not stored any more.
type dying struct {
	*store.Store

	in   *inbox
	what string
	dead bool
}

var errKilled = errors.New("killed")

func (d *dying) SaveMessage(ctx context.Context, m incident.Message, release bool) error {
	if d.dead = d.dead || slices.Contains(d.in.all(), d.what); d.dead {
		return errKilled
	}
	return d.Store.SaveMessage(ctx, m, release)
}

// What is promised of a process that ends at any moment, and of answers that are lost: everything arrives, in order.
// What arrives again is the event with the same id, or the same card once more, and nothing else does.
func TestNothingIsLostBetweenAPostAndItsRecord(t *testing.T) {
	t.Parallel()
	kinds := map[string]struct {
		sink func(url string, through http.RoundTripper) (notify.Notifier, error)
		want []string
	}{
		"cloudevents": {
			func(url string, through http.RoundTripper) (notify.Notifier, error) {
				return cloudevents.New(cloudevents.Config{
					URL: always(url), Key: func() []byte { return []byte("0123456789abcdef0123456789abcdef") },
					Transport: through,
				})
			},
			[]string{"inc-a-v1", "inc-a-e1", "inc-a-e2"},
		},
		"teams": {
			func(url string, through http.RoundTripper) (notify.Notifier, error) {
				return teams.New(teams.Config{URL: always(url), Transport: through})
			},
			[]string{"Begins.", "One.", "Two."},
		},
	}
	for name, kind := range kinds {
		for at, cut := range kind.want {
			for _, how := range []string{"killed", "answer lost"} {
				t.Run(name+"/"+cut+" "+how, func(t *testing.T) {
					t.Parallel()
					in := &inbox{}
					srv := httptest.NewServer(in)
					t.Cleanup(srv.Close)
					to, err := kind.sink(srv.URL, srv.Client().Transport)
					if err != nil {
						t.Fatal(err)
					}
					now := time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)
					s := storetest.Open(t, storetest.SQLite(t), func(o *store.Options) { o.Sinks = []string{"out"} })
					begin(t, s, now)
					turn := func(outbox notify.Outbox) error {
						d, err := notify.New(notify.Config{Sink: "out", Owner: "me", Now: func() time.Time { return now }},
							outbox, s, to, slog.New(slog.DiscardHandler))
						if err != nil {
							t.Fatal(err)
						}
						_, err = d.Deliver(t.Context())
						return err
					}
					switch how {
					case "killed":
						if err := turn(&dying{Store: s, in: in, what: cut}); !errors.Is(err, errKilled) {
							t.Fatalf("the process was not killed: %v", err)
						}
					default:
						once := true
						in.lose = func(what string) bool {
							lost := once && what == cut
							once = once && !lost
							return lost
						}
						if err := turn(s); err != nil {
							t.Fatal(err)
						}
					}
					if got := in.all(); len(got) != at+1 {
						t.Fatalf("before: %q", got)
					}
					for range 10 { // the next process, and another turn of this one, begin when the lease has ended
						now = now.Add(2 * time.Minute)
						if err := turn(s); err != nil {
							t.Fatal(err)
						}
					}
					want := slices.Insert(slices.Clone(kind.want), at, cut)
					if got := in.all(); !slices.Equal(got, want) {
						t.Errorf("the receiver got %q, want %q", got, want)
					}
				})
			}
		}
	}
}

// begin stores an incident with two entries for people.
func begin(t *testing.T, s *store.Store, now time.Time) {
	t.Helper()
	inc := incident.New("inc-a", "llama", incident.ModeApprove, false, now)
	inc.Diagnosis = &incident.Diagnosis{Name: "queueing", Summary: "Begins."}
	var entries []incident.Entry
	for _, text := range []string{"One.", "Two."} {
		entries = append(entries, incident.Entry{At: now, Kind: incident.KindDecided, Text: text, Thread: true})
	}
	if err := s.Commit(t.Context(), incident.Change{Incident: inc, Render: true, Entries: entries}); err != nil {
		t.Fatal(err)
	}
}
