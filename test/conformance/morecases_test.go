package conformance_test

import "net/http"

func scale(name, query, body string, code int, reason string, want map[string]string) request {
	return request{
		name: name, method: http.MethodPatch, path: one + "/scale" + query, contentType: jsonPatch, body: body, code: code,
		reason: reason, want: want,
	}
}

func scaleCases() map[string][]request {
	return map[string][]request{
		"scale": {
			{name: "of nothing", method: http.MethodGet, path: one + "/scale", code: http.StatusNotFound, reason: "NotFound"},
			made(),
			{
				name: "is read", method: http.MethodGet, path: one + "/scale", code: http.StatusOK,
				want: map[string]string{
					"kind": `"Scale"`, "spec.replicas": "2", "status.selector": `"app=m"`, "metadata.uid": `"{uid}"`,
				},
			},
			scale("in a dry run", dry, `[{"op":"test","path":"/spec/replicas","value":2},
				{"op":"replace","path":"/spec/replicas","value":3}]`, http.StatusOK, "", map[string]string{"spec.replicas": "3"}),
			now("nothing was kept", map[string]string{"spec.replicas": "2", "metadata.resourceVersion": `"{rv}"`}),
			scale("is set", strict, `[{"op":"test","path":"/metadata/uid","value":"{uid}"},
				{"op":"test","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":3}]`,
				http.StatusOK, "", map[string]string{"spec.replicas": "3"}),
			now("it was kept, and by whom", map[string]string{
				"spec.replicas": "3", "metadata.generation": "2",
			}),
			scale("a test that fails", strict, `[{"op":"test","path":"/spec/replicas","value":2},
				{"op":"replace","path":"/spec/replicas","value":4}]`, http.StatusUnprocessableEntity, "Invalid", nil),
			scale("a negative number", strict, `[{"op":"replace","path":"/spec/replicas","value":-1}]`,
				http.StatusUnprocessableEntity, "Invalid", map[string]string{"details.kind": `"Scale"`}),
			scale("an unknown field", strict, `[{"op":"add","path":"/spec/foo","value":1}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			scale("to zero", strict, `[{"op":"replace","path":"/spec/replicas","value":0}]`, http.StatusOK, "",
				map[string]string{"spec.replicas": "null"}),
			now("zero was kept", map[string]string{"spec.replicas": "0"}),
			{
				name: "is put", method: http.MethodPut, path: one + "/scale", code: http.StatusOK,
				body: `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"m","namespace":"{ns}"},
					"spec":{"replicas":2}}`, want: map[string]string{"spec.replicas": "2"},
			},
			{
				name: "is put with a stale version", method: http.MethodPut, path: one + "/scale", code: http.StatusConflict,
				reason: "Conflict", body: `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"m",
					"namespace":"{ns}","resourceVersion":"1"},"spec":{"replicas":5}}`,
			},
			{
				name: "is not deleted", method: http.MethodDelete, path: one + "/scale", code: http.StatusMethodNotAllowed,
				reason: "MethodNotAllowed",
			},
		},
	}
}

func writeCases() map[string][]request {
	return map[string][]request{
		"create": {
			made(),
			{
				name: "again", method: http.MethodPost, path: deployments, body: deployment, code: http.StatusConflict,
				reason: "AlreadyExists",
			},
			{
				name: "an unknown field", method: http.MethodPost, path: deployments + "?fieldValidation=Strict",
				body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"n"},"spec":{"foo":1}}`,
				code: http.StatusBadRequest, reason: "BadRequest",
			},
			{
				name: "nothing in it", method: http.MethodPost, path: deployments,
				body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"n"}}`,
				code: http.StatusUnprocessableEntity, reason: "Invalid", apart: []string{"message", "details.causes"},
			},
			{
				name: "a selector that misses", method: http.MethodPost, path: deployments,
				body: `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"n"},"spec":{"selector":{"matchLabels":
					{"app":"n"}},"template":{"metadata":{"labels":{"app":"m"}},"spec":{"containers":[{"name":"c","image":"i:1"}]}}}}`,
				code: http.StatusUnprocessableEntity, reason: "Invalid",
			},
			{
				name: "a name that is none", method: http.MethodPost, path: configMaps,
				body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"Not_A_Name"}}`,
				code: http.StatusUnprocessableEntity, reason: "Invalid",
			},
			{
				name: "another kind", method: http.MethodPost, path: deployments,
				body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"}}`, code: http.StatusBadRequest,
				reason: "BadRequest", apart: []string{"message"},
			},
			{
				name: "elsewhere", method: http.MethodPost, path: configMaps,
				body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","namespace":"default"}}`,
				code: http.StatusBadRequest, reason: "BadRequest",
			},
			{
				name: "in no namespace", method: http.MethodPost, path: "/api/v1/namespaces/nowhere-{ns}/configmaps",
				body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"}}`, code: http.StatusNotFound,
				reason: "NotFound",
			},
			{
				name: "with a version", method: http.MethodPost, path: configMaps,
				body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","resourceVersion":"5"}}`,
				code: http.StatusInternalServerError,
			},
			{
				name: "no JSON", method: http.MethodPost, path: configMaps, body: `{"a"`, code: http.StatusBadRequest,
				reason: "BadRequest", apart: []string{"message"},
			},
			{
				name: "a wrong content type", method: http.MethodPost, path: configMaps, body: `x`, contentType: "text/plain",
				code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType", apart: []string{"message"},
			},
			{
				name: "in YAML", method: http.MethodPost, path: configMaps, contentType: "application/yaml",
				body: "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: yaml}\ndata: {a: b}\n", code: http.StatusCreated,
			},
			{
				name: "under a path of an object", method: http.MethodPost, path: one, body: deployment,
				code: http.StatusMethodNotAllowed, reason: "MethodNotAllowed",
			},
		},
		"put": {
			made(),
			{
				name: "a stale version", method: http.MethodPut, path: one, code: http.StatusConflict, reason: "Conflict",
				body: withMeta(`"resourceVersion":"1"`),
			},
			{
				name: "another name", method: http.MethodPut, path: deployments + "/n", code: http.StatusBadRequest,
				reason: "BadRequest", body: deployment,
			},
			{
				name: "the version that is there", method: http.MethodPut, path: one, code: http.StatusOK,
				body: withMeta(`"resourceVersion":"{rv}"`), want: map[string]string{"metadata.labels": "null"},
			},
			{
				name: "no version", method: http.MethodPut, path: one, code: http.StatusOK, body: deployment,
				want: map[string]string{"metadata.labels.app": `"m"`},
			},
			{
				name: "an object that is gone", method: http.MethodPut, path: one, code: http.StatusConflict,
				reason: "Conflict", apart: []string{"message"}, body: withMeta(`"uid":"11111111-2222-3333-4444-555555555555"`),
			},
		},
		"delete": {
			{name: "nothing", method: http.MethodDelete, path: one, code: http.StatusNotFound, reason: "NotFound"},
			made(),
			{
				name: "another one of the name", method: http.MethodDelete, path: one, code: http.StatusConflict,
				reason: "Conflict", body: `{"preconditions":{"uid":"u"}}`,
			},
			{
				name: "it", method: http.MethodDelete, path: one, code: http.StatusOK,
				want: map[string]string{"kind": `"Status"`, "status": `"Success"`, "details.uid": `"{uid}"`},
			},
			{name: "again", method: http.MethodDelete, path: one, code: http.StatusNotFound, reason: "NotFound"},
			{
				name: "make one with a finalizer", method: http.MethodPost, path: configMaps, code: http.StatusCreated,
				body: `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"f","finalizers":["example.com/keep"]}}`,
			},
			{
				name: "one that is held", method: http.MethodDelete, path: configMaps + "/f", code: http.StatusOK,
				want: map[string]string{"kind": `"ConfigMap"`},
			},
			{
				name: "let go", method: http.MethodPatch, path: configMaps + "/f", contentType: mergePatch,
				body: `{"metadata":{"finalizers":null}}`, code: http.StatusOK,
			},
			{name: "it is gone", method: http.MethodGet, path: configMaps + "/f", code: http.StatusNotFound, reason: "NotFound"},
		},
	}
}

// withMeta is the Deployment with something else for its labels and annotations.
func withMeta(more string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"m",` + more + `},"spec":{"replicas":2,
"selector":{"matchLabels":{"app":"m"}},"template":{"metadata":{"labels":{"app":"m"}},"spec":{"containers":[{
"name":"vllm","image":"vllm/vllm-openai:v0.29.0","args":["--model=m"]}]}}}}`
}

const (
	autoscalers = "/apis/autoscaling/v2/namespaces/{ns}/horizontalpodautoscalers"
	pods        = "/api/v1/namespaces/{ns}/pods"
)

func autoscaler(least, most string) string {
	return `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"m"},"spec":{
"minReplicas":` + least + `,"maxReplicas":` + most + `,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment",
"name":"m"},"metrics":[{"type":"Resource","resource":{"name":"cpu","target":{"type":"Utilization",
"averageUtilization":80}}}]}}`
}

func otherKinds() map[string][]request {
	return map[string][]request{
		"autoscalers": {
			{
				name: "make it", method: http.MethodPost, path: autoscalers, body: autoscaler("1", "4"),
				code: http.StatusCreated, want: map[string]string{"spec.minReplicas": "1"},
			},
			{
				name: "raise its minimum", method: http.MethodPatch, path: autoscalers + "/m" + strict, contentType: jsonPatch,
				body: `[{"op":"test","path":"/spec/minReplicas","value":1},{"op":"add","path":"/spec/minReplicas","value":3},
					{"op":"add","path":"/metadata/annotations","value":{"vllm-medic.io/write":"w"}}]`,
				code: http.StatusOK, want: map[string]string{"spec.minReplicas": "3"},
			},
			{
				name: "above its maximum", method: http.MethodPatch, path: autoscalers + "/m" + strict, contentType: jsonPatch,
				body: `[{"op":"add","path":"/spec/minReplicas","value":5}]`, code: http.StatusUnprocessableEntity,
				reason: "Invalid",
			},
			{
				name: "remove its minimum", method: http.MethodPatch, path: autoscalers + "/m" + strict,
				contentType: jsonPatch, body: `[{"op":"remove","path":"/spec/minReplicas"}]`, code: http.StatusOK,
				want: map[string]string{"spec.minReplicas": "1"},
			},
			{
				name: "below zero", method: http.MethodPatch, path: autoscalers + "/m", contentType: mergePatch,
				body: `{"spec":{"minReplicas":-1}}`, code: http.StatusUnprocessableEntity, reason: "Invalid",
				apart: []string{"message", "details.causes.0.message"},
			},
		},
		"pods": {
			{
				name: "make one", method: http.MethodPost, path: pods, code: http.StatusCreated,
				body: `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"app":"m"}},"spec":{
					"automountServiceAccountToken":false,"containers":[{"name":"c","image":"i:1"}]}}`,
				want: map[string]string{"status.phase": `"Pending"`},
				// admission, which the simulated one has none of, and the class of service
				apart: []string{
					"spec.serviceAccount", "spec.serviceAccountName", "spec.tolerations", "spec.priority",
					"spec.preemptionPolicy", "status.qosClass", "spec.automountServiceAccountToken",
				},
			},
			{
				name: "change what it is", method: http.MethodPatch, path: pods + "/p", contentType: mergePatch,
				body: `{"spec":{"hostNetwork":true}}`, code: http.StatusUnprocessableEntity, reason: "Invalid",
				apart: []string{"message", "details.causes"},
			},
			{
				name: "by its address", method: http.MethodGet, path: pods + "?fieldSelector=status.podIP%3D10.0.0.1&limit=250",
				code: http.StatusOK, want: map[string]string{"items": "[]"},
			},
			{
				name: "by labels", method: http.MethodGet, path: pods + "?labelSelector=app%20in%20%28m%2Cn%29&limit=250",
				code: http.StatusOK, want: map[string]string{"items.0.metadata.name": `"p"`},
				apart: []string{
					"items.0.spec.serviceAccount", "items.0.spec.serviceAccountName", "items.0.spec.tolerations",
					"items.0.spec.priority", "items.0.spec.preemptionPolicy", "items.0.status.qosClass",
					"items.0.spec.automountServiceAccountToken",
				},
			},
			{
				name: "the log of no container", method: http.MethodGet, path: pods + "/p/log?container=x",
				code: http.StatusBadRequest, reason: "BadRequest",
			},
			{
				name: "the log of no pod", method: http.MethodGet, path: pods + "/q/log", code: http.StatusNotFound,
				reason: "NotFound",
			},
			{
				name: "one that runs nowhere goes at once", method: http.MethodDelete, path: pods + "/p", code: http.StatusOK,
				apart: []string{
					"spec.serviceAccount", "spec.serviceAccountName", "spec.tolerations", "spec.priority",
					"spec.preemptionPolicy", "status.qosClass", "spec.automountServiceAccountToken",
				},
			},
			{name: "it is gone", method: http.MethodGet, path: pods + "/p", code: http.StatusNotFound, reason: "NotFound"},
		},
	}
}

func serverCases() map[string][]request {
	get := func(name, path string, code int, apart ...string) request {
		return request{name: name, method: http.MethodGet, path: path, code: code, apart: apart}
	}
	return map[string][]request{
		"the server itself": {
			get("health", "/healthz", http.StatusOK), get("readiness", "/readyz", http.StatusOK),
			get("no path", "/foo", http.StatusNotFound),
			get("no group", "/apis/keda.sh/v1alpha1", http.StatusNotFound),
			{
				name: "no version", method: http.MethodGet, path: "/apis/apps/v9", code: http.StatusNotFound, reason: "NotFound",
			},
			get("core", "/api", http.StatusOK, "serverAddressByClientCIDRs"),
			{
				name: "a group", method: http.MethodGet, path: "/apis/apps/v1", code: http.StatusOK,
				want: map[string]string{"kind": `"APIResourceList"`, "groupVersion": `"apps/v1"`},
				// the real one serves more
				apart: []string{"resources"},
			},
		},
	}
}

const (
	ownRights = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
	anyRights = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
	anyTokens = "/apis/authentication.k8s.io/v1/tokenreviews"
)

func ask(name, as, attributes, want string) request {
	return request{
		name: name, as: as, method: http.MethodPost, path: ownRights, code: http.StatusCreated,
		body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectAccessReview","spec":{"resourceAttributes":{` +
			attributes + `}}}`,
		want: map[string]string{"status.allowed": want}, apart: []string{"status.reason", "metadata"},
	}
}

func rightsCases() map[string][]request {
	return map[string][]request{
		"rights": {
			made(),
			{name: "what may be read", as: reader, method: http.MethodGet, path: one, code: http.StatusOK},
			{
				name: "what may not be listed", as: reader, method: http.MethodGet, path: deployments,
				code: http.StatusForbidden, reason: "Forbidden",
			},
			{
				name: "what may not be written", as: reader, method: http.MethodPatch, path: one + "/scale" + strict,
				contentType: jsonPatch, body: `[{"op":"replace","path":"/spec/replicas","value":3}]`,
				code: http.StatusForbidden, reason: "Forbidden",
			},
			{
				name: "what is elsewhere", as: reader, method: http.MethodGet,
				path: "/apis/apps/v1/namespaces/default/deployments/m", code: http.StatusForbidden, reason: "Forbidden",
			},
			{
				name: "what is in no namespace", as: reader, method: http.MethodGet, path: "/api/v1/nodes",
				code: http.StatusForbidden, reason: "Forbidden",
			},
			ask("may get", reader, `"namespace":"{ns}","verb":"get","group":"apps","resource":"deployments"`, "true"),
			ask("may not patch", reader, `"namespace":"{ns}","verb":"patch","group":"apps","resource":"deployments",
				"subresource":"scale"`, "false"),
			ask("may everything", "", `"verb":"*","group":"*","resource":"*"`, "true"),
			{
				name: "somebody else's", method: http.MethodPost, path: anyRights, code: http.StatusCreated,
				body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"viewer",
					"resourceAttributes":{"namespace":"{ns}","verb":"get","group":"apps","resource":"deployments"}}}`,
				want: map[string]string{"status.allowed": "true"}, apart: []string{"status.reason", "metadata"},
			},
			{
				name: "nobody's", method: http.MethodPost, path: anyRights, code: http.StatusUnprocessableEntity,
				reason: "Invalid", apart: []string{"message", "details"},
				body: `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{
					"resourceAttributes":{"verb":"get"}}}`,
			},
			{
				name: "a token of nobody", method: http.MethodPost, path: anyTokens, code: http.StatusCreated,
				body: `{"apiVersion":"authentication.k8s.io/v1","kind":"TokenReview","spec":{"token":"x"}}`,
				want: map[string]string{"status.authenticated": "null"}, apart: []string{"status.error", "metadata"},
			},
		},
	}
}

const definition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{
"name":"things{ns}.example.com"},"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Thing{ns}",
"listKind":"Thing{ns}List","plural":"things{ns}","singular":"thing{ns}"},"versions":[{"name":"v1","served":true,
"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas",
"statusReplicasPath":".status.replicas","labelSelectorPath":".status.selector"}},"schema":{"openAPIV3Schema":{
"type":"object","properties":{"spec":{"type":"object","required":["size"],"properties":{
"replicas":{"type":"integer","format":"int32","minimum":0},"size":{"type":"integer"},
"mode":{"type":"string","enum":["a","b"],"default":"a"},
"most":{"type":"integer","default":1024},"deep":{"type":"object","default":{"n":1,"of":[2]},"properties":{
"n":{"type":"integer"},"of":{"type":"array","items":{"type":"integer"}}}},
"free":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}},
"status":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}}}]}}`

const (
	things = "/apis/example.com/v1/namespaces/{ns}/things{ns}"
	thing  = things + "/m"
)

func customPatch(name, path, body string, code int, reason string, want map[string]string) request {
	return request{
		name: name, method: http.MethodPatch, path: path + strict, contentType: jsonPatch, body: body, code: code,
		reason: reason, want: want,
	}
}

// customCases begin with the kind of the definition being served.
func customCases() map[string][]request {
	makeThing := func(name, query, spec string, code int, reason string, want map[string]string) request {
		return request{
			name: name, method: http.MethodPost, path: things + query, code: code, reason: reason, want: want,
			body: `{"apiVersion":"example.com/v1","kind":"Thing{ns}","metadata":{"name":"m"},"spec":` + spec + `}`,
		}
	}
	get := func(name string, want map[string]string) request {
		return request{name: name, method: http.MethodGet, path: thing, code: http.StatusOK, want: want}
	}
	return map[string][]request{
		custom: {
			{name: "none", method: http.MethodGet, path: thing, code: http.StatusNotFound, reason: "NotFound"},
			makeThing("without what it needs", "", `{"replicas":1}`, http.StatusUnprocessableEntity, "Invalid",
				map[string]string{"details.causes.0.field": `"spec.size"`}),
			makeThing("with what it does not have", "?fieldValidation=Strict", `{"size":1,"foo":{"bar":1}}`,
				http.StatusBadRequest, "BadRequest", nil),
			makeThing("with a value that is none", "", `{"size":1,"mode":"c"}`, http.StatusUnprocessableEntity, "Invalid",
				nil),
			makeThing("with text for a number", "", `{"size":"x"}`, http.StatusUnprocessableEntity, "Invalid", nil),
			makeThing("below its minimum", "", `{"size":1,"replicas":-1}`, http.StatusUnprocessableEntity, "Invalid", nil),
			makeThing("make it", "", `{"size":1,"free":{"a":{"b":1}},"foo":1}`, http.StatusCreated, "", map[string]string{
				"spec.mode": `"a"`, "spec.foo": "null", "spec.free.a.b": "1", "metadata.generation": "1",
			}),
			{
				name: "a label is no change of what it wants", method: http.MethodPatch, path: thing + "?fieldManager=labeler",
				contentType: mergePatch, body: `{"metadata":{"labels":{"team":"llm"}}}`, code: http.StatusOK,
				want: map[string]string{"metadata.generation": "1", "spec.most": "1024", "spec.deep.of.0": "2"},
			},
			{
				name: "null is nothing", method: http.MethodPatch, path: thing, contentType: jsonPatch,
				body: `[{"op":"add","path":"/spec/free","value":null},{"op":"add","path":"/spec/most","value":null}]`,
				code: http.StatusOK, want: map[string]string{"spec.free": "null", "spec.most": "1024"},
			},
			{
				name: "its scale is not set", method: http.MethodGet, path: thing + "/scale",
				code: http.StatusInternalServerError, reason: "InternalError",
			},
			customPatch("set replicas", thing, `[{"op":"add","path":"/spec/replicas","value":2}]`, http.StatusOK, "",
				map[string]string{"spec.replicas": "2", "metadata.generation": "3"}),
			{
				name: "its scale", method: http.MethodGet, path: thing + "/scale", code: http.StatusOK,
				want: map[string]string{"spec.replicas": "2", "status.selector": "null"},
			},
			customPatch("scale it", thing+"/scale", `[{"op":"test","path":"/spec/replicas","value":2},
				{"op":"replace","path":"/spec/replicas","value":3}]`, http.StatusOK, "",
				map[string]string{"spec.replicas": "3"}),
			get("it was kept, and by whom", map[string]string{
				"spec.replicas": "3", "metadata.generation": "4",
			}),
			customPatch("an unknown field", thing, `[{"op":"add","path":"/spec/foo","value":2}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			customPatch("a negative number", thing, `[{"op":"replace","path":"/spec/replicas","value":-2}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			customPatch("a test that fails", thing, `[{"op":"test","path":"/spec/replicas","value":7}]`,
				http.StatusUnprocessableEntity, "Invalid", nil),
			{
				name: "its status alone", method: http.MethodPatch, path: thing + "/status", contentType: mergePatch,
				body: `{"spec":{"size":9},"status":{"replicas":3,"selector":"a=b"}}`, code: http.StatusOK,
				want: map[string]string{"spec.size": "1", "status.replicas": "3", "metadata.generation": "4"},
			},
			{
				name: "its scale knows", method: http.MethodGet, path: thing + "/scale", code: http.StatusOK,
				want: map[string]string{"status.replicas": "3", "status.selector": `"a=b"`},
			},
			{
				name: "a strategic patch", method: http.MethodPatch, path: thing, contentType: strategic, body: `{}`,
				code: http.StatusUnsupportedMediaType, reason: "UnsupportedMediaType", apart: []string{"message"},
			},
			{
				name: "put without a version", method: http.MethodPut, path: thing, code: http.StatusUnprocessableEntity,
				body:   `{"apiVersion":"example.com/v1","kind":"Thing{ns}","metadata":{"name":"m"},"spec":{"size":1}}`,
				reason: "Invalid",
			},
			{
				name: "a list", method: http.MethodGet, path: things, code: http.StatusOK,
				want: map[string]string{"items.0.kind": `"Thing{ns}"`},
			},
			{name: "delete it", method: http.MethodDelete, path: thing, code: http.StatusOK},
		},
	}
}
