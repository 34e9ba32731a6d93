package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/internal/present"
)

// look is how often the bot is asked what it is doing.
const look = 250 * time.Millisecond

// watcher follows what the bot does, over its own API as anybody would, and tells it.
type watcher struct {
	world  *world
	client *http.Client

	mu     sync.Mutex
	latest *incident.Incident
	// told is the last entry of the journal that was told, by incident.
	told map[string]int64
}

func newWatcher(w *world) *watcher {
	return &watcher{world: w, client: &http.Client{Timeout: 5 * time.Second}, told: map[string]int64{}}
}

// run follows until the context ends.
func (w *watcher) run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		// The bot listens before it answers, and is asked again in a moment.
		if err := w.follow(ctx); err != nil && ctx.Err() == nil {
			w.world.log.DebugContext(ctx, "ask the bot", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// follow asks for the newest incident and tells what is new in its journal.
func (w *watcher) follow(ctx context.Context) error {
	var list struct {
		Incidents []incident.Incident `json:"incidents"`
	}
	if err := w.ask(ctx, "/api/v1/incidents?state=all&limit=1", &list); err != nil || len(list.Incidents) == 0 {
		return err
	}
	id := list.Incidents[0].ID
	w.mu.Lock()
	known := w.latest != nil && w.latest.ID == id && w.latest.Version == list.Incidents[0].Version
	w.mu.Unlock()
	if known {
		return nil
	}
	var inc incident.Incident
	if err := w.ask(ctx, "/api/v1/incidents/"+url.PathEscape(id), &inc); err != nil {
		return err
	}
	for _, e := range inc.Journal {
		if e.Seq <= w.told[id] {
			continue
		}
		w.told[id] = e.Seq
		if told(e) {
			w.world.say("Bot: %s", plain(present.Entry(e)))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latest = &inc
	return nil
}

// told says whether people are told a line of the journal: not what sums up what they were told already, and not what
// another line says in their words.
func told(e incident.Entry) bool {
	return e.Kind != incident.KindGathered && e.Kind != incident.KindClaimed && e.Said.Kind != incident.NoteAsked
}

// plain is a sentence in one line, with people by their names in the sandbox and times to the second.
func plain(spans []present.Span) string {
	var b strings.Builder
	for _, s := range spans {
		switch {
		case s.Text != "":
			b.WriteString(s.Text)
		case !s.At.IsZero():
			b.WriteString(s.At.Local().Format(time.TimeOnly))
		default:
			b.WriteString(nameOf(s.Person))
		}
	}
	return oneLine(b.String())
}

// people are the names of those who may decide.
func people() map[string]string {
	return map[string]string{"slack:U0ALICE": "Alice Abara", "slack:U0BOB": "Bob Brandt", "slack:U0CAROL": "Carol Chen"}
}

func nameOf(a incident.Actor) string {
	if name, ok := people()[present.Person(a)]; ok {
		return name
	}
	return present.Person(a)
}

// oneLine is a text without its line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// maxAnswer bounds an answer of the bot.
const maxAnswer = 16 << 20

func (w *watcher) ask(ctx context.Context, path string, into any) (err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+w.world.bot.Addr("api")+path, http.NoBody)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+w.world.secrets[envViewerToken])
	resp, err := w.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, resp.Body.Close()) }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the bot answers %s", resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(into)
}

// incident is the newest incident as it was a moment ago; false when there is none.
func (w *watcher) incident() (incident.Incident, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.latest == nil {
		return incident.Incident{}, false
	}
	return *w.latest, true
}

// doing says what the bot is at, in a sentence or two, and which of its connections somebody has cut.
func (w *watcher) doing() string {
	text := w.incidentLine()
	if w.world.pulled.isOn("slack") {
		text = "Slack is down: messages wait, and no button works. " + text
	}
	if w.world.pulled.isOn("prometheus") {
		text = "Prometheus is down: nothing can be read, and no alert can fire. " + text
	}
	return text
}

// incidentLine says how the newest incident is.
func (w *watcher) incidentLine() string {
	inc, ok := w.incident()
	switch {
	case !ok:
		return "No incident. Waiting for an alert from Alertmanager."
	case offers(inc):
		return present.Headline(inc) + ". Asking in Slack: " + present.Asking(inc)
	case asks(inc):
		return "Asking in Slack: " + question(inc) + " " + plain(present.Asked(inc))
	case inc.State == incident.StateDeciding:
		return "Asking in Slack: " + present.Headline(inc) + "."
	case inc.State == incident.StateClosed:
		return present.Headline(inc) + ". Waiting for the next alert."
	}
	if text := plain(present.Status(inc)); text != "" {
		return text
	}
	return present.Headline(inc) + "."
}

func upperFirst(text string) string {
	r, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[size:]
}
