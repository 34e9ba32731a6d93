package kubeapi

import (
	"fmt"
	"math"
	"net/http"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// Options are what a Server is made of. The zero value is an empty cluster that nobody may ask.
type Options struct {
	// Now is the time of the cluster; the machine's when nil.
	Now func() time.Time
	// Users are those who have a token.
	Users []User
	// Logs reads the log of a container; there are none when nil. It is called without locks and may ask the Server.
	Logs func(LogRequest) (string, error)
}

// Server is a Kubernetes API in memory. It is an http.Handler, for loopback only: tokens go over it in the clear. Its
// methods are safe for concurrent use.
type Server struct {
	opts      Options
	converter managedfields.TypeConverter

	mu    sync.Mutex
	store store
	kinds map[schema.GroupVersionResource]*kind
	// watchers are told of changes.
	watchers []chan struct{}

	rights rights
}

// New returns a server with the kinds of Kubernetes that the bot knows and the namespaces default and kube-system.
func New(opts Options) (*Server, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Server{
		opts: opts, converter: applyconfigurations.NewTypeConverter(scheme.Scheme),
		store: newStore(), kinds: map[schema.GroupVersionResource]*kind{},
	}
	for _, k := range builtin() {
		s.kinds[k.GroupVersionResource] = k
	}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		if err := s.MakeNamespace(name); err != nil {
			return nil, fmt.Errorf("kubeapi: %w", err)
		}
	}
	return s, nil
}

// Config is a client configuration of a user for a server that is reached at address, such as http://127.0.0.1:8001; of
// nobody when there is no such user. The limits on requests per second are off.
func (s *Server) Config(address, user string) *rest.Config {
	cfg := &rest.Config{Host: address, QPS: -1}
	for _, u := range s.opts.Users {
		if u.Name == user {
			cfg.BearerToken = u.Token
		}
	}
	return cfg
}

// Changed returns a channel that has a value soon after something has changed; one value may stand for many changes.
// The channel lives as long as the server.
func (s *Server) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := make(chan struct{}, 1)
	s.watchers = append(s.watchers, c)
	return c
}

// Version is the number of changes so far.
func (s *Server) Version() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.store.version
}

// changed tells whoever watches; the caller holds the lock.
func (s *Server) changed() {
	for _, c := range s.watchers {
		select {
		case c <- struct{}{}:
		default: // it has one waiting
		}
	}
}

// now is the time as objects have it: in whole seconds.
func (s *Server) now() metav1.Time { return metav1.NewTime(s.opts.Now().UTC().Truncate(time.Second)) }

// seconds is a number of them as a duration, as far as one can be that long.
func seconds(n int64) time.Duration {
	return time.Duration(min(n, math.MaxInt64/int64(time.Second))) * time.Second
}

// kindOf is the kind that a path names; nil when none is served there.
func (s *Server) kindOf(at schema.GroupVersionResource) *kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[at]
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache, private")
	a := answer{w}
	who, err := s.authenticate(r)
	if err != nil {
		a.refuse(err)
		return
	}
	if err := acceptable(r.Header.Get("Accept")); err != nil {
		a.refuse(err)
		return
	}
	at, ok := s.place(r.URL.Path)
	if !ok {
		s.serveOther(a, r, who)
		return
	}
	at.user = who
	at.verb = at.verbOf(r)
	if err := s.serve(a, r, at); err != nil {
		a.refuse(err)
	}
}
