package conformance_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/google/go-cmp/cmp"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// kube is a real API server on which nothing acts.
var kube = kubetest.Share(kubetest.Options{})

func TestMain(m *testing.M) {
	code := kube.Main(m)
	acting.Stop()
	os.Exit(code)
}

// reader may read Deployments in the namespaces of the tests, and patch nothing.
const reader = "viewer"

var mayRead = rbacv1.PolicyRule{
	APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"get"},
}

// request is one request and what has to come back, from both.
type request struct {
	// name says what it asks for.
	name string
	// as is who asks; the administrator when empty.
	as                  string
	method, path        string
	contentType, accept string
	body                string
	// code and reason are of the answer; reason is empty where it is no Status of a failure.
	code   int
	reason string
	// want are parts of the answer: a dotted path and its value as JSON, null for absent.
	want map[string]string
	// save keeps parts of the answer, as later requests name them in braces.
	save map[string]string
	// apart are the dotted paths in which the two may differ, with the reason in the table.
	apart []string
}

// api is one of the two servers.
type api struct {
	t    *testing.T
	name string
	http map[string]*http.Client
	host string
	// vars are what the requests name in braces: ns is the case's namespace.
	vars map[string]string
}

func genuine(t *testing.T) *api {
	t.Helper()
	c := kube.Cluster(t)
	a := &api{t: t, name: "kube-apiserver", http: map[string]*http.Client{}, vars: map[string]string{}}
	for _, who := range []string{kubetest.Admin, reader} {
		cfg := c.ConfigFor(who)
		client, err := rest.HTTPClientFor(cfg)
		if err != nil {
			t.Fatal(err)
		}
		a.http[who], a.host = client, cfg.Host
	}
	a.vars["ns"] = c.Namespace(t)
	c.Grant(t, reader, a.vars["ns"], mayRead)
	return a
}

func simulated(t *testing.T) *api {
	t.Helper()
	s, err := kubeapi.New(kubeapi.Options{Users: []kubeapi.User{
		{Name: kubetest.Admin, Token: "of-admin", Groups: []string{kubeapi.Administrators}},
		{Name: reader, Token: "of-reader"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	a := &api{t: t, name: "simulated", http: map[string]*http.Client{}, host: server.URL, vars: map[string]string{
		"ns": kubetest.NamespacePrefix + "sim",
	}}
	for _, who := range []string{kubetest.Admin, reader} {
		client, err := rest.HTTPClientFor(s.Config(server.URL, who))
		if err != nil {
			t.Fatal(err)
		}
		a.http[who] = client
	}
	if err := s.MakeNamespace(a.vars["ns"]); err != nil {
		t.Fatal(err)
	}
	s.Grant(reader, a.vars["ns"], mayRead)
	return a
}

// answer is what came back.
type answer struct {
	Code int
	Type string
	Body any
}

// fill writes the variables into a text.
func (a *api) fill(text string) string {
	for name, value := range a.vars {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

func (a *api) ask(r request) answer {
	a.t.Helper()
	req, err := http.NewRequestWithContext(a.t.Context(), r.method, a.host+a.fill(r.path),
		strings.NewReader(a.fill(r.body)))
	if err != nil {
		a.t.Fatal(err)
	}
	if r.body != "" {
		req.Header.Set("Content-Type", or(r.contentType, "application/json"))
	}
	if r.accept != "" {
		req.Header.Set("Accept", r.accept)
	}
	req.Header.Set("User-Agent", "conformance/1")
	resp, err := a.http[or(r.as, kubetest.Admin)].Do(req)
	if err != nil {
		a.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		a.t.Fatal(err)
	}
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	out := answer{Code: resp.StatusCode, Type: kind}
	if d := json.NewDecoder(bytes.NewReader(text)); kind == "application/json" {
		d.UseNumber()
		if err := d.Decode(&out.Body); err != nil {
			a.t.Fatalf("%s: %v\n%s", a.name, err, text)
		}
	} else {
		out.Body = string(text)
	}
	return out
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// at is a part of an answer as JSON; "null" where there is none.
func at(v any, path string) string {
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[strings.ReplaceAll(name, "~", ".")]
		case []any:
			var i int
			if _, err := fmt.Sscanf(name, "%d", &i); err != nil || i >= len(in) {
				return "null"
			}
			v = in[i]
		default:
			return "null"
		}
	}
	b, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// check holds an answer against the table.
func (a *api) check(r request, got answer) {
	a.t.Helper()
	if got.Code != r.code {
		a.t.Errorf("%s, %s: %d, want %d\n%v", a.name, r.name, got.Code, r.code, got.Body)
	}
	reason := strings.Trim(at(got.Body, "reason"), `"`)
	if r.code >= http.StatusBadRequest && or(r.reason, "null") != reason {
		a.t.Errorf("%s, %s: reason %s, want %s\n%v", a.name, r.name, reason, r.reason, got.Body)
	}
	for path, want := range r.want {
		if have := at(got.Body, path); have != a.fill(want) {
			a.t.Errorf("%s, %s: %s is %s, want %s", a.name, r.name, path, have, a.fill(want))
		}
	}
	for path, name := range r.save {
		a.vars[name] = strings.Trim(at(got.Body, path), `"`)
	}
}

// same makes the answers of two servers comparable: what each of them makes up goes.
func (a *api) same(v any, path string, apart []string) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, one := range v {
			below := strings.TrimPrefix(path+"."+strings.ReplaceAll(name, ".", "~"), ".")
			if slices.Contains(apart, below) {
				continue
			}
			if list, ok := one.([]any); ok && name == "managedFields" {
				one = byManager(list)
			}
			out[name] = a.same(one, below, apart)
			switch name {
			case "uid", "resourceVersion", "creationTimestamp", "time", "deletionTimestamp", "continue":
				out[name] = "made up"
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, one := range v {
			out[i] = a.same(one, fmt.Sprintf("%s.%d", path, i), apart)
		}
		return out
	case string:
		// The whole object as it would be, which the real one writes in another order.
		if before, after, ok := strings.Cut(v, `Invalid value: "{`); ok {
			v = before + after[max(0, strings.LastIndex(after, `": `)):]
		}
		return a.masked(v)
	}
	return v
}

// masked is a text without what the server made up. The name of a namespace and a uid are in no other word, and a
// resourceVersion is a number: "32" is no part of "int32".
func (a *api) masked(text string) string {
	for _, name := range []string{"ns", "uid"} {
		if a.vars[name] != "" {
			text = strings.ReplaceAll(text, a.vars[name], "{"+name+"}")
		}
	}
	if a.vars["rv"] != "" {
		text = regexp.MustCompile(`\b`+a.vars["rv"]+`\b`).ReplaceAllString(text, "{rv}")
	}
	return text
}

func TestNoWordOfTheServersIsMasked(t *testing.T) {
	t.Parallel()
	const said = `cannot unmarshal string into Go struct field m.spec of type int32 (int64)`
	for n := range 70 {
		a := &api{vars: map[string]string{"ns": fmt.Sprint(kubetest.NamespacePrefix, n), "rv": fmt.Sprint(n)}}
		if got := a.masked(said); got != said {
			t.Errorf("as %v: %q", a.vars, got)
		}
		if got := a.masked(fmt.Sprintf("%s %d things%s", a.vars["ns"], n, a.vars["ns"])); got != "{ns} {rv} things{ns}" {
			t.Errorf("as %v: %q", a.vars, got)
		}
	}
}

// custom is the case that needs a kind of its own.
const custom = "custom kinds"

var define = request{
	name: "define it", method: http.MethodPost, path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
	body: definition, code: http.StatusCreated,
}

// byManager is a list of managed fields in an order that does not depend on when the second changed.
func byManager(list []any) []any {
	return slices.SortedFunc(slices.Values(list), func(a, b any) int {
		return strings.Compare(at(a, "manager")+at(a, "subresource"), at(b, "manager")+at(b, "subresource"))
	})
}

func TestTheSimulatedAPIAnswersAsTheRealOneDoes(t *testing.T) {
	t.Parallel()
	for name, requests := range cases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			theirs, ours := genuine(t), simulated(t)
			switch name {
			case custom:
				kube.Cluster(t).InstallCRDYAML(t, []byte(theirs.fill(definition)))
				ours.check(define, ours.ask(define))
			case limits:
				kube.Cluster(t).InstallCRD(t, kubetest.BackendTrafficPolicies)
				of := definePolicies(t)
				ours.check(of, ours.ask(of))
			}
			for _, r := range requests {
				want, got := theirs.ask(r), ours.ask(r)
				theirs.check(r, want)
				ours.check(r, got)
				want.Body, got.Body = theirs.same(want.Body, "", r.apart), ours.same(got.Body, "", r.apart)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: the answers differ (-real +simulated):\n%s", r.name, diff)
				}
			}
		})
	}
}
