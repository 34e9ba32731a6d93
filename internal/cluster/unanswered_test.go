package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/incident"
)

func TestOnlySilenceOfTheAPIServerIsNoAnswer(t *testing.T) {
	t.Parallel()
	pods := corev1.Resource("pods")
	refused := &url.Error{Op: "Get", URL: "https://10.0.0.1/api", Err: syscall.ECONNREFUSED}
	for name, tt := range map[string]struct {
		err    error
		silent bool
	}{
		"forbidden":     {apierrors.NewForbidden(pods, "x", errors.New("no")), false},
		"not found":     {apierrors.NewNotFound(pods, "x"), false},
		"a bad request": {apierrors.NewBadRequest("the name is not valid"), false},
		"gone":          {apierrors.NewResourceExpired("the version is gone"), false},
		"a kind that is not there": {&meta.NoKindMatchError{GroupKind: schema.GroupKind{
			Group: "ray.io",
			Kind:  "RayCluster",
		}}, false},
		"a name that is not asked for":  {errors.New(`invalid resource name "a/b": [may not contain '/']`), false},
		"credentials are not accepted":  {apierrors.NewUnauthorized("who"), true},
		"too many requests":             {apierrors.NewTooManyRequests("later", 1), true},
		"an internal error":             {apierrors.NewInternalError(errors.New("etcd")), true},
		"a service that is unavailable": {apierrors.NewServiceUnavailable("etcd"), true},
		"a timeout of the server":       {apierrors.NewTimeoutError("slow", 1), true},
		"connection refused":            {refused, true},
		"the deadline":                  {fmt.Errorf("get: %w", context.DeadlineExceeded), true},
		"the end of the process":        {context.Canceled, true},
	} {
		for where, err := range map[string]error{
			"read": readError(tt.err, "get", pods, "llm"), "map": mapError(tt.err, "ray.io/v1", "RayCluster"),
		} {
			if errors.Is(err, incident.ErrUnanswered) != tt.silent {
				t.Errorf("%s (%s): nobody answered is %v, want %v: %v", name, where, !tt.silent, tt.silent, err)
			}
		}
	}
}

// The rate limit of our own side is no answer either: client-go says it in words only.
func TestTheWaitForOurOwnRateLimitIsNoAnswer(t *testing.T) {
	t.Parallel()
	k, err := New(&rest.Config{Host: "https://127.0.0.1:1"})
	must(t, err)
	full, ok := k.typed.CoreV1().RESTClient().(*rest.RESTClient)
	if !ok {
		t.Fatal("client-go's client has another type")
	}
	for full.GetRateLimiter().TryAccept() { // it empties the bucket
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := k.Owners(ctx, "llm", "x"); !errors.Is(err, incident.ErrUnanswered) {
		t.Errorf("err = %v", err)
	}
}
