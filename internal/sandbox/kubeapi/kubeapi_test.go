package kubeapi_test

import (
	"errors"
	"fmt"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/vllm-medic/vllm-medic/internal/sandbox/kubeapi"
)

const admin = "admin"

var deployments = appsv1.SchemeGroupVersion.WithResource("deployments")

// serve runs a server, and returns a client of its administrator.
func serve(t *testing.T, o kubeapi.Options) (*kubeapi.Server, *kubernetes.Clientset, *rest.Config) {
	t.Helper()
	o.Users = append(o.Users, kubeapi.User{Name: admin, Token: "t", Groups: []string{kubeapi.Administrators}})
	s, err := kubeapi.New(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(s)
	t.Cleanup(web.Close)
	cfg := s.Config(web.URL, admin)
	k, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s, k, cfg
}

func deployment() *appsv1.Deployment {
	labels := map[string]string{"app": "m"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "default"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "i:1"}}},
			},
		},
	}
}

// Of writers that start from the same version one wins, whoever that is, and nothing is lost.
func TestOfManyWritersOneWins(t *testing.T) {
	t.Parallel()
	_, k, _ := serve(t, kubeapi.Options{})
	d, err := k.AppsV1().Deployments("default").Create(t.Context(), deployment(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const writers = 8
	results := make([]error, writers)
	var wg sync.WaitGroup
	for i := range writers {
		wg.Go(func() {
			mine := d.DeepCopy()
			mine.Spec.Replicas = new(int32(10 + i))
			_, results[i] = k.AppsV1().Deployments("default").Update(t.Context(), mine, metav1.UpdateOptions{})
		})
	}
	wg.Wait()
	won := -1
	for i, err := range results {
		switch {
		case err == nil && won >= 0:
			t.Errorf("writers %d and %d both won", won, i)
		case err == nil:
			won = i
		case !apierrors.IsConflict(err):
			t.Errorf("writer %d: %v", i, err)
		}
	}
	now, err := k.AppsV1().Deployments("default").Get(t.Context(), "m", metav1.GetOptions{})
	if err != nil || won < 0 || *now.Spec.Replicas != int32(10+won) || now.Generation != 2 {
		t.Errorf("writer %d won: %d replicas in generation %d, %v", won, *now.Spec.Replicas, now.Generation, err)
	}
}

// An earlier version can be listed as it was, until it is too far back.
func TestEarlierVersionsCanBeListed(t *testing.T) {
	t.Parallel()
	_, k, _ := serve(t, kubeapi.Options{})
	maps := k.CoreV1().ConfigMaps("default")
	var versions []string
	for _, name := range []string{"a", "b"} {
		cm, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, cm.ResourceVersion)
	}
	if err := maps.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	at := func(version string) ([]string, error) {
		l, err := maps.List(t.Context(), metav1.ListOptions{
			ResourceVersion: version, ResourceVersionMatch: metav1.ResourceVersionMatchExact,
		})
		var names []string
		for _, cm := range l.Items {
			names = append(names, cm.Name)
		}
		return names, err
	}
	for i, want := range []string{"[a]", "[a b]"} {
		if names, err := at(versions[i]); err != nil || fmt.Sprint(names) != want {
			t.Errorf("version %s: %v, %v; want %s", versions[i], names, err, want)
		}
	}
	if _, err := at("100000"); !apierrors.IsTimeout(err) {
		t.Errorf("a version to come: %v", err)
	}
	for i := range 2500 {
		patch := fmt.Appendf(nil, `{"data":{"i":"%d"}}`, i)
		if _, err := maps.Patch(t.Context(), "b", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := at(versions[0]); !apierrors.IsResourceExpired(err) {
		t.Errorf("a version that is too far back: %v", err)
	}
}

// A token is somebody's or it is refused; without one nobody asks, who may ask for nothing.
func TestTokensAreAskedFor(t *testing.T) {
	t.Parallel()
	_, _, cfg := serve(t, kubeapi.Options{})
	for token, want := range map[string]func(error) bool{
		"t": func(err error) bool { return err == nil }, "x": apierrors.IsUnauthorized, "": apierrors.IsForbidden,
	} {
		cfg := rest.CopyConfig(cfg)
		cfg.BearerToken = token
		k, err := kubernetes.NewForConfig(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); !want(err) {
			t.Errorf("token %q: %v", token, err)
		}
	}
}

// The times of objects, and of what was managed when, are the cluster's.
func TestTimesAreTheClusters(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s, k, _ := serve(t, kubeapi.Options{Now: func() time.Time { return at }})
	d := deployment()
	if err := kubeapi.Create(s.As("a"), deployments, d); err != nil {
		t.Fatal(err)
	}
	at = at.Add(time.Hour)
	err := kubeapi.Change(s.As("b"), deployments, "", d, func(d *appsv1.Deployment) error {
		d.Spec.Replicas = new(int32(3))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	now, err := k.AppsV1().Deployments("default").Get(t.Context(), "m", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !now.CreationTimestamp.Time.Equal(at.Add(-time.Hour)) || len(now.ManagedFields) != 2 {
		t.Fatalf("made at %v, managed %+v", now.CreationTimestamp, now.ManagedFields)
	}
	for i, want := range []time.Time{at.Add(-time.Hour), at} {
		if m := now.ManagedFields[i]; !m.Time.Time.Equal(want) {
			t.Errorf("%s at %v, want %v", m.Manager, m.Time, want)
		}
	}
}

// What a hand writes is held against the same rules, and what changes nothing is no change.
func TestHandsAreHeldToTheRules(t *testing.T) {
	t.Parallel()
	s, _, _ := serve(t, kubeapi.Options{})
	changed := s.Changed()
	d := deployment()
	if err := kubeapi.Create(s.As("a"), deployments, d); err != nil {
		t.Fatal(err)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told of a new object")
	}
	err := kubeapi.Change(s.As("a"), deployments, "", d, func(d *appsv1.Deployment) error {
		d.Spec.Replicas = new(int32(-1))
		return nil
	})
	if !apierrors.IsInvalid(err) {
		t.Errorf("a negative number: %v", err)
	}
	mine := errors.New("mine")
	if err := kubeapi.Change(s.As("a"), deployments, "", d, func(*appsv1.Deployment) error { return mine }); !errors.Is(
		err, mine) {
		t.Errorf("an error of the caller's own: %v", err)
	}
	if err := kubeapi.Change(s.As("a"), deployments, "", d, func(*appsv1.Deployment) error { return nil }); err != nil {
		t.Error(err)
	}
	select {
	case <-changed:
		t.Error("somebody was told of no change")
	default:
	}
}

// The log is the last lines of the container that is asked for, and no log is no empty one.
func TestLogs(t *testing.T) {
	t.Parallel()
	_, k, _ := serve(t, kubeapi.Options{Logs: func(r kubeapi.LogRequest) (string, error) {
		if r.Previous {
			return "", errors.New("previous terminated container \"vllm\" in pod \"p\" not found")
		}
		return "one\ntwo\nthree\n", nil
	}})
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "vllm", Image: "i:1"}}},
	}
	if _, err := k.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	log := func(o corev1.PodLogOptions) (string, error) {
		b, err := k.CoreV1().Pods("default").GetLogs("p", &o).DoRaw(t.Context())
		return string(b), err
	}
	if got, err := log(corev1.PodLogOptions{TailLines: new(int64(2)), LimitBytes: new(int64(6))}); got != "two\nth" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := log(corev1.PodLogOptions{Previous: true}); !apierrors.IsBadRequest(err) {
		t.Errorf("%q, %v", got, err)
	}
}
