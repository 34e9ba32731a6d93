package scenarios

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// hooks is a program that takes what the bot posts. The first part of a path is the receiver; each answers at once, but
// slow never does, until the journey says otherwise.
type hooks struct {
	mu  sync.Mutex
	got []posted
	// answers is how a receiver answers; none is 202.
	answers map[string]hookAnswer
	// notBefore is when a receiver that asked for time may be asked again.
	notBefore map[string]time.Time
	early     []string
}

// posted is what a receiver got, whatever it answered.
type posted struct{ receiver, kind, id, signature, body string }

// hookAnswer is a status, with the seconds of Retry-After; hang takes the body and never answers.
type hookAnswer struct {
	hang          bool
	status, after int
}

// receiver starts it. Its addresses are secrets of the bot, in the environment.
func (j *journey) receiver(env *testscript.Env) string {
	srv := httptest.NewServer(&j.hooks)
	env.Defer(srv.Close)
	j.hooks.answers = map[string]hookAnswer{"slow": {hang: true}}
	j.hooks.notBefore = map[string]time.Time{}
	for _, name := range []string{"events", "cards", "slow", "good"} {
		env.Setenv(strings.ToUpper(name)+"_URL", srv.URL+"/"+name+"/"+secret)
	}
	// The bytes 0 to 23, and nothing that anybody uses.
	env.Setenv("EVENTS_SECRET", "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX")
	return srv.URL
}

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	answer := h.take(name, posted{
		name, r.Header.Get("Content-Type"), r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Signature"), string(body),
	})
	if answer.hang {
		<-r.Context().Done()
		return
	}
	if answer.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(answer.after))
	}
	w.WriteHeader(answer.status)
}

// take keeps what was posted, and whether that was before the receiver's time.
func (h *hooks) take(name string, p posted) hookAnswer {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got = append(h.got, p)
	now := time.Now()
	if now.Before(h.notBefore[name]) {
		h.early = append(h.early, name)
	}
	answer, ok := h.answers[name]
	if !ok {
		return hookAnswer{status: http.StatusAccepted}
	}
	if answer.after > 0 {
		h.notBefore[name] = now.Add(time.Duration(answer.after) * time.Second)
	}
	return answer
}

// all is what was posted, a line each.
func (h *hooks) all() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return written(h.got)
}

func written(all []posted) string {
	var b strings.Builder
	for _, p := range all {
		fmt.Fprintln(&b, p.receiver, p.kind, p.id, p.signature, p.body)
	}
	return b.String()
}

// hooksDo is what receivers do, and what they got: hooks [VERB RECEIVER ARGS]. Without a verb the output is all that
// was posted, a line each.
//
//	answer RECEIVER hang|STATUS [SECONDS]   answers so from now on, with SECONDS as Retry-After
//	twice RECEIVER                          waits until something came again exactly as it was, and prints it
//	inOrder RECEIVER                        fails when an incident's events came in another order, or any before the
//	                                        time that was asked for
func hooksDo(ts *testscript.TestScript, neg bool, args []string) {
	h := &of(ts).hooks
	switch {
	case neg:
		ts.Fatalf("hooks has no !")
	case len(args) == 0:
		show(ts, h.all())
	case args[0] == "answer" && len(args) >= 3:
		ts.Check(h.answer(args[1], args[2:]))
	case args[0] == "twice" && len(args) == 2:
		var again []posted
		poll(ts, "something twice at "+args[1], func() bool {
			again = h.twice(args[1])
			return len(again) > 0
		})
		show(ts, written(again))
	case args[0] == "inOrder" && len(args) == 2:
		ts.Check(h.inOrder(args[1]))
	default:
		ts.Fatalf("hooks: unknown %q", args)
	}
}

func (h *hooks) answer(name string, how []string) (err error) {
	a := hookAnswer{hang: how[0] == "hang"}
	if !a.hang {
		a.status, err = strconv.Atoi(how[0])
	}
	if err == nil && len(how) > 1 {
		a.after, err = strconv.Atoi(how[1])
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answers[name] = a
	return err
}

// twice is what came again with the same id and the same body.
func (h *hooks) twice(name string) []posted {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []posted
	for n, p := range h.got {
		if p.receiver == name && slices.ContainsFunc(h.got[:n], func(o posted) bool {
			return o.receiver == name && o.id == p.id && o.body == p.body
		}) {
			out = append(out, p)
		}
	}
	return out
}

// inOrder compares each event of an incident with the one before it: neither versions nor entries go back.
func (h *hooks) inOrder(name string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if slices.Contains(h.early, name) {
		return fmt.Errorf("%s was asked before the time that it had asked for", name)
	}
	version, entry := map[string]int64{}, map[string]int64{}
	for _, p := range h.got {
		if p.receiver != name {
			continue
		}
		var e struct {
			ID, Subject string
			Data        struct {
				Incident struct{ Version int64 }
				Entry    *struct{ Seq int64 }
			}
		}
		if err := json.Unmarshal([]byte(p.body), &e); err != nil {
			return err
		}
		if v := e.Data.Incident.Version; v < version[e.Subject] {
			return fmt.Errorf("%s tells version %d after version %d", e.ID, v, version[e.Subject])
		}
		version[e.Subject] = e.Data.Incident.Version
		if e.Data.Entry == nil {
			continue
		}
		if seq := e.Data.Entry.Seq; seq < entry[e.Subject] {
			return fmt.Errorf("%s comes after entry %d", e.ID, entry[e.Subject])
		}
		entry[e.Subject] = e.Data.Entry.Seq
	}
	return nil
}
