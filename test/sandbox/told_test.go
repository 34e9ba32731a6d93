package sandbox

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/truth"
	"github.com/vllm-medic/vllm-medic/test/truth/surface"
)

// reader keeps the page of each incident open, as a person does.
type reader struct {
	stop, stopped chan struct{}

	mu sync.Mutex
	// pages are all versions of the pages by their address, lies what was not true of an incident when it was read.
	pages map[string][]truth.Version
	lies  map[string]bool
}

// readEvery is how often the pages are read.
const readEvery = time.Second

// reads begins to read the pages of the incidents that the messages link to.
func (r *running) reads() {
	r.reader = &reader{
		stop: make(chan struct{}), stopped: make(chan struct{}), pages: map[string][]truth.Version{},
		lies: map[string]bool{},
	}
	go func() {
		defer close(r.reader.stopped)
		tick := time.NewTicker(readEvery)
		defer tick.Stop()
		for {
			select {
			case <-r.reader.stop:
				return
			case <-tick.C:
				r.reader.look(r.at)
			}
		}
	}()
	r.t.Cleanup(r.reader.close)
}

func (r *reader) close() {
	select {
	case <-r.stop:
	default:
		close(r.stop)
	}
	<-r.stopped
}

var incidentPages = regexp.MustCompile(`href="(http://127\.0\.0\.1:\d+)/incidents/([\w-]+)"`)

// look reads all pages once. While the sandbox starts or ends there is nothing to read.
func (r *reader) look(feed string) {
	seen := map[string]bool{}
	messages, _ := gets(feed + "_page/feed")
	for _, m := range incidentPages.FindAllStringSubmatch(messages, -1) {
		if page := m[1] + "/incidents/" + m[2]; !seen[page] {
			seen[page] = true
			r.read(page, m[1]+"/api/v1/incidents/"+m[2])
		}
	}
}

// read reads one page. Where its incident stays as it is meanwhile, it is held to that.
func (r *reader) read(page, api string) {
	before, err := gets(api)
	text, errPage := gets(page)
	after, errAfter := gets(api)
	if err != nil || errPage != nil || errAfter != nil {
		return
	}
	v, err := surface.Page(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.lies[fmt.Sprintf("%s: %v", page, err)] = true
		return
	}
	v.At = time.Now()
	r.pages[page] = append(r.pages[page], v)
	var inc incident.Incident
	if before != after {
		return
	}
	if err := json.Unmarshal([]byte(before), &inc); err != nil {
		r.lies[err.Error()] = true
	}
	for _, lie := range truth.Of(inc, v) {
		r.lies[fmt.Sprintf("%s: %s\n%s", page, lie, v.Text)] = true
	}
}

// gets reads what is at an address of this machine.
func gets(address string) (string, error) {
	resp, err := http.Get(address) //nolint:noctx // it is on this machine
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close() // it was read
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", address, resp.Status)
	}
	return string(body), err
}

// told are all messages so far, with all of their versions.
func (r *running) told() []truth.Message {
	r.t.Helper()
	text, err := gets(r.page() + "_fake/told")
	if err != nil {
		r.t.Fatal(err)
	}
	var out []truth.Message
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		r.t.Fatal(err)
	}
	return out
}

// tellsTheTruth holds all that was told so far to docs/truth.md: each version of each message, and of the pages that it
// links to.
func (r *running) tellsTheTruth() {
	r.t.Helper()
	messages := r.told()
	r.reader.close()
	if len(messages) == 0 || len(r.reader.pages) == 0 {
		r.t.Errorf("%d messages and %d pages were read", len(messages), len(r.reader.pages))
	}
	for _, m := range messages {
		for _, lie := range truth.Over(m) {
			r.t.Errorf("a message is not true: %s", lie)
		}
	}
	for lie := range r.reader.lies {
		r.t.Errorf("not true: %s", lie)
	}
	for page, versions := range r.reader.pages {
		r.t.Logf("%s was read %d times", page, len(versions))
		for _, lie := range truth.Over(truth.Message{Versions: versions}) {
			r.t.Errorf("%s is not true: %s", page, lie)
		}
	}
}
