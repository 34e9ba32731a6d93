package tracing_test

import (
	"compress/gzip"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	v1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver is an OTLP/HTTP receiver that takes nothing that the protocol does not allow.
type receiver struct {
	*httptest.Server

	t     *testing.T
	mu    sync.Mutex
	spans []*v1.Span
	raw   []byte
	auth  []string
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{t: t}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.take(req); err != nil {
			t.Errorf("the receiver refuses it: %v", err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(req *http.Request) error {
	if req.Method != http.MethodPost || req.URL.Path != "/v1/traces" || req.URL.RawQuery != "" {
		return fmt.Errorf("%s %s", req.Method, req.URL)
	}
	if got := req.Header.Get("Content-Type"); got != "application/x-protobuf" {
		return fmt.Errorf("the content type is %q", got)
	}
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		gz, err := gzip.NewReader(body)
		if err != nil {
			return err
		}
		body = gz
	}
	raw, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var msg collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(raw, &msg); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.raw, r.auth = append(r.raw, raw...), append(r.auth, req.Header.Get("Authorization"))
	for _, of := range msg.GetResourceSpans() {
		named := false
		for _, a := range of.GetResource().GetAttributes() {
			named = named || a.GetKey() == "service.name" && a.GetValue().GetStringValue() == "vllm-medic"
		}
		if !named {
			return fmt.Errorf("no service.name in %v", of.GetResource())
		}
		for _, scope := range of.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				if err := valid(s); err != nil {
					return err
				}
				r.spans = append(r.spans, s)
			}
		}
	}
	return nil
}

// valid says what the specification forbids about a span.
func valid(s *v1.Span) error {
	keys := map[string]bool{}
	for _, a := range s.GetAttributes() {
		if a.GetKey() == "" || keys[a.GetKey()] || a.GetValue() == nil {
			return fmt.Errorf("the attribute %q of %q is empty or there twice", a.GetKey(), s.GetName())
		}
		keys[a.GetKey()] = true
	}
	switch {
	case len(s.GetTraceId()) != 16, len(s.GetSpanId()) != 8,
		len(s.GetParentSpanId()) != 0 && len(s.GetParentSpanId()) != 8:
		return fmt.Errorf("ids of %q: %x %x %x", s.GetName(), s.GetTraceId(), s.GetSpanId(), s.GetParentSpanId())
	case s.GetName() == "", s.GetStartTimeUnixNano() == 0, s.GetEndTimeUnixNano() < s.GetStartTimeUnixNano():
		return fmt.Errorf("%q is from %d to %d", s.GetName(), s.GetStartTimeUnixNano(), s.GetEndTimeUnixNano())
	case len(s.ProtoReflect().GetUnknown()) > 0:
		return fmt.Errorf("%q has fields that nobody knows", s.GetName())
	}
	return nil
}

// tree maps each span to its parent's name and its length: "investigate" below "incident".
func (r *receiver) tree() map[string]string {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]string{}
	for _, s := range r.spans {
		names[hex.EncodeToString(s.GetSpanId())] = s.GetName()
	}
	out := map[string]string{}
	for _, s := range r.spans {
		parent := names[hex.EncodeToString(s.GetParentSpanId())]
		if len(s.GetParentSpanId()) == 0 {
			parent = "nothing"
		}
		took := (s.GetEndTimeUnixNano() - s.GetStartTimeUnixNano()) / 1e9
		out[s.GetName()] = fmt.Sprintf("below %s, %ds", parent, took)
	}
	return out
}
