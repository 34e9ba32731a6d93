package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vllm-medic/vllm-medic/internal/incident"
	"github.com/vllm-medic/vllm-medic/test/kubetest"
)

func (c *cluster) owners(t *testing.T, stackedRS *appsv1.ReplicaSet) {
	t.Helper()
	chain, err := c.bot.Owners(t.Context(), "llm", "stacked-abc-1")
	if got := fmt.Sprint(chain); err != nil ||
		got != "[ReplicaSet llm/stacked-abc Deployment llm/stacked VLLMRuntime llm/stack]" {
		t.Errorf("%s, %v", got, err)
	}
	c.pod(t, "llm", "lone", "lone", corev1.PodStatus{})
	node := metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}
	c.pod(
		t,
		"llm",
		"static",
		"static",
		corev1.PodStatus{},
		func() metav1.OwnerReference { yes := true; node.Controller = &yes; return node }(),
	)
	for _, name := range []string{"lone", "static"} {
		if chain, err := c.bot.Owners(t.Context(), "llm", name); err != nil || fmt.Sprint(chain) != "[Pod llm/"+name+"]" {
			t.Errorf("%s: %v, %v", name, chain, err)
		}
	}
	replaced := kubetest.Owner("apps/v1", "ReplicaSet", stackedRS)
	replaced.UID = "another"
	c.pod(t, "llm", "orphan", "orphan", corev1.PodStatus{}, replaced)
	gone := replaced
	gone.Name = "gone"
	c.pod(t, "llm", "leftover", "leftover", corev1.PodStatus{}, gone)
	first, second := replaced, gone
	first.Controller, second.Controller = nil, nil
	c.pod(t, "llm", "shared", "shared", corev1.PodStatus{}, first, second)
	// Another test installs kinds of operators beside this one: nobody has this kind.
	unknown := metav1.OwnerReference{
		APIVersion: "absent.example.com/v1",
		Kind:       "Absent",
		Name:       "r",
		UID:        "u",
		Controller: replaced.Controller,
	}
	c.pod(t, "llm", "ray", "ray", corev1.PodStatus{}, unknown)
	narrowRS := c.replicaSet(t, "narrow", "rs")
	c.pod(t, "narrow", "hidden", "hidden", corev1.PodStatus{}, kubetest.Owner("apps/v1", "ReplicaSet", narrowRS))
	twoAbove := c.deployment(t, "llm", "contested", 1, settled(1, 1), looseOwner(first), looseOwner(second))
	contested := c.replicaSet(t, "llm", "contested-abc", kubetest.Owner("apps/v1", "Deployment", twoAbove))
	c.pod(t, "llm", "contested-abc-1", "contested", corev1.PodStatus{}, kubetest.Owner("apps/v1", "ReplicaSet", contested))
	managed := c.deployment(t, "llm", "managed", 1, settled(1, 1), unknown)
	managedRS := c.replicaSet(t, "llm", "managed-abc", kubetest.Owner("apps/v1", "Deployment", managed))
	c.pod(t, "llm", "managed-abc-1", "managed", corev1.PodStatus{}, kubetest.Owner("apps/v1", "ReplicaSet", managedRS))
	slashed := unknown
	slashed.APIVersion, slashed.Kind, slashed.Name = "apps/v1", "ReplicaSet", "a/b"
	c.pod(t, "llm", "slashed", "slashed", corev1.PodStatus{}, slashed)
	broken := kubetest.Owner(
		"broken.example.com/v2",
		"Broken",
		c.custom(t, "broken.example.com/v1", "Broken", "brokens", "b", map[string]any{}, nil),
	)
	webhook := c.deployment(t, "llm", "webhook", 1, settled(1, 1), broken)
	webhookRS := c.replicaSet(t, "llm", "webhook-abc", kubetest.Owner("apps/v1", "Deployment", webhook))
	c.pod(t, "llm", "webhook-abc-1", "webhook", corev1.PodStatus{}, kubetest.Owner("apps/v1", "ReplicaSet", webhookRS))
	for _, tt := range []struct {
		namespace, pod string
		none, several  bool
		chain, want    string
	}{
		{"llm", "nobody", true, false, "[]", "Pod llm/nobody does not exist"},
		{"llm", "orphan", true, false, "[]", "was replaced by another object of that name"},
		{"llm", "leftover", true, false, "[]", "ReplicaSet llm/gone does not exist"},
		{"llm", "shared", true, true, "[]", "2 owners and none of them is its controller"},
		{"llm", "ray", false, false, "[]", "this cluster has no kind Absent in absent.example.com/v1"},
		{"llm", "slashed", false, false, "[]", "a/b"},
		{
			"narrow", "hidden", false, false, "[]",
			"ReplicaSet narrow/rs, which owns Pod narrow/hidden, can't be read: the right to get replicasets.apps in " +
				"namespace narrow is missing: grant it to the bot",
		},
		{"closed", "x", false, false, "[]", "the right to get pods in namespace closed is missing"},
		{
			"llm", "managed-abc-1", false, false, "[ReplicaSet llm/managed-abc Deployment llm/managed]",
			"Absent llm/r, which owns Deployment llm/managed, can't be read: this cluster has no kind Absent in " +
				"absent.example.com/v1",
		},
		{
			"llm", "webhook-abc-1", false, false, "[ReplicaSet llm/webhook-abc Deployment llm/webhook]",
			"conversion webhook for broken.example.com/v1, Kind=Broken failed",
		},
		{
			"llm", "contested-abc-1", true, true, "[ReplicaSet llm/contested-abc Deployment llm/contested]",
			"the owners above Deployment llm/contested are not known",
		},
	} {
		chain, err := c.bot.Owners(t.Context(), tt.namespace, tt.pod)
		if err == nil || fmt.Sprint(chain) != tt.chain || !strings.Contains(err.Error(), tt.want) ||
			errors.Is(err, incident.ErrNoWorkload) != tt.none ||
			errors.Is(err, ErrAmbiguous) != tt.several {
			t.Errorf("%s/%s: %v, %v", tt.namespace, tt.pod, chain, err)
		}
		if errors.Is(err, incident.ErrUnanswered) {
			t.Errorf("%s/%s: an answer about one object is taken for silence: %v", tt.namespace, tt.pod, err)
		}
	}
}

// brokenCRD is of an operator whose conversion webhook is away: every read in the other version is an internal error.
const brokenCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: brokens.broken.example.com}
spec:
  group: broken.example.com
  scope: Namespaced
  names: {kind: Broken, plural: brokens, listKind: BrokenList}
  conversion:
    strategy: Webhook
    webhook: {conversionReviewVersions: [v1], clientConfig: {url: "https://127.0.0.1:1/convert"}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
  - name: v2
    served: true
    storage: false
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// looseOwner is an owner that is not the controller.
func looseOwner(r metav1.OwnerReference) metav1.OwnerReference {
	r.Controller = nil
	return r
}
