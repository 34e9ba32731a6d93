package conformance_test

import (
	"maps"
	"net/http"
)

const (
	deployments = "/apis/apps/v1/namespaces/{ns}/deployments"
	one         = deployments + "/m"
	jsonPatch   = "application/json-patch+json"
	mergePatch  = "application/merge-patch+json"
	strategic   = "application/strategic-merge-patch+json"
	applyPatch  = "application/apply-patch+yaml"
	strict      = "?fieldManager=vllm-medic&fieldValidation=Strict"
	dry         = strict + "&dryRun=All"
)

const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"m","labels":{"app":"m"},
"annotations":{"a":"b"}},"spec":{"replicas":2,"selector":{"matchLabels":{"app":"m"}},"template":{"metadata":
{"labels":{"app":"m"}},"spec":{"containers":[{"name":"vllm","image":"vllm/vllm-openai:v0.29.0",
"args":["--model=m","--max-num-batched-tokens=8192"],"ports":[{"containerPort":8000}],
"resources":{"limits":{"nvidia.com/gpu":"1"}}}]}}}}`

// made is the request that makes the Deployment; it keeps its UID and version.
func made() request {
	return request{
		name: "make it", method: http.MethodPost, path: deployments + "?fieldManager=kubectl-create", body: deployment,
		code: http.StatusCreated, save: map[string]string{"metadata.uid": "uid", "metadata.resourceVersion": "rv"},
		want: map[string]string{"metadata.generation": "1", "spec.strategy.rollingUpdate.maxSurge": `"25%"`},
	}
}

// now reads the Deployment, and says that parts of it are so.
func now(name string, want map[string]string) request {
	return request{name: name, method: http.MethodGet, path: one, code: http.StatusOK, want: want}
}

func patch(name, query, body string, code int, reason string, want map[string]string) request {
	return request{
		name: name, method: http.MethodPatch, path: one + query, contentType: jsonPatch, body: body, code: code,
		reason: reason, want: want,
	}
}

// differently lets the two differ in a part of the answer.
func differently(r request, apart ...string) request {
	r.apart = apart
	return r
}

// cases are the requests by what they are about. Each starts in an empty namespace.
func cases() map[string][]request {
	out := map[string][]request{}
	for _, some := range []map[string][]request{
		readCases(), patchCases(), scaleCases(), writeCases(), otherKinds(), serverCases(), rightsCases(), customCases(),
		limitCases(),
	} {
		maps.Copy(out, some)
	}
	return out
}

func readCases() map[string][]request {
	return map[string][]request{
		"get": {
			{name: "none", method: http.MethodGet, path: one, code: http.StatusNotFound, reason: "NotFound"},
			made(),
			now("there", map[string]string{
				"spec.replicas": "2", "spec.template.spec.restartPolicy": `"Always"`,
				"metadata.managedFields.0.manager": `"kubectl-create"`,
			}),
			{
				name: "an unknown kind", method: http.MethodGet, path: "/apis/apps/v1/namespaces/{ns}/foos/m",
				code: http.StatusNotFound, reason: "NotFound",
			},
			{
				name: "an unknown group", method: http.MethodGet, path: "/apis/keda.sh/v1alpha1/namespaces/{ns}/scaledobjects",
				code: http.StatusNotFound,
			},
			{
				name: "an unknown subresource", method: http.MethodGet, path: one + "/foo", code: http.StatusNotFound,
				reason: "NotFound",
			},
			{
				name: "another type", method: http.MethodGet, path: one, accept: "text/html", code: http.StatusNotAcceptable,
				reason: "NotAcceptable", apart: []string{"message"},
			}, // the real one has more types
		},
		"list": {
			{
				name: "empty", method: http.MethodGet, path: deployments, code: http.StatusOK,
				want: map[string]string{"items": "[]", "kind": `"DeploymentList"`},
			},
			made(),
			{
				name: "one", method: http.MethodGet, path: deployments, code: http.StatusOK,
				want: map[string]string{"items.0.metadata.name": `"m"`, "items.0.kind": "null"},
			},
			{
				name: "by label", method: http.MethodGet, path: deployments + "?labelSelector=app%3Dm", code: http.StatusOK,
				want: map[string]string{"items.0.metadata.name": `"m"`},
			},
			{
				name: "by another label", method: http.MethodGet, path: deployments + "?labelSelector=app%21%3Dm",
				code: http.StatusOK, want: map[string]string{"items": "[]"},
			},
			{
				name: "by no label selector", method: http.MethodGet, path: deployments + "?labelSelector=a%3D%3D%3Db",
				code: http.StatusBadRequest, reason: "BadRequest",
			},
			{
				name: "by name", method: http.MethodGet, path: deployments + "?fieldSelector=metadata.name%3Dm",
				code: http.StatusOK, want: map[string]string{"items.0.metadata.name": `"m"`},
			},
			{
				name: "by a field that is not served", method: http.MethodGet,
				path: deployments + "?fieldSelector=spec.replicas%3D2", code: http.StatusBadRequest, reason: "BadRequest",
				apart: []string{"message"}, // the real one names the kind of list
			},
		},
		"pages": {
			configMap("a"), configMap("b"), configMap("c"),
			{
				name: "the first", method: http.MethodGet, path: configMaps + "?limit=2&labelSelector=of=case",
				code: http.StatusOK, want: map[string]string{"items.1.metadata.name": `"b"`, "items.2": "null"},
				save: map[string]string{"metadata.continue": "next"},
			},
			{
				name: "the last", method: http.MethodGet, path: configMaps + "?limit=2&labelSelector=of=case&continue={next}",
				code: http.StatusOK, want: map[string]string{
					"items.0.metadata.name": `"c"`, "items.1": "null", "metadata.continue": "null",
				},
			},
			{
				name: "none that was given", method: http.MethodGet, path: configMaps + "?limit=2&continue=x",
				code: http.StatusBadRequest, reason: "BadRequest", apart: []string{"message"},
			},
		},
		"events are found by what they are about": {
			event("e1", "Warning", "m"), event("e2", "Normal", "m"), event("e3", "Warning", "other"),
			{
				name: "the warnings", method: http.MethodGet, path: events + "?fieldSelector=type%3DWarning&limit=500",
				code: http.StatusOK, want: map[string]string{"items.1.metadata.name": `"e3"`, "items.2": "null"},
			},
			{
				name: "of one object", method: http.MethodGet, path: events + "?limit=500&fieldSelector=" +
					"involvedObject.kind%3DDeployment%2CinvolvedObject.name%3Dm%2Creason%3DScalingReplicaSet",
				code: http.StatusOK, want: map[string]string{"items.1.metadata.name": `"e2"`, "items.2": "null"},
			},
			{
				name: "an event elsewhere", method: http.MethodPost, path: events,
				body: `{"metadata":{"name":"e"},"involvedObject":{"kind":"Pod","name":"p","namespace":"default"}}`,
				code: http.StatusUnprocessableEntity, reason: "Invalid",
			},
		},
	}
}

const (
	configMaps = "/api/v1/namespaces/{ns}/configmaps"
	events     = "/api/v1/namespaces/{ns}/events"
)

func configMap(name string) request {
	return request{
		name: "make " + name, method: http.MethodPost, path: configMaps,
		body: `{"metadata":{"name":"` + name + `","labels":{"of":"case"}},"data":{"k":"v"}}`, code: http.StatusCreated,
	}
}

func event(name, kind, of string) request {
	return request{
		name: "make " + name, method: http.MethodPost, path: events, code: http.StatusCreated,
		body: `{"apiVersion":"v1","kind":"Event","metadata":{"name":"` + name + `"},"type":"` + kind + `",
"reason":"ScalingReplicaSet","message":"Scaled up replica set m-1 from 1 to 2","count":1,
"firstTimestamp":"2026-01-02T03:04:05Z","lastTimestamp":"2026-01-02T03:04:05Z",
"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","name":"` + of + `","namespace":"{ns}"}}`,
	}
}

func patchCases() map[string][]request {
	const args = `/spec/template/spec/containers/0/args`
	return map[string][]request{
		"json patch": {
			made(),
			patch("with tests that hold", strict, `[{"op":"test","path":"/metadata/uid","value":"{uid}"},
				{"op":"test","path":"`+args+`","value":["--model=m","--max-num-batched-tokens=8192"]},
				{"op":"replace","path":"`+args+`","value":["--model=m","--max-num-batched-tokens=4096"]},
				{"op":"add","path":"/metadata/annotations/vllm-medic.io~1write","value":"w1"}]`, http.StatusOK, "",
				map[string]string{
					"metadata.generation": "2", "spec.template.spec.containers.0.args.1": `"--max-num-batched-tokens=4096"`,
				}),
			now("it was kept", map[string]string{
				"metadata.generation": "2", "metadata.annotations.vllm-medic~io/write": `"w1"`,
			}),
			patch("of what it is already", strict, `[{"op":"replace","path":"/spec/replicas","value":2}]`, http.StatusOK, "",
				map[string]string{"metadata.generation": "2"}),
			patch("of an annotation alone", strict, `[{"op":"replace","path":"/metadata/annotations/a","value":"c"}]`,
				http.StatusOK, "", map[string]string{"metadata.generation": "3"}),
		},
		"json patch with a test that fails": {
			made(),
			patch("of the value", strict, `[{"op":"test","path":"/spec/replicas","value":3},
				{"op":"replace","path":"/spec/replicas","value":4}]`, http.StatusUnprocessableEntity, "Invalid", nil),
			patch("of another object", strict, `[{"op":"test","path":"/metadata/uid","value":"u"}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			patch("of a stale version", strict, `[{"op":"test","path":"/metadata/resourceVersion","value":"1"},
				{"op":"replace","path":"/spec/replicas","value":4}]`, http.StatusUnprocessableEntity, "Invalid", nil),
			patch("of a path that is not there", strict, `[{"op":"test","path":"/spec/foo/bar","value":1}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			patch("the removal of what is not there", strict, `[{"op":"remove","path":"/spec/foo"}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			now("nothing was kept", map[string]string{"spec.replicas": "2", "metadata.generation": "1"}),
		},
		"json patch that cannot be": {
			{
				name: "of nothing", method: http.MethodPatch, path: one + strict, contentType: jsonPatch,
				body: `[{"op":"replace","path":"/spec/replicas","value":4}]`, code: http.StatusNotFound, reason: "NotFound",
			},
			made(),
			differently(patch("no list", strict, `{"op":"test"}`, http.StatusBadRequest, "BadRequest", nil), "message"),
			differently(patch("no JSON", strict, `[{"op"`, http.StatusBadRequest, "BadRequest", nil), "message"),
			patch("an unknown operation", strict, `[{"op":"change","path":"/spec/replicas","value":1}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			patch("an unknown field", strict, `[{"op":"add","path":"/spec/foo","value":1}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			patch("an unknown field that nobody asked about", "?fieldManager=x&fieldValidation=Ignore",
				`[{"op":"add","path":"/spec/foo","value":1}]`, http.StatusOK, "", map[string]string{"spec.foo": "null"}),
			patch("text for a number", strict, `[{"op":"replace","path":"/spec/replicas","value":"x"}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			patch("a negative number", strict, `[{"op":"replace","path":"/spec/replicas","value":-1}]`,
				http.StatusUnprocessableEntity, "Invalid",
				map[string]string{"details.causes.0.field": `"spec.replicas"`, "details.kind": `"Deployment"`}),
			patch("what never changes", strict,
				`[{"op":"replace","path":"/spec/selector/matchLabels","value":{"app":"x"}},
				{"op":"replace","path":"/spec/template/metadata/labels","value":{"app":"x"}}]`,
				http.StatusUnprocessableEntity, "Invalid", map[string]string{"details.causes.0.field": `"spec.selector"`}),
			patch("a container without an image", strict,
				`[{"op":"remove","path":"/spec/template/spec/containers/0/image"}]`, http.StatusUnprocessableEntity, "Invalid",
				map[string]string{"details.causes.0.field": `"spec.template.spec.containers[0].image"`}),
			patch("another container of the name", strict,
				`[{"op":"add","path":"/spec/template/spec/containers/-","value":{"name":"vllm","image":"i:1"}}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			patch("another UID", strict, `[{"op":"replace","path":"/metadata/uid","value":"u"}]`,
				http.StatusUnprocessableEntity, "Invalid", map[string]string{"details.causes.0.field": `"metadata.uid"`}),
			patch("another name", strict, `[{"op":"replace","path":"/metadata/name","value":"n"}]`, http.StatusBadRequest,
				"BadRequest", nil),
			patch("another namespace", strict, `[{"op":"replace","path":"/metadata/namespace","value":"n"}]`,
				http.StatusBadRequest, "BadRequest", nil),
			patch("a parameter that is none", "?dryRun=Some", `[]`, http.StatusUnprocessableEntity, "Invalid", nil),
			patch("a validation that is none", "?fieldValidation=Some", `[]`, http.StatusUnprocessableEntity, "Invalid", nil),
			{
				name: "a wrong content type", method: http.MethodPatch, path: one, contentType: "application/json", body: `[]`,
				code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType", apart: []string{"message"},
			},
			now("nothing was kept", map[string]string{"spec.replicas": "2", "metadata.generation": "1"}),
		},
		"dry run": {
			made(),
			patch("of a change", dry, `[{"op":"replace","path":"/spec/replicas","value":4}]`, http.StatusOK, "",
				map[string]string{"spec.replicas": "4", "metadata.generation": "2", "metadata.resourceVersion": `"{rv}"`}),
			now("it was not kept", map[string]string{
				"spec.replicas": "2", "metadata.generation": "1", "metadata.resourceVersion": `"{rv}"`,
			}),
			patch("of what is refused", dry, `[{"op":"replace","path":"/spec/replicas","value":-4}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			{
				name: "of a new one", method: http.MethodPost, path: deployments + "?dryRun=All", body: deployment,
				code: http.StatusConflict, reason: "AlreadyExists",
			},
			{name: "of a deletion", method: http.MethodDelete, path: one + "?dryRun=All", code: http.StatusOK},
			now("it is still there", nil),
		},
		"merge patch": {
			made(),
			{
				name: "of replicas", method: http.MethodPatch, path: one, contentType: mergePatch,
				body: `{"spec":{"replicas":3}}`, code: http.StatusOK,
				want: map[string]string{"spec.replicas": "3"},
			},
			{
				name: "of a stale version", method: http.MethodPatch, path: one, contentType: mergePatch,
				body: `{"metadata":{"resourceVersion":"1"},"spec":{"replicas":5}}`, code: http.StatusConflict,
				reason: "Conflict",
			},
			{
				name: "that removes", method: http.MethodPatch, path: one, contentType: mergePatch,
				body: `{"metadata":{"annotations":null}}`, code: http.StatusOK,
				want: map[string]string{"metadata.annotations": "null"},
			},
			{
				name: "no object", method: http.MethodPatch, path: one, contentType: mergePatch, body: `[]`,
				code: http.StatusBadRequest, reason: "BadRequest", apart: []string{"message"},
			},
		},
		"strategic patch": {
			made(),
			{
				name: "of one container", method: http.MethodPatch, path: one, contentType: strategic,
				body: `{"spec":{"template":{"spec":{"containers":[{"name":"vllm","image":"vllm/vllm-openai:v0.30.0"}]}}}}`,
				code: http.StatusOK, want: map[string]string{
					"spec.template.spec.containers.0.args.0": `"--model=m"`, "spec.template.spec.containers.1": "null",
				},
			},
		},
		"apply": {
			{
				name: "of a new one", method: http.MethodPatch, path: one + "?fieldManager=argocd-controller",
				contentType: applyPatch, body: deployment, code: http.StatusCreated,
				want: map[string]string{"metadata.managedFields.0.operation": `"Apply"`},
			},
			patch("another hand takes a field", strict, `[{"op":"replace","path":"/spec/replicas","value":4}]`,
				http.StatusOK, "", nil),
			{
				name: "against the other hand", method: http.MethodPatch, path: one + "?fieldManager=argocd-controller",
				contentType: applyPatch, body: deployment, code: http.StatusConflict, reason: "Conflict",
			},
			{
				name: "by force", method: http.MethodPatch, path: one + "?fieldManager=argocd-controller&force=true",
				contentType: applyPatch, body: deployment, code: http.StatusOK, want: map[string]string{"spec.replicas": "2"},
			},
		},
		"status": {
			made(),
			{
				name: "is not changed with the rest", method: http.MethodPatch, path: one, contentType: mergePatch,
				body: `{"status":{"replicas":7}}`, code: http.StatusOK, want: map[string]string{"status.replicas": "null"},
			},
			{
				name: "is changed alone", method: http.MethodPatch, path: one + "/status", contentType: mergePatch,
				body: `{"spec":{"replicas":9},"status":{"replicas":2,"observedGeneration":1}}`, code: http.StatusOK,
				want: map[string]string{
					"status.replicas": "2", "spec.replicas": "2", "metadata.generation": "1",
				},
			},
		},
	}
}
