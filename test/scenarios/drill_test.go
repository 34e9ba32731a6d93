package scenarios

import (
	"fmt"
	"net/http"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drill orders a drill over the HTTP API, as the person whose token the environment has, and follows it no further:
// drill SCENARIO.
func drill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: drill SCENARIO")
	}
	code, raw, err := request(ts, http.MethodPost, "/api/v1/drills", fmt.Appendf(nil, `{"scenario":%q}`, args[0]),
		map[string]string{"Authorization": "Bearer " + ts.Getenv("VLLM_MEDIC_TOKEN")})
	ts.Check(err)
	if code != http.StatusOK {
		ts.Fatalf("the order of a drill is answered %d: %s", code, raw)
	}
	show(ts, string(raw))
}

// object remembers the version that the API server gives the Deployment, or fails when that has changed since: object
// [same]. Any write changes it.
func object(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 || len(args) == 1 && args[0] != "same" {
		ts.Fatalf("usage: object [same]")
	}
	j := of(ts)
	d, err := j.watch.Get(j.t.Context(), model, metav1.GetOptions{})
	ts.Check(err)
	now, before := d.GetResourceVersion(), ts.Getenv("OBJECT")
	switch {
	case len(args) == 0:
		ts.Setenv("OBJECT", now)
	case before == "":
		ts.Fatalf("object same, and no object before")
	case now != before:
		ts.Fatalf("the Deployment was written: its version was %s and is %s", before, now)
	}
}
