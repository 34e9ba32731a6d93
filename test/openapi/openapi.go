// Package openapi holds the HTTP API against docs/openapi.yaml: tests of the routes hand their requests and answers to
// Check. It is safe for concurrent use.
package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// Path is the document, seen from the package under test.
func Path() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, "docs", "openapi.yaml"), nil
		}
	}
	return "", errors.New("openapi: the tests run outside of the module")
}

// Load reads the document and fails on one that is not valid OpenAPI.
func Load(ctx context.Context) (*openapi3.T, error) {
	path, err := Path()
	if err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(path) //nolint:gosec // a file of this repository
	if err != nil {
		return nil, err
	}
	doc, err := openapi3.NewLoader().LoadFromData(raw)
	if err != nil {
		return nil, err
	}
	return doc, doc.Validate(ctx)
}

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := Load(context.Background())
	if err != nil {
		return nil, err
	}
	doc.Servers = nil // the paths are those of any server
	closeAnswers(doc)
	return gorillamux.NewRouter(doc)
})

// closeAnswers lets an answer have no field that the document does not name. Whoever reads answers must let new ones
// be; the document must not miss one.
func closeAnswers(doc *openapi3.T) {
	no := false
	for name, s := range doc.Components.Schemas {
		if name != "Delivery" && s.Value.Properties != nil && s.Value.AdditionalProperties.Schema == nil {
			s.Value.AdditionalProperties.Has = &no
		}
	}
}

// Check fails the test when the document does not know the route, or when the answer is not one that it describes.
// What is asked may be wrong on purpose; an answer that takes it must be to a request that the document describes.
func Check(t testing.TB, asked *http.Request, body []byte, code int, header http.Header, answer []byte) {
	t.Helper()
	if err := check(t.Context(), asked, body, code, header, answer); err != nil {
		t.Errorf("%s %s, answered with %d: docs/openapi.yaml says something else: %v", asked.Method, asked.URL, code, err)
	}
}

func check(ctx context.Context, asked *http.Request, body []byte, code int, header http.Header, answer []byte) error {
	find, err := router()
	if err != nil {
		return err
	}
	r := asked.Clone(ctx)
	r.URL = &url.URL{Path: asked.URL.Path, RawPath: asked.URL.RawPath, RawQuery: asked.URL.RawQuery}
	if r.Method == http.MethodHead {
		r.Method = http.MethodGet // the listeners answer it as one, without the body
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json") // which our own routes take for granted
	}
	route, params, err := find.FindRoute(r)
	if errors.Is(err, routers.ErrPathNotFound) || errors.Is(err, routers.ErrMethodNotAllowed) {
		if code == http.StatusNotFound || code == http.StatusMethodNotAllowed {
			return nil // nor does the bot
		}
	}
	if err != nil {
		return err
	}
	missing := code == http.StatusNotFound || code == http.StatusMethodNotAllowed
	if missing && route.Operation.Responses.Status(code) == nil {
		return nil // the route is another listener's
	}
	options := &openapi3filter.Options{
		AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true,
		MultiError: true,
	}
	request := &openapi3filter.RequestValidationInput{Request: r, PathParams: params, Route: route, Options: options}
	if code < http.StatusBadRequest && len(body) > 0 {
		if err := openapi3filter.ValidateRequest(ctx, request); err != nil {
			return fmt.Errorf("the request: %w", err)
		}
	}
	if asked.Method == http.MethodHead || strings.HasPrefix(header.Get("Content-Type"), "text/") {
		answer = nil // pages are no data
		options.ExcludeResponseBody = true
	}
	return openapi3filter.ValidateResponse(ctx, &openapi3filter.ResponseValidationInput{
		RequestValidationInput: request, Status: code, Header: header, Body: io.NopCloser(bytes.NewReader(answer)),
		Options: options,
	})
}
