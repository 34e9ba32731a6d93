package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// ServeHTTP answers
//
//	GET  /replica/{n}/metrics, /pod/{name}/metrics, /metrics?replica=n   one replica's metrics (n is 0 when left out)
//	GET  /health                                                         200, as vLLM says even when overloaded or wedged
//	GET  /gateway/metrics                                                the gateway's
//	GET  /_fleet/state, /_fleet/scenarios, /_fleet/targets               JSON
//	POST /_fleet/scenario                                                {"name": ...}, one of those
//	POST /_fleet/settings                                                what somebody can change; see Change
//	POST /_fleet/levers                                                  what goes wrong, all of it; see Levers
//	POST /_fleet/crash                                                   {"pod": ...}
//	POST /_fleet/drop-prefix-caches                                      no body
func (f *Fleet) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.mux.ServeHTTP(w, r) }

func (f *Fleet) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, r *http.Request) {
		n := r.URL.Query().Get("replica")
		if n == "" {
			n = "0"
		}
		f.serveReplica(w, r, func(i int, _ *replica) bool { return strconv.Itoa(i) == n })
	})
	mux.HandleFunc("GET /replica/{n}/metrics", func(w http.ResponseWriter, r *http.Request) {
		f.serveReplica(w, r, func(i int, _ *replica) bool { return strconv.Itoa(i) == r.PathValue("n") })
	})
	mux.HandleFunc("GET /pod/{name}/metrics", func(w http.ResponseWriter, r *http.Request) {
		f.serveReplica(w, r, func(_ int, rep *replica) bool { return rep.pod.Name == r.PathValue("name") })
	})
	mux.HandleFunc("GET /health", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET "+gatewayPath, f.serveGateway)
	mux.HandleFunc("GET /_fleet/state", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, f.State()) })
	mux.HandleFunc("GET /_fleet/scenarios", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, Scenarios()) })
	mux.HandleFunc("GET /_fleet/targets", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, f.Targets(r.Host)) })
	mux.HandleFunc("POST /_fleet/scenario", f.serveScenario)
	mux.HandleFunc("POST /_fleet/settings", f.serveChange)
	mux.HandleFunc("POST /_fleet/levers", f.serveLevers)
	mux.HandleFunc("POST /_fleet/crash", f.serveCrash)
	mux.HandleFunc("POST /_fleet/drop-prefix-caches", func(w http.ResponseWriter, _ *http.Request) {
		f.DropPrefixCaches()
		writeJSON(w, f.State())
	})
	return mux
}

func (f *Fleet) serveReplica(w http.ResponseWriter, r *http.Request, is func(int, *replica) bool) {
	rep, ready := f.find(is)
	switch {
	case rep == nil:
		http.Error(w, errNoReplica.Error(), http.StatusNotFound)
		return
	case !ready:
		http.Error(w, errNotReady.Error(), http.StatusServiceUnavailable)
		return
	}
	f.serveMetrics(w, r, rep)
}

// errNotReady is the answer of a replica that loads its model.
var errNotReady = errors.New("the replica is starting")

func (f *Fleet) find(is func(int, *replica) bool) (r *replica, ready bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, rep := range f.replicas {
		if is(i, rep) {
			return rep, rep.ready <= f.now
		}
	}
	return nil, false
}

func (f *Fleet) serveScenario(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Name string `json:"name"`
	}
	f.serveTurn(w, r, &body, func() error { return f.SetScenario(body.Name) })
}

func (f *Fleet) serveLevers(w http.ResponseWriter, r *http.Request) {
	var body Levers
	f.serveTurn(w, r, &body, func() error { return f.SetLevers(body) })
}

func (f *Fleet) serveCrash(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Pod string `json:"pod"`
	}
	f.serveTurn(w, r, &body, func() error { return f.Crash(body.Pod) })
}

// serveTurn reads a body, does what it asks for and answers with the state after it.
func (f *Fleet) serveTurn(w http.ResponseWriter, r *http.Request, body any, do func() error) {
	err := readJSON(w, r, body)
	if err == nil {
		err = do()
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	writeJSON(w, f.State())
}

// Change is the body of POST /_fleet/settings. Fields that are left out stay as they are.
type Change struct {
	Replicas  *int      `json:"replicas"`
	Pods      []Pod     `json:"pods"`
	Throttle  *int      `json:"throttle"`
	RateLimit *float64  `json:"rate_limit"`
	Args      *[]string `json:"args"`
	Worse     *bool     `json:"worse"`
}

func (f *Fleet) serveChange(w http.ResponseWriter, r *http.Request) {
	var body Change
	f.serveTurn(w, r, &body, func() error { return f.change(body) })
}

// change turns the worse switch first, so that the other changes of the same request already hurt.
func (f *Fleet) change(c Change) error {
	var errs []error
	if c.Worse != nil {
		f.SetWorse(*c.Worse)
	}
	if c.Args != nil {
		errs = append(errs, f.SetArgs(*c.Args))
	}
	if c.Pods != nil {
		errs = append(errs, f.SetPods(c.Pods))
	}
	if c.Replicas != nil {
		errs = append(errs, f.SetReplicas(*c.Replicas))
	}
	if c.Throttle != nil {
		errs = append(errs, f.SetThrottle(*c.Throttle))
	}
	if c.RateLimit != nil {
		errs = append(errs, f.SetRateLimit(*c.RateLimit))
	}
	return errors.Join(errs...)
}

func readJSON(w http.ResponseWriter, r *http.Request, into any) error {
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("read the JSON body: %w", err)
	}
	return nil
}

func writeJSON(w http.ResponseWriter, v any) {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(data, '\n')) // the caller has gone away
}
