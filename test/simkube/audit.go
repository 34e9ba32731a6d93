package simkube

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// noted is a response whose code is kept.
type noted struct {
	http.ResponseWriter

	code int
}

func (n *noted) WriteHeader(code int) {
	n.code = code
	n.ResponseWriter.WriteHeader(code)
}

// ServeHTTP answers as the API server, and notes what it has answered.
func (c *Cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	to := &noted{ResponseWriter: w, code: http.StatusOK}
	c.server.ServeHTTP(to, r)
	c.note(r, to.code)
}

func (c *Cluster) note(r *http.Request, code int) {
	e := kubetest.AuditEntry{RequestURI: r.URL.RequestURI(), Verb: strings.ToLower(r.Method)}
	if r.Method == http.MethodPost {
		e.Verb = "create"
	}
	e.User.Username = strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "+tokens)
	if as := r.Header.Get("Impersonate-User"); as != "" {
		e.User.Username = as
	}
	e.ResponseStatus = &struct {
		Code int `json:"code"`
	}{code}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	if parts[0] == "apis" && len(parts) > 2 {
		parts = append([]string{"api", parts[1]}, parts[3:]...)
	}
	at := slices.Index(parts, "namespaces")
	e.ObjectRef = &struct {
		Resource    string `json:"resource"`
		Subresource string `json:"subresource"`
		Namespace   string `json:"namespace"`
		Name        string `json:"name"`
		APIGroup    string `json:"apiGroup"`
	}{}
	if len(parts) > 1 {
		e.ObjectRef.APIGroup = parts[1]
	}
	if at > 0 && len(parts) > at+2 {
		rest := append(parts[at+2:], "", "")
		e.ObjectRef.Namespace, e.ObjectRef.Resource = parts[at+1], rest[0]
		e.ObjectRef.Name, e.ObjectRef.Subresource = rest[1], rest[2]
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.log = append(c.log, e)
}

// Audit are the answered requests of a user, in order.
func (c *Cluster) Audit(_ testing.TB, user string) []kubetest.AuditEntry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.log), func(e kubetest.AuditEntry) bool { return e.User.Username != user })
}

// Writes are those that could change something.
func (c *Cluster) Writes(t testing.TB, user string) []kubetest.AuditEntry {
	t.Helper()
	return slices.DeleteFunc(c.Audit(t, user), func(e kubetest.AuditEntry) bool {
		return !e.Writing() || e.DryRun() || e.Review()
	})
}
