package promembed

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
)

// ServeHTTP implements http.Handler: Prometheus' API below /api/v1.
func (p *Prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) { p.mux.ServeHTTP(w, r) }

// RoundTrip implements http.RoundTripper: the request is answered in the process, whatever host it names. As a network
// would, it ends with the request's context.
func (p *Prometheus) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if req.Body != nil {
		// A body that was read as far as it was wanted has nothing left to report.
		defer func() { _ = req.Body.Close() }()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	served := req.Clone(ctx)
	if served.Body == nil {
		served.Body = http.NoBody
	}
	w := &recorder{header: http.Header{}}
	p.ServeHTTP(w, served)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return w.response(req), nil
}

// recorder is an http.ResponseWriter that keeps the answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter. The first call counts.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

func (w *recorder) response(req *http.Request) *http.Response {
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.header, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}
}
