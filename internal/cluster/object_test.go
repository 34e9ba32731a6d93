package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAnAbsentNumberIsNotZero(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		field any
		want  *int64
		count int64
	}{
		"absent":    {nil, nil, 0},
		"zero":      {int64(0), new(int64(0)), 0},
		"a number":  {int64(3), new(int64(3)), 3},
		"a text":    {"3", nil, 0},
		"an object": {map[string]any{"all": int64(3)}, nil, 0},
	} {
		status := map[string]any{}
		if tt.field != nil {
			status["replicas"] = tt.field
		}
		o := &unstructured.Unstructured{Object: map[string]any{"status": status}}
		if diff := cmp.Diff(tt.want, Number(o, "status", "replicas")); diff != "" ||
			Count(o, "status", "replicas") != tt.count {
			t.Errorf("%s: count %d\n%s", name, Count(o, "status", "replicas"), diff)
		}
	}
}

func TestReadyReplicasAreSaidOrNot(t *testing.T) {
	t.Parallel()
	type m = map[string]any
	for name, tt := range map[string]struct {
		version, kind string
		spec, status  m
		want          *int64
	}{
		"a Deployment with none": {"apps/v1", "Deployment", m{"replicas": int64(2)}, m{}, new(int64(0))},
		"a Deployment": {
			"apps/v1", "Deployment",
			m{"replicas": int64(2)},
			m{"readyReplicas": int64(1)},
			new(int64(1)),
		},
		"a DaemonSet counts none":        {"apps/v1", "DaemonSet", m{}, m{"numberReady": int64(1)}, nil},
		"another kind says nothing":      {"example.org/v1", "Thing", m{"replicas": int64(2)}, m{}, nil},
		"another kind":                   {"example.org/v1", "Thing", m{}, m{"readyReplicas": int64(1)}, new(int64(1))},
		"only those that are available":  {"example.org/v1", "Thing", m{}, m{"availableReplicas": int64(1)}, new(int64(1))},
		"KubeAI's own place":             {"kubeai.org/v1", "Model", m{}, m{"replicas": m{"ready": int64(1)}}, new(int64(1))},
		"replicas that are only counted": {"example.org/v1", "Thing", m{}, m{"replicas": int64(2)}, nil},
	} {
		o := &unstructured.Unstructured{
			Object: m{"apiVersion": tt.version, "kind": tt.kind, "spec": tt.spec, "status": tt.status},
		}
		if diff := cmp.Diff(tt.want, ReadyReplicas(o)); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestAScaleWithoutANumberIsAtZero(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		spec map[string]any
		want int64
		bad  bool
	}{
		"absent":   {map[string]any{}, 0, false},
		"a number": {map[string]any{"replicas": int64(3)}, 3, false},
		"a text":   {map[string]any{"replicas": "3"}, 0, true},
	} {
		got, err := ScaleReplicas(&unstructured.Unstructured{Object: map[string]any{"spec": tt.spec}})
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %d, %v", name, got, err)
		}
	}
}

func TestOwnerAmong(t *testing.T) {
	t.Parallel()
	ref := func(kind string, controls bool) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: "x", Controller: &controls}
	}
	for name, tt := range map[string]struct {
		refs    []metav1.OwnerReference
		kind    string
		several bool
	}{
		"none":                      {nil, "", false},
		"a controller among others": {[]metav1.OwnerReference{ref("Team", false), ref("Stack", true)}, "Stack", false},
		"the only one":              {[]metav1.OwnerReference{ref("Team", false)}, "Team", false},
		"several":                   {[]metav1.OwnerReference{ref("Team", false), ref("Team", false)}, "", true},
		"a node":                    {[]metav1.OwnerReference{ref("Node", true)}, "", false},
	} {
		got, several := OwnerAmong(tt.refs)
		if several != tt.several || (got == nil) != (tt.kind == "") || got != nil && got.Kind != tt.kind {
			t.Errorf("%s: %v, %v", name, got, several)
		}
	}
}

func TestCountPods(t *testing.T) {
	t.Parallel()
	pod := func(phase corev1.PodPhase, ready corev1.ConditionStatus, going bool) corev1.Pod {
		p := corev1.Pod{
			Status: corev1.PodStatus{Phase: phase, Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
		}
		if going {
			p.DeletionTimestamp = new(metav1.Now())
		}
		return p
	}
	got := CountPods([]corev1.Pod{
		pod(
			corev1.PodRunning,
			corev1.ConditionTrue,
			false,
		), pod(corev1.PodRunning, corev1.ConditionFalse, false), pod(corev1.PodPending, "", false),
		pod(
			corev1.PodRunning,
			corev1.ConditionTrue,
			true,
		), pod(corev1.PodFailed, corev1.ConditionFalse, false), pod(corev1.PodSucceeded, "", false),
	})
	if want := (PodCount{Known: true, Ready: 1, Unready: 2}); got != want {
		t.Errorf("counted %+v; want %+v", got, want)
	}
}
