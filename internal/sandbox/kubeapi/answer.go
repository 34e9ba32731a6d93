package kubeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// answer writes what a client gets.
type answer struct{ http.ResponseWriter }

// object answers with an object; a client that has gone needs none, so that errors of the connection are not told.
func (a answer) object(code int, o any) {
	a.body(code, "application/json", o)
}

func (a answer) body(code int, contentType string, o any) {
	b, err := json.Marshal(o)
	if err != nil {
		http.Error(a, err.Error(), http.StatusInternalServerError)
		return
	}
	a.Header().Set("Content-Type", contentType)
	a.WriteHeader(code)
	_, _ = a.Write(append(b, '\n')) // a client that has gone needs no answer
}

// refuse answers with a Status.
func (a answer) refuse(err error) {
	var status apierrors.APIStatus
	if !isStatus(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	out := status.Status()
	out.Kind, out.APIVersion = "Status", "v1"
	if out.Details != nil && out.Details.RetryAfterSeconds > 0 {
		a.Header().Set("Retry-After", fmt.Sprint(out.Details.RetryAfterSeconds))
	}
	a.object(int(out.Code), out)
}

// nothingHere is the answer of an API server for a path of a group that it does not have. It is no Status.
func (a answer) nothingHere() { http.Error(a, "404 page not found", http.StatusNotFound) }

// warn tells a client of what it sent and was not kept.
func (a answer) warn(warnings []error) {
	for _, w := range warnings {
		a.Header().Add("Warning", fmt.Sprintf("299 - %q", w.Error()))
	}
}

func isStatus(err error, status *apierrors.APIStatus) bool { return errors.As(err, status) }

// success is the answer to a deletion after which the object is gone.
func success(k *kind, o *unstructured.Unstructured) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess,
		Details: &metav1.StatusDetails{Name: o.GetName(), Group: k.Group, Kind: k.Resource, UID: o.GetUID()},
	}
}

// noResource is the answer for a version, a kind or a subresource that is not served.
func noResource() error {
	return statusError(http.StatusNotFound, metav1.StatusReasonNotFound,
		"the server could not find the requested resource")
}

func noMethod() error {
	return statusError(http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed,
		"the server does not allow this method on the requested resource")
}

func statusError(code int32, reason metav1.StatusReason, message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: code, Reason: reason, Details: &metav1.StatusDetails{}, Message: message,
	}}
}

// acceptable says whether a client takes JSON.
func acceptable(accept string) error {
	if accept == "" {
		return nil
	}
	for one := range strings.SplitSeq(accept, ",") {
		kind, _, err := mime.ParseMediaType(strings.TrimSpace(one))
		if err == nil && (kind == "application/json" || kind == "application/*" || kind == "*/*" ||
			kind == "text/plain" || kind == "application/yaml") {
			return nil
		}
	}
	return statusError(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
		"only the following media types are accepted: application/json")
}

// unsupported refuses a body of another type.
func unsupported(words string, accepted []string) *apierrors.StatusError {
	return statusError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType,
		fmt.Sprintf(words, strings.Join(accepted, ", ")))
}

// asObject takes what a field manager returns: it is given this type, and gives it back.
func asObject(o runtime.Object, err error) (*unstructured.Unstructured, error) {
	if err != nil {
		return nil, err
	}
	u, ok := o.(*unstructured.Unstructured)
	if !ok {
		return nil, fmt.Errorf("the managed fields of a %T", o)
	}
	return u, nil
}
