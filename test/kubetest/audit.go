package kubetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"os"
	"slices"
	"sync"
	"testing"
	"time"
)

// auditPolicy records every request once it is answered; those that could change something with their bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  verbs: [get, list, watch]
- level: Request
`

// AuditEntry is one answered request, as the API server wrote it down.
type AuditEntry struct {
	Stage      string `json:"stage"`
	Verb       string `json:"verb"`
	RequestURI string `json:"requestURI"`
	User       struct {
		Username string `json:"username"`
	} `json:"user"`
	UserAgent string `json:"userAgent"`
	ObjectRef *struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	} `json:"objectRef"`
	ResponseStatus *struct {
		Code int `json:"code"`
	} `json:"responseStatus"`
	RequestObject     json.RawMessage `json:"requestObject"`
	ReceivedTimestamp time.Time       `json:"requestReceivedTimestamp"`
}

// Writing says that the verb can change something: everything but get, list and watch.
func (e AuditEntry) Writing() bool { return !slices.Contains([]string{"get", "list", "watch"}, e.Verb) }

// DryRun says that the request asked that nothing be kept.
func (e AuditEntry) DryRun() bool {
	u, err := url.Parse(e.RequestURI)
	return err == nil && slices.Equal(u.Query()["dryRun"], []string{"All"})
}

// Review says that the request only asked a question: an access or token review.
func (e AuditEntry) Review() bool {
	return e.Verb == "create" && e.ObjectRef != nil &&
		slices.Contains([]string{"authorization.k8s.io", "authentication.k8s.io"}, e.ObjectRef.APIGroup)
}

// Code is the status of the answer; 0 when there was none.
func (e AuditEntry) Code() int {
	if e.ResponseStatus == nil {
		return 0
	}
	return e.ResponseStatus.Code
}

// String is "bot patch /apis/... 200".
func (e AuditEntry) String() string {
	return fmt.Sprintf("%s %s %s %d", e.User.Username, e.Verb, e.RequestURI, e.Code())
}

// AuditLogPath is where the API server writes its audit log; there is none without Options.AuditLog.
func (c *Cluster) AuditLogPath() string { return c.path("audit.log") }

// auditLog is what was read of the log so far: it only grows, and many tests ask for it.
type auditLog struct {
	mu      sync.Mutex
	offset  int64
	entries []AuditEntry
}

// Audit returns the answered requests of a user in the order of the log; of everybody when user is empty.
func (c *Cluster) Audit(t testing.TB, user string) []AuditEntry {
	t.Helper()
	if !c.opts.AuditLog {
		t.Fatal("this cluster was started without Options.AuditLog")
	}
	c.audit.mu.Lock()
	defer c.audit.mu.Unlock()
	if err := c.audit.readOn(c.AuditLogPath()); err != nil {
		t.Fatalf("audit log: %v", err)
	}
	var out []AuditEntry
	for _, e := range c.audit.entries {
		if user == "" || e.User.Username == user {
			out = append(out, e)
		}
	}
	return out
}

// readOn reads the complete lines that are new. A line that is being written belongs to a request that is not answered
// yet.
func (a *auditLog) readOn(path string) (err error) {
	f, err := os.Open(path) //nolint:gosec // our own file
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b, err := io.ReadAll(io.NewSectionReader(f, a.offset, math.MaxInt64-a.offset))
	if err != nil {
		return err
	}
	for line := range bytes.Lines(b) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			return nil
		}
		var e AuditEntry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%w\n%s", err, line)
		}
		a.entries = append(a.entries, e)
		a.offset += int64(len(line))
	}
	return nil
}

// Writes are the requests of a user that were meant to change something: writing verbs without dry-run, reviews left
// out. Refused ones count.
func (c *Cluster) Writes(t testing.TB, user string) []AuditEntry {
	t.Helper()
	return slices.DeleteFunc(c.Audit(t, user), func(e AuditEntry) bool { return !e.Writing() || e.DryRun() || e.Review() })
}
