package conformance_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/gateway"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

// limits is the case with Envoy Gateway's traffic policies: the real API server has the definition that Envoy Gateway
// ships, the simulated one the sandbox's own.
const limits = "limits of a gateway"

const (
	policies = "/apis/gateway.envoyproxy.io/v1alpha1/namespaces/{ns}/backendtrafficpolicies"
	policy   = policies + "/m"
	target   = `"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute","name":"m"}]`
)

// definePolicies makes the simulated API serve the policies as the sandbox defines them.
func definePolicies(t *testing.T) request {
	t.Helper()
	text, err := yaml.YAMLToJSON(gateway.Definition)
	if err != nil {
		t.Fatal(err)
	}
	return request{name: define.name, method: define.method, path: define.path, body: string(text), code: define.code}
}

func limitCases() map[string][]request {
	post := func(name, query, spec string, code int, reason string) request {
		return request{
			name: name, method: http.MethodPost, path: policies + query, code: code, reason: reason,
			body: `{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"BackendTrafficPolicy","metadata":{"name":"m"},` +
				`"spec":{` + target + spec + `}}`,
		}
	}
	// Envoy Gateway's definition has rules in CEL too, which the simulated API doesn't look at: where the schema refuses
	// an object, the real one says that it has not come to them.
	celApart := func(field string, r request) request {
		r.want = map[string]string{"details.causes.0.field": `"` + field + `"`}
		return differently(r, "message", "details.causes")
	}
	const most, refused = "spec.circuitBreaker.maxParallelRequests", http.StatusUnprocessableEntity
	lower := func(name, query, from, to string, code int, reason string, want map[string]string) request {
		return request{
			name: name, method: http.MethodPatch, path: policy + query, contentType: jsonPatch, code: code, reason: reason,
			want: want, body: `[{"op":"test","path":"/metadata/uid","value":"{uid}"},
				{"op":"test","path":"/spec/circuitBreaker/maxParallelRequests","value":` + from + `},
				{"op":"add","path":"/spec/circuitBreaker/maxParallelRequests","value":` + to + `}]`,
		}
	}
	status := func(name, ancestors string, code int, reason string, want map[string]string) request {
		return request{
			name: name, method: http.MethodPatch, path: policy + "/status", contentType: mergePatch, code: code, reason: reason,
			want: want, body: `{"spec":{"circuitBreaker":{"maxParallelRequests":1}},"status":{"ancestors":` + ancestors + `}}`,
		}
	}
	return map[string][]request{limits: {
		{name: "none", method: http.MethodGet, path: policy, code: http.StatusNotFound, reason: "NotFound"},
		celApart(most, post("with text for a number", "", `,"circuitBreaker":{"maxParallelRequests":"x"}`, refused,
			"Invalid")),
		post("below its minimum", "", `,"circuitBreaker":{"maxParallelRequests":-1}`, refused, "Invalid"),
		post("beyond its maximum", "", `,"circuitBreaker":{"maxParallelRequests":4294967296}`, refused, "Invalid"),
		post("with what it does not have", "?fieldValidation=Strict", `,"circuitBreaker":{"most":1}`, http.StatusBadRequest,
			"BadRequest"),
		celApart("spec.targetRefs[0].name", request{
			name: "for nothing that has a name", method: http.MethodPost, path: policies, code: refused, reason: "Invalid",
			body: `{"apiVersion":"gateway.envoyproxy.io/v1alpha1","kind":"BackendTrafficPolicy","metadata":{"name":"m"},` +
				`"spec":{"targetRefs":[{"group":"gateway.networking.k8s.io","kind":"HTTPRoute"}]}}`,
		}),
		{
			name: "make it", method: http.MethodPost, path: policies, code: http.StatusCreated, body: post("", "",
				`,"circuitBreaker":{"maxParallelRequests":184}`, 0, "").body,
			want: map[string]string{
				most: "184", "spec.circuitBreaker.maxConnections": "1024", "spec.circuitBreaker.maxPendingRequests": "1024",
				"spec.circuitBreaker.maxParallelRetries": "1024", "metadata.generation": "1", "status": "null",
			},
			save: map[string]string{"metadata.uid": "uid"},
		},
		lower("try to lower it", "?dryRun=All&fieldManager=vllm-medic", "184", "128", http.StatusOK, "",
			map[string]string{most: "128"}),
		{
			name: "it was not lowered", method: http.MethodGet, path: policy, code: http.StatusOK,
			want: map[string]string{most: "184", "metadata.generation": "1"},
		},
		lower("lower it", "?fieldManager=vllm-medic", "184", "128", http.StatusOK, "",
			map[string]string{most: "128", "metadata.generation": "2"}),
		lower("lower it again", "?fieldManager=vllm-medic", "184", "128", refused, "Invalid", nil),
		lower("lower it too far", "?fieldManager=vllm-medic", "128", "-1", refused, "Invalid", nil),
		status("accept it", `[{"ancestorRef":{"name":"eg"},"controllerName":"gateway.envoyproxy.io/eg","conditions":[{
			"type":"Accepted","status":"True","reason":"Accepted","message":"","observedGeneration":2,
			"lastTransitionTime":"2026-01-01T00:00:00Z"}]}]`, http.StatusOK, "", map[string]string{
			most: "128", "metadata.generation": "2", "status.ancestors.0.ancestorRef.kind": `"Gateway"`,
			"status.ancestors.0.conditions.0.observedGeneration": "2",
		}),
		celApart("status.ancestors[0].conditions[0].status", status("say too little of it", `[{"ancestorRef":{"name":"eg"},
			"controllerName":"gateway.envoyproxy.io/eg","conditions":[{"type":"Accepted","status":"Maybe"}]}]`, refused,
			"Invalid", nil)),
		celApart("status.ancestors[0].conditions", status("say nothing of it", `[{"ancestorRef":{"name":"eg"},
			"controllerName":"gateway.envoyproxy.io/eg","conditions":[]}]`, refused, "Invalid", nil)),
		{
			name: "take the limit away", method: http.MethodPatch, path: policy, contentType: jsonPatch, code: http.StatusOK,
			body: `[{"op":"remove","path":"/spec/circuitBreaker"}]`,
			want: map[string]string{"spec.circuitBreaker": "null", "metadata.generation": "3"},
		},
		{name: "delete it", method: http.MethodDelete, path: policy, code: http.StatusOK},
	}}
}

// What the sandbox knows of a policy is what Envoy Gateway's definition says of it, with less in it.
func TestTheSandboxsPolicyIsAnExcerptOfEnvoyGateways(t *testing.T) {
	t.Parallel()
	var theirs, ours map[string]any
	for text, into := range map[string]*map[string]any{
		string(kubetest.Definition(t, kubetest.BackendTrafficPolicies)): &theirs, string(gateway.Definition): &ours,
	} {
		if err := yaml.Unmarshal([]byte(text), into); err != nil {
			t.Fatal(err)
		}
	}
	excerpt(t, "", theirs, ours)
}

// excerpt checks that an object holds nothing but what the whole one holds. Of fields there may be fewer, but none less
// is required, allowed or filled in of those that are there.
func excerpt(t *testing.T, at string, whole, part any) {
	t.Helper()
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		if !ok {
			t.Errorf("%s: theirs is %v", at, whole)
			return
		}
		for name, v := range p {
			excerpt(t, at+"."+name, w[name], v)
		}
		if _, schema := p["type"].(string); !schema {
			return
		}
		for name, v := range w {
			switch _, has := p[name]; {
			case has, name == "description", name == "properties", name == "x-kubernetes-validations":
			default:
				t.Errorf("%s lacks %s: %v", at, name, v)
			}
		}
	case []any:
		w, ok := whole.([]any)
		if !ok || len(w) != len(p) {
			t.Errorf("%s: theirs is %v, ours %v", at, whole, part)
			return
		}
		for i := range p {
			excerpt(t, at, w[i], p[i])
		}
	default:
		if diff := cmp.Diff(whole, part); diff != "" {
			t.Errorf("%s (-theirs +ours):\n%s", at, diff)
		}
	}
}
